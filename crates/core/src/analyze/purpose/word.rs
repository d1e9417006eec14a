//! One word of a name: the verb in it, in any form.
//!
//! Authors write words together (`userdel`, `vgremove`, `dropdatabase`) and make nouns of verbs
//! (`account_deletion`). Only destructive verbs are searched for like that: missing another verb
//! only leaves a name unknown, which needs a confirmation.

use super::verb::{Effect, Strength, verb};

/// Destructive verbs that are never nouns, long enough to be recognised in any compound.
const LONG: [&str; 13] = [
    "deallocate",
    "decommission",
    "delete",
    "deprovision",
    "deregister",
    "destroy",
    "erase",
    "purge",
    "remove",
    "revoke",
    "terminate",
    "truncate",
    "uninstall",
];

/// Short destructive verbs, which count in a compound only beside one of the objects.
const SHORT: [&str; 8] = ["del", "drop", "kill", "nuke", "rm", "trash", "unlink", "wipe"];

/// Objects that a short verb is written together with, sorted.
const OBJECTS: [&str; 62] = [
    "account",
    "acct",
    "acl",
    "alias",
    "all",
    "app",
    "backup",
    "branch",
    "bucket",
    "cert",
    "cluster",
    "collection",
    "column",
    "config",
    "container",
    "data",
    "database",
    "db",
    "dir",
    "disk",
    "entry",
    "event",
    "file",
    "files",
    "folder",
    "group",
    "host",
    "image",
    "index",
    "instance",
    "item",
    "job",
    "key",
    "lv",
    "member",
    "msg",
    "namespace",
    "network",
    "node",
    "object",
    "org",
    "page",
    "part",
    "pod",
    "policy",
    "process",
    "project",
    "pv",
    "record",
    "repo",
    "role",
    "row",
    "schema",
    "service",
    "snapshot",
    "table",
    "tree",
    "user",
    "vg",
    "vm",
    "vol",
    "volume",
];

/// Endings of nouns made from destructive verbs, with the ending of the verb.
const ENDINGS: [(&str, &str); 9] = [
    ("letion", "lete"),
    ("moval", "move"),
    ("ination", "inate"),
    ("ocation", "oke"),
    ("ruction", "roy"),
    ("asure", "ase"),
    ("cellation", "cel"),
    ("tivation", "tivate"),
    ("ncation", "ncate"),
];

/// Parts of a picture or a text that are restored with one key, so that removing them is an
/// ordinary change.
const ADORNMENT: [&str; 22] = [
    "animation",
    "background",
    "border",
    "borders",
    "color",
    "colour",
    "effect",
    "emphasis",
    "filter",
    "filters",
    "formatting",
    "gap",
    "highlight",
    "hyperlink",
    "margin",
    "noise",
    "outline",
    "padding",
    "shadow",
    "spaces",
    "watermark",
    "whitespace",
];

/// Returns the effect of a word, in any form.
pub(super) fn meaning(word: &str) -> Option<(Effect, Strength)> {
    verb(word)
        .or_else(|| glued(word).then_some((Effect::Destroy, Strength::Strong)))
        .or_else(|| noun(word).map(|effect| (effect, Strength::Weak)))
}

/// Reports whether the word destroys and is never a noun.
pub(super) fn only_destroys(word: &str) -> bool {
    LONG.contains(&word) || matches!(word, "drop" | "wipe" | "shred" | "del" | "rm") || glued(word)
}

/// Reports whether only the appearance of something is removed.
pub(super) fn is_adornment(word: &str) -> bool {
    ADORNMENT.contains(&word)
}

/// Reports whether a destructive verb is written together with its object, before or after it.
fn glued(word: &str) -> bool {
    let long = LONG.iter().any(|verb| {
        let before = word.strip_suffix(verb).filter(|rest| !matches!(*rest, "un" | "re" | "is"));
        let after = word.strip_prefix(verb).filter(|rest| !is_ending(rest));
        [before, after].into_iter().flatten().any(|rest| rest.len() >= 2)
    });
    let object = |rest: &str| {
        OBJECTS.binary_search(&rest).is_ok()
            || rest.strip_suffix('s').is_some_and(|one| OBJECTS.binary_search(&one).is_ok())
    };
    let short = SHORT.iter().any(|verb| {
        let parts = [word.strip_suffix(verb), word.strip_prefix(verb)];
        parts.into_iter().flatten().any(object)
    });
    long || short
}

/// Reports whether the rest of a word is only an inflection of the verb and not an object:
/// `deletes`, `deleted`, `remover`.
fn is_ending(rest: &str) -> bool {
    matches!(rest, "" | "d" | "r" | "s" | "rs" | "ed" | "er" | "ers" | "able" | "ment")
}

/// Returns the effect of the verb behind a noun: `deletion`, `removal`, `termination`.
fn noun(word: &str) -> Option<Effect> {
    let verb_of = |(noun, ending): &(&str, &str)| {
        let stem = word.strip_suffix('s').unwrap_or(word).strip_suffix(noun)?;
        verb(&format!("{stem}{ending}"))
    };
    let (effect, _) = ENDINGS.iter().find_map(verb_of)?;
    (effect == Effect::Destroy).then_some(effect)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verb_that_destroys_is_found_in_every_form() {
        for word in [
            "userdel",
            "deluser",
            "delnode",
            "vgremove",
            "lvremove",
            "dropdb",
            "dropdatabase",
            "killprocess",
            "rmuser",
            "deleteaccount",
            "accountdelete",
            "wipedisk",
            "deletion",
            "removal",
            "termination",
            "revocation",
            "destruction",
            "erasure",
            "purgequeue",
        ] {
            let effect = meaning(word).map(|(effect, _)| effect);
            assert_eq!(effect, Some(Effect::Destroy), "{word}");
        }
    }

    #[test]
    fn what_only_looks_like_one_is_none() {
        for word in [
            "undelete",
            "deleted",
            "remover",
            "model",
            "delta",
            "delivery",
            "dropdown",
            "dropbox",
            "skill",
            "skills",
            "firm",
            "confirmation",
            "raindrop",
            "backdrop",
            "location",
            "information",
            "selection",
            "destination",
            "nation",
            "form",
            "platform",
        ] {
            let destroys = meaning(word).is_some_and(|(effect, _)| effect == Effect::Destroy);
            assert!(!destroys, "{word}");
        }
    }

    #[test]
    fn the_objects_are_sorted() {
        assert!(OBJECTS.is_sorted_by(|a, b| a < b));
    }
}
