//! The description of an action that a person is shown: one line, and more lines below it.
//! Redacted.

use countersign_core::Action;
use serde_json::Value;

use crate::redacted;

/// The most lines that are shown; one more says how many were left out.
const MOST_LINES: usize = 20;
/// The longest line that is shown; a longer one is cut.
const MOST_CHARACTERS: usize = 500;

/// The kind of an action, or the skill or tool it uses.
pub(crate) fn subject_of(action: &Action) -> String {
    match action {
        Action::Skill { skill, .. } => redacted::text(skill),
        Action::Tool { server, tool, .. } => {
            format!("{}.{}", redacted::text(server), redacted::text(tool))
        }
        Action::Named { name, .. } => redacted::text(name),
        Action::Shell { .. }
        | Action::Code { .. }
        | Action::FileRead { .. }
        | Action::FileWrite { .. }
        | Action::FileDelete { .. }
        | Action::FileList { .. }
        | Action::Navigate { .. }
        | Action::HttpRequest { .. }
        | Action::Ui { .. }
        | Action::Screenshot {}
        | Action::ReadDom {}
        | Action::Download { .. }
        | Action::ExportPdf { .. }
        | Action::Login { .. }
        | Action::Notify { .. }
        | Action::Applescript { .. } => action.kind().to_owned(),
    }
}

/// One line and more lines, both redacted except for addresses.
pub(crate) fn describe(action: &Action) -> (String, Vec<String>) {
    let (line, mut lines) = plain(action);
    let left_out = lines.len().saturating_sub(MOST_LINES);
    lines.truncate(MOST_LINES);
    let mut lines: Vec<_> = lines.iter().map(|line| cut(&redacted::shown(line))).collect();
    if left_out > 0 {
        lines.push(format!("… and {left_out} more"));
    }
    (cut(&redacted::shown(&line)), lines)
}

fn plain(action: &Action) -> (String, Vec<String>) {
    match action {
        Action::Shell { command, cwd } => {
            let mut lines = lines_of(command);
            let first = lines.first().cloned().unwrap_or_default();
            lines.extend(cwd.as_ref().map(|cwd| format!("in {cwd}")));
            (format!("Run: {first}"), lines)
        }
        Action::Code { language, source, .. } => {
            (format!("Run {language:?} code"), lines_of(source))
        }
        Action::FileRead { path } => (format!("Read {path}"), Vec::new()),
        Action::FileWrite { path, content } => {
            (format!("Write {path}"), lines_of(content.as_deref().unwrap_or_default()))
        }
        Action::FileDelete { path } => (format!("Delete {path}"), Vec::new()),
        Action::FileList { path } => (format!("List {path}"), Vec::new()),
        Action::Navigate { url } => (format!("Open {url}"), Vec::new()),
        Action::HttpRequest { method, url, body } => {
            let lines = lines_of(body.as_deref().unwrap_or_default());
            (format!("Send {method} to {url}"), lines)
        }
        Action::Ui { .. }
        | Action::Screenshot {}
        | Action::ReadDom {}
        | Action::Download { .. }
        | Action::ExportPdf { .. }
        | Action::Login { .. }
        | Action::Notify { .. }
        | Action::Skill { .. }
        | Action::Applescript { .. }
        | Action::Tool { .. }
        | Action::Named { .. } => rarer(action),
    }
}

fn rarer(action: &Action) -> (String, Vec<String>) {
    match action {
        Action::Ui { op, label, field, url, .. } => {
            let name = field.as_ref().and_then(|field| field.label.clone().or(field.name.clone()));
            let what = label.clone().or(name).unwrap_or_else(|| "something".to_owned());
            let verb = format!("{op:?}");
            let lines = url.iter().map(|url| format!("on {url}")).collect();
            (format!("{verb} “{what}”"), lines)
        }
        Action::Download { files } => {
            let bytes: u64 =
                files.iter().filter_map(|file| file.bytes).fold(0, u64::saturating_add);
            let size =
                if bytes > 0 { format!(" ({} MB)", bytes / 1_000_000) } else { String::new() };
            let name = |file: &countersign_core::action::DownloadFile| {
                file.name.clone().unwrap_or_else(|| file.url.clone())
            };
            (format!("Download {} files{size}", files.len()), files.iter().map(name).collect())
        }
        Action::ExportPdf { pages } => (format!("Print {pages} pages to PDF"), Vec::new()),
        Action::Login { site } => (format!("Sign in to {site}"), Vec::new()),
        Action::Notify { channel } => (format!("Send a notification by {channel}"), Vec::new()),
        Action::Skill { skill, params } => (format!("Use {skill}"), pairs(params)),
        Action::Applescript { script } => ("Run an AppleScript".to_owned(), lines_of(script)),
        Action::Tool { server, tool, arguments, .. } => {
            (format!("Call {tool} of {server}"), pairs(arguments))
        }
        Action::Named { params, .. } if action.is_question() => question(params),
        Action::Named { name, params } => (format!("Do {name}"), pairs(params)),
        Action::Screenshot {} => ("Take a picture of the screen".to_owned(), Vec::new()),
        Action::ReadDom {}
        | Action::Shell { .. }
        | Action::Code { .. }
        | Action::FileRead { .. }
        | Action::FileWrite { .. }
        | Action::FileDelete { .. }
        | Action::FileList { .. }
        | Action::Navigate { .. }
        | Action::HttpRequest { .. } => ("Read the page".to_owned(), Vec::new()),
    }
}

