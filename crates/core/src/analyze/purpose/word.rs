//! One word of a name: the verb in it, in whatever form it is written.
//!
//! Authors glue words together (`userdel`, `vgremove`, `dropdatabase`) and make nouns of verbs
//! (`account_deletion`). Only verbs that destroy are looked for like that: what is overlooked of
//! the others is a name that says nothing, which is asked about.

use super::verb::{Effect, Strength, verb};

/// Verbs that destroy and are never nouns, with enough letters to be known in any compound.
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

/// Short ones, which stand in a compound only beside what they destroy.
const SHORT: [&str; 8] = ["del", "drop", "kill", "nuke", "rm", "trash", "unlink", "wipe"];

/// What a short verb is glued to, sorted.
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

/// Nouns of verbs that destroy: what is left of them without their ending starts the verb.
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

/// What is taken off a picture or a text and put back with one key, so that taking it off is a
/// change like any other.
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

/// What this word does, in any form.
pub(super) fn meaning(word: &str) -> Option<(Effect, Strength)> {
    verb(word)
        .or_else(|| glued(word).then_some((Effect::Destroy, Strength::Strong)))
        .or_else(|| noun(word).map(|effect| (effect, Strength::Weak)))
}

/// Whether the word destroys and is never a noun.
pub(super) fn only_destroys(word: &str) -> bool {
    LONG.contains(&word) || matches!(word, "drop" | "wipe" | "shred" | "del" | "rm") || glued(word)
}

/// Whether what is taken away is only how something looks.
pub(super) fn is_adornment(word: &str) -> bool {
    ADORNMENT.contains(&word)
}

/// Whether a verb that destroys is glued to what it destroys, before or after it.
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

/// Endings that make something else of a verb: `deletes` is one, `deleted` and `remover` are not.
fn is_ending(rest: &str) -> bool {
    matches!(rest, "" | "d" | "r" | "s" | "rs" | "ed" | "er" | "ers" | "able" | "ment")
}

/// What the verb behind a noun does: `deletion`, `removal`, `termination`.
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
