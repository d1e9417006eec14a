//! Effects that are derived from facts.

use crate::analysis::UNKNOWN;
use crate::effect::{Certainty, Effect, EffectKind, direct};
use crate::fact::{Fact, FactKind, Origin, Tag};

/// Facts that name a target; the others say how it happens, which is for the findings.
const TOUCHING: &[(EffectKind, &[FactKind])] = &[
    (
        EffectKind::Delete,
        &[
            FactKind::Delete,
            FactKind::RemoteDelete,
            FactKind::SqlDrop,
            FactKind::SqlTruncate,
            FactKind::SqlEveryRow,
            FactKind::SqlDelete,
            FactKind::UiDestructive,
            FactKind::ScriptBulkDelete,
            FactKind::ScriptBulkDeleteCalendar,
            FactKind::ScriptBulkDeletePeople,
            FactKind::ScriptBulkDeleteData,
            FactKind::ScriptDelete,
            FactKind::ScriptDeleteRecord,
            FactKind::ScriptDeletePart,
            FactKind::ScriptEmptyTrash,
            FactKind::ScriptErase,
        ],
    ),
    (
        EffectKind::Move,
        &[FactKind::Move, FactKind::ScriptBulkMove, FactKind::ScriptMove, FactKind::ScriptRename],
    ),
    (
        EffectKind::Write,
        &[
            FactKind::Write,
            FactKind::Append,
            FactKind::Create,
            FactKind::Chmod,
            FactKind::Chown,
            FactKind::Empty,
            FactKind::Schedule,
            FactKind::Account,
            FactKind::LetsIn,
            FactKind::SqlWrite,
            FactKind::ScriptEject,
            FactKind::ScriptMount,
            FactKind::ScriptBulkDuplicate,
            FactKind::ScriptWrite,
            FactKind::ScriptRecord,
            FactKind::ScriptLoginItem,
            FactKind::ScriptClipboard,
            FactKind::ScriptSetting,
            FactKind::ScriptSecuritySetting,
        ],
    ),
    (
        EffectKind::Send,
        &[
            FactKind::Send,
            FactKind::Serve,
            FactKind::UiFinancial,
            FactKind::UiFinal,
            FactKind::FormSubmit,
            FactKind::ScriptBulkSend,
            FactKind::ScriptSend,
            FactKind::ScriptSendMail,
        ],
    ),
    (EffectKind::Connect, &[FactKind::Fetch, FactKind::ReverseShell, FactKind::ScriptDownload]),
    (
        EffectKind::Execute,
        &[
            FactKind::TempProgram,
            FactKind::HiddenScript,
            FactKind::OpenShell,
            FactKind::ScriptShell,
        ],
    ),
    (
        EffectKind::Signal,
        &[FactKind::Kill, FactKind::ScriptProcess, FactKind::ScriptPower, FactKind::ScriptQuitAll],
    ),
    (
        EffectKind::Read,
        &[
            FactKind::Read,
            FactKind::List,
            FactKind::SecretShow,
            FactKind::Capture,
            FactKind::ScriptKeychain,
            FactKind::ScriptPage,
            FactKind::ScriptRecording,
        ],
    ),
];

/// Facts which imply that there may be more effects.
const OPAQUE: &[(FactKind, &str)] = &[
    (FactKind::RemoteCode, "code from the network"),
    (FactKind::DecodedCode, "code that is decoded"),
    (FactKind::UnknownCode, "code that is not known"),
    (FactKind::UnknownCommand, "a command that is not known"),
    (FactKind::ReverseShell, "commands from another machine"),
    (FactKind::OpenShell, "commands typed into a shell"),
    (FactKind::ForkBomb, "a function that starts itself"),
    (FactKind::Unparsed, "not valid"),
    (FactKind::Bound, "too much to follow"),
    (FactKind::Malformed, "not well-formed"),
    (FactKind::ScriptShellUnknown, "a command that is not known"),
    (FactKind::ScriptLoad, "a script that is loaded"),
];

/// The effects that follow from a fact.
pub(crate) fn effects(fact: &Fact) -> Vec<Effect> {
    let Some((kind, _)) = TOUCHING.iter().find(|(_, kinds)| kinds.contains(&fact.kind)) else {
        return Vec::new();
    };
    let origin = fact.origin.as_deref();
    let is_address = fact.subject.contains("://");
    let target = match kind {
        EffectKind::Connect if is_address => direct::host(address(&fact.subject)),
        EffectKind::Delete | EffectKind::Move | EffectKind::Write | EffectKind::Read
            if is_path(fact.kind) =>
        {
            from_folder(origin, &fact.subject)
        }
        _ => fact.subject.clone(),
    };
    let is_open = fact.tags.has(Tag::Many) || is_pattern(&target);
    let is_certain = !is_open && !origin.is_some_and(|origin| origin.is_conditional);
    let certainty = if is_certain { Certainty::Certain } else { Certainty::Possible };
    vec![Effect::new(*kind, target, certainty)]
}

/// The reason that a fact implies more effects.
pub(crate) fn opaque(fact: &Fact) -> Option<String> {
    let (_, why) = OPAQUE.iter().find(|(kind, _)| *kind == fact.kind)?;
    Some(if fact.subject.is_empty() {
        (*why).to_owned()
    } else {
        format!("{why}: {}", fact.subject)
    })
}

/// Reports whether the fact is about a file.
fn is_path(kind: FactKind) -> bool {
    matches!(
        kind,
        FactKind::Delete
            | FactKind::Move
            | FactKind::Write
            | FactKind::Append
            | FactKind::Create
            | FactKind::Chmod
            | FactKind::Chown
            | FactKind::Empty
            | FactKind::Read
            | FactKind::List
    )
}

/// The first address of a text.
fn address(text: &str) -> &str {
    text.split_whitespace().find(|word| word.contains("://")).unwrap_or(text)
}

/// Reports whether a target is a pattern for several things.
pub(crate) fn is_pattern(target: &str) -> bool {
    target.contains(['*', '?', '…', UNKNOWN])
}

/// Resolves a path against the folder of its origin.
pub(crate) fn from_folder(origin: Option<&Origin>, path: &str) -> String {
    let is_whole = path.is_empty() || path.starts_with(['/', '~', UNKNOWN, '…']) || path == "-";
    let folder = origin.and_then(|origin| origin.folder.as_deref());
    match folder {
        Some(folder) if !is_whole => {
            let path = path.trim_start_matches("./");
            format!("{}/{path}", folder.trim_end_matches('/'))
        }
        _ => path.to_owned(),
    }
}