/// A question in the agent's own words.
fn question(params: &std::collections::BTreeMap<String, Value>) -> (String, Vec<String>) {
    let mut rest = params.clone();
    // Both are shown elsewhere: as the subject, and as the risk.
    rest.retain(|name, _| !matches!(name.as_str(), "action" | "risk_level"));
    let description = match rest.remove("description") {
        Some(Value::String(text)) => text,
        Some(other) => other.to_string(),
        None => "Go on?".to_owned(),
    };
    let details = match rest.remove("details") {
        Some(Value::Array(items)) => items,
        Some(other) => vec![other],
        None => Vec::new(),
    };
    let details = details.into_iter().map(|item| match item {
        Value::String(text) => text,
        other => other.to_string(),
    });
    let mut lines: Vec<_> = details.flat_map(|text| lines_of(&text)).collect();
    lines.extend(pairs(&rest));
    (description, lines)
}

/// The lines of a text. It is redacted as a whole before it is split, because a private key is
/// recognised only by its first and last lines.
fn lines_of(text: &str) -> Vec<String> {
    redacted::shown(text).lines().map(str::to_owned).collect()
}

fn pairs(params: &std::collections::BTreeMap<String, Value>) -> Vec<String> {
    let line = |(name, value): (&String, &Value)| match redacted::shown_value(name, value) {
        Value::String(text) => format!("{name}: {text}"),
        other => format!("{name}: {other}"),
    };
    params.iter().map(line).collect()
}

fn cut(line: &str) -> String {
    if line.chars().count() <= MOST_CHARACTERS {
        return line.to_owned();
    }
    let kept: String = line.chars().take(MOST_CHARACTERS).collect();
    format!("{kept}…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_says_how_much_was_left_out() {
        let files: Vec<_> = (0..47)
            .map(|n| format!("{{\"url\":\"https://a/{n}.pdf\",\"bytes\":5000000}}"))
            .collect();
        let action = format!("{{\"kind\":\"download\",\"files\":[{}]}}", files.join(","));
        let (line, lines) = describe(&serde_json::from_str(&action).unwrap());
        assert_eq!(line, "Download 47 files (235 MB)");
        assert_eq!(lines.len(), 21);
        assert_eq!(lines.last().unwrap(), "… and 27 more");
        let unknown = r#"{"kind":"download","files":[{"url":"https://a/1.pdf"}]}"#;
        let (line, lines) = describe(&serde_json::from_str(unknown).unwrap());
        assert_eq!(
            (line.as_str(), lines),
            ("Download 1 files", vec!["https://a/1.pdf".to_owned()])
        );
    }

    #[test]
    fn an_action_by_name_is_told_by_its_name() {
        let action = r#"{"kind":"named","name":"tidy_up","params":{"description":"only looks"}}"#;
        let (line, lines) = describe(&serde_json::from_str(action).unwrap());
        assert_eq!(
            (line.as_str(), lines),
            ("Do tidy_up", vec!["description: only looks".to_owned()])
        );
    }

    #[test]
    fn a_question_is_told_in_the_agents_words() {
        let action = r#"{"kind":"named","name":"request_confirmation","params":{
            "action":"batch_download","description":"Download 47 files","details":["a.pdf","b.pdf"],"to":"disk"
        }}"#;
        let (line, lines) = describe(&serde_json::from_str(action).unwrap());
        assert_eq!(line, "Download 47 files");
        assert_eq!(lines, ["a.pdf", "b.pdf", "to: disk"]);
    }

    #[test]
    fn what_is_typed_is_not_shown() {
        let action = r#"{"kind":"ui","surface":"browser","op":"type","label":"PIN","text":"8841"}"#;
        let (line, lines) = describe(&serde_json::from_str(action).unwrap());
        assert_eq!((line.as_str(), lines.len()), ("Type “PIN”", 0));
    }
}
