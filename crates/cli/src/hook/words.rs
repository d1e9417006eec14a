//! The messages to agents and their users.

use countersign_core::Judgement;

use crate::approval_client::{JudgedAction, Stranded};
use crate::connection::server_name;
use crate::hook_options::is_url;
use crate::show::one_line;

/// Well below the ten thousand characters at which hosts cut reasons off.
pub(super) const LONGEST_REASON: usize = 2_000;

/// The message to an agent when a person must be asked and none can be.
pub(super) fn nobody(
    judged_action: &JudgedAction<'_>,
    stranded: &Stranded<'_>,
    why: &str,
    also: &str,
) -> String {
    let reason = one_line(&judged_action.judgement.reason);
    let also = if also.is_empty() { String::new() } else { format!("; {also}") };
    let advice = match server_name(stranded.options).filter(|server| is_url(server)) {
        Some(_) => {
            "the Countersign server of their organisation does not answer for them: its \
             operator or `countersign doctor` can say why"
        }
        None => "`countersign serve` in a terminal of their own lets them answer",
    };
    short(&format!(
        "Countersign: a person must say yes to this ({reason}), and none can be asked: {}{also}. \
         Do not look for another way. Tell the user: {advice}; then try again.{}",
        one_line(why),
        instead(&judged_action.judgement)
    ))
}

/// The message while everything is halted.
pub(crate) const HALTED: &str = "Countersign: everything is halted. A person used the kill switch, and \
                      only a person can resume (`countersign halt --resume`).";

/// The message to an agent whose action is blocked.
pub(crate) fn refusal(judgement: &Judgement) -> String {
    let reason = one_line(&judgement.reason);
    short(&format!("Countersign never lets this run: {reason}.{}", instead(judgement)))
}

fn instead(judgement: &Judgement) -> String {
    let found = judgement.findings.iter().find_map(|finding| finding.instead.as_deref());
    found.map(|instead| format!(" Instead: {}", one_line(instead))).unwrap_or_default()
}

/// Cuts a reason to a length that every host shows whole.
pub(super) fn short(reason: &str) -> String {
    if reason.chars().count() <= LONGEST_REASON {
        return reason.to_owned();
    }
    let mut short: String = reason.chars().take(LONGEST_REASON).collect();
    short.push('…');
    short
}
