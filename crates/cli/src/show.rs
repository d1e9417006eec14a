//! Judgements as text for people.
//!
//! An action's text comes from an agent, so none of it reaches a terminal unescaped: control
//! characters could move the cursor over our words, and bidirectional ones reorder them.

use std::borrow::Cow;
use std::env;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};

pub(crate) use countersign_core::visible::{one_line, visible};
use countersign_core::{Finding, Judgement, RiskLevel, Verdict};

/// The use of colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paint {
    /// No escape codes at all.
    Plain,
    /// Escape codes for a terminal.
    Colour,
}

impl Paint {
    /// Colour only on a terminal that supports it, and only if the user did not set `NO_COLOR`.
    pub(crate) fn on(stream: &impl IsTerminal) -> Self {
        let unwanted = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || env::var_os("TERM").is_none_or(|term| term == "dumb");
        if unwanted || !stream.is_terminal() { Self::Plain } else { Self::Colour }
    }

    /// The name of the verdict.
    pub(crate) fn verdict(self, verdict: Verdict) -> Cow<'static, str> {
        let code = match verdict {
            Verdict::Allow => "32",
            Verdict::Warn => "33",
            Verdict::Confirm => "1;33",
            Verdict::Block => "1;31",
        };
        match self {
            Self::Plain => verdict.as_str().into(),
            Self::Colour => format!("\x1b[{code}m{}\x1b[0m", verdict.as_str()).into(),
        }
    }

    /// The risk in words.
    pub(crate) fn risk(self, risk: RiskLevel) -> String {
        let code = match risk {
            RiskLevel::None | RiskLevel::Low => "32",
            RiskLevel::Medium => "33",
            RiskLevel::High => "1;33",
            RiskLevel::Critical => "1;31",
        };
        match self {
            Self::Plain => format!("{} risk", risk.as_str()),
            Self::Colour => format!("\x1b[{code}m{} risk\x1b[0m", risk.as_str()),
        }
    }

    /// Formats a heading.
    pub(crate) fn bold(self, text: &str) -> Cow<'_, str> {
        match self {
            Self::Plain => text.into(),
            Self::Colour => format!("\x1b[1m{text}\x1b[0m").into(),
        }
    }
}

/// The most findings that are shown; further ones are only counted.
pub(crate) const MOST_FINDINGS: usize = 12;

/// Writes a judgement: the verdict and its reason, each finding, and what to do instead.
pub(crate) fn judgement(
    out: &mut impl Write,
    judgement: &Judgement,
    paint: Paint,
) -> io::Result<()> {
    writeln!(out, "{}: {}", paint.verdict(judgement.verdict), one_line(&judgement.reason))?;
    for finding in judgement.findings.iter().take(MOST_FINDINGS) {
        writeln!(out, "  {}", summary(finding, &judgement.reason))?;
    }
    if let Some(more @ 1..) = judgement.findings.len().checked_sub(MOST_FINDINGS) {
        writeln!(out, "  …and {more} more; --json has them all")?;
    }
    for instead in instead(&judgement.findings) {
        writeln!(out, "  instead: {}", one_line(instead))?;
    }
    Ok(())
}

/// The suggestions of all findings, each once.
pub(crate) fn instead(findings: &[Finding]) -> Vec<&str> {
    let mut seen: Vec<&str> = Vec::new();
    for instead in findings.iter().filter_map(|finding| finding.instead.as_deref()) {
        if !seen.contains(&instead) {
            seen.push(instead);
        }
    }
    seen
}

fn summary(finding: &Finding, told: &str) -> String {
    let mut line = format!(
        "{} ({} risk, {})",
        one_line(&finding.rule),
        finding.risk.as_str(),
        finding.verdict.as_str()
    );
    // The first finding's reason is usually the judgement's own: once is enough.
    if finding.reason != told {
        let _ = write!(line, ": {}", one_line(&finding.reason));
    }
    line
}

/// Cuts a text off after so many characters.
pub(crate) fn cut(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}…", text.get(..end).unwrap_or_default())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_where_a_character_ends() {
        assert_eq!(cut("日本語", 2), "日本…");
        assert_eq!(cut("日本語", 3), "日本語");
    }

    #[test]
    fn a_reason_cannot_forge_a_second_line() {
        let judgement = Judgement {
            verdict: Verdict::Block,
            risk: countersign_core::Risk::default(),
            findings: Vec::new(),
            reason: "x\nallow: fine".to_owned(),
            digest: String::new(),
            trace: Vec::new(),
        };
        let mut out = Vec::new();
        super::judgement(&mut out, &judgement, Paint::Plain).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "block: x\\nallow: fine\n");
    }
}
