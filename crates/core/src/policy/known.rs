//! The words a configuration may use, and suggestions for misspelt ones.

use crate::policy::profile::Profile;
use crate::policy::rule_target::{LEVELS, RuleTarget, level_named, reach};
use crate::rule;

/// Every kind of action.
pub(crate) const KINDS: &[&str] = &[
    "shell",
    "code",
    "file_read",
    "file_write",
    "file_delete",
    "file_list",
    "navigate",
    "http_request",
    "ui",
    "screenshot",
    "read_dom",
    "download",
    "export_pdf",
    "login",
    "notify",
    "skill",
    "applescript",
    "tool",
    "named",
];

/// Checks that these words name something: a rule, a family, a kind or a level of risk. `own` are
/// the ids of configured rules. Otherwise returns the nearest existing name.
pub(crate) fn check(words: &str, own: &[String]) -> Result<(), Option<String>> {
    if let Some(kind) = words.strip_prefix("kind.") {
        return one_of(kind, KINDS.iter().copied())
            .map_err(|near| near.map(|k| format!("kind.{k}")));
    }
    if let Some(level) = words.strip_prefix("risk.") {
        let names = LEVELS.iter().map(|level| level.as_str());
        return match level_named(level) {
            Some(_) => Ok(()),
            None => Err(nearest(level, names).map(|level| format!("risk.{level}"))),
        };
    }
    let ids = || rule::rules().iter().map(|rule| &*rule.id).chain(own.iter().map(String::as_str));
    if words == "*" || ids().any(|id| reach(words, RuleTarget::Rule(id)).is_some()) {
        return Ok(());
    }
    let families = || ids().filter_map(|id| id.rsplit_once('.').map(|(family, _)| family));
    let family = words.strip_suffix(".*").unwrap_or(words);
    if families().any(|known| known == family) {
        return Err(Some(format!("{family}.*")));
    }
    Err(match words.strip_suffix(".*") {
        Some(family) => nearest(family, families()).map(|family| format!("{family}.*")),
        None => nearest(words, ids()).map(str::to_owned),
    })
}

/// Checks that this is the name of an option of some profile.
pub(crate) fn check_option(name: &str) -> Result<(), Option<String>> {
    let names = Profile::all().iter().flat_map(|profile| profile.options).map(|option| option.name);
    one_of(name, names).map_err(|near| near.map(str::to_owned))
}

/// Checks that this is the name of a profile.
pub(crate) fn check_profile(name: &str) -> Result<(), Option<String>> {
    let names = Profile::all().iter().map(|profile| profile.name);
    one_of(name, names).map_err(|near| near.map(str::to_owned))
}

fn one_of<'a>(
    word: &str,
    mut known: impl Iterator<Item = &'a str> + Clone,
) -> Result<(), Option<&'a str>> {
    if known.clone().any(|name| name == word) {
        return Ok(());
    }
    Err(nearest(word, &mut known))
}

/// The known word that this one was probably meant to be.
#[must_use]
pub fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // Longer than any of our names: not a typing error, and not worth the time.
    if word.len() > 80 {
        return None;
    }
    let most = (word.chars().count() / 3).max(1);
    known
        .map(|name| (distance(word, name), name))
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// The edit distance: letters that differ, are missing, are too many, or are swapped.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    let mut previous = None;
    for (row, left) in a.chars().enumerate() {
        let mut next = vec![row.saturating_add(1)];
        for (column, right) in b.iter().enumerate() {
            let at =
                |cells: &[usize], column: usize| cells.get(column).copied().unwrap_or(usize::MAX);
            let swap = at(&last, column).saturating_add(usize::from(left != *right));
            let drop = at(&last, column.saturating_add(1)).saturating_add(1);
            let add = at(&next, column).saturating_add(1);
            let mut cost = swap.min(drop).min(add);
            let before = column.checked_sub(1).and_then(|column| b.get(column));
            if previous == Some(*right) && before == Some(&left) {
                cost = cost.min(at(&before_last, column.saturating_sub(1)).saturating_add(1));
            }
            next.push(cost);
        }
        previous = Some(left);
        before_last = std::mem::replace(&mut last, next);
    }
    last.last().copied().unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_finger_are_understood() {
        let words = ["enabled", "custom_patterns", "sensitive_paths"];
        let near = |word| nearest(word, words.iter().copied());
        assert_eq!(near("enbaled"), Some("enabled"));
        assert_eq!(near("enable"), Some("enabled"));
        assert_eq!(near("custom_pattern"), Some("custom_patterns"));
        assert_eq!(near("zzz"), None);
        assert_eq!(near(&"x".repeat(10_000)), None);
    }

    #[test]
    fn what_exists_is_known_and_the_rest_has_a_neighbour() {
        for words in ["*", "effect.*", "effect.doubt.*", "effect.doubt.unparsed", "kind.shell"] {
            assert_eq!(check(words, &[]), Ok(()), "{words}");
        }
        for (words, near) in [
            ("effect.doubt.unparsd", "effect.doubt.unparsed"),
            ("effect.dubt.*", "effect.doubt.*"),
            ("effect.doubt", "effect.doubt.*"),
            ("kind.sell", "kind.shell"),
            ("risk.hihg", "risk.high"),
        ] {
            assert_eq!(check(words, &[]), Err(Some(near.to_owned())), "{words}");
        }
        assert_eq!(check("user.mine", &["user.mine".to_owned()]), Ok(()));
    }

    #[test]
    fn every_kind_is_listed() {
        for kind in KINDS {
            let error =
                serde_json::from_value::<crate::Action>(serde_json::json!({ "kind": kind }));
            let unknown = error.is_err_and(|error| error.to_string().contains("unknown variant"));
            assert!(!unknown, "{kind}");
        }
        assert_eq!(KINDS.len(), 19);
    }
}
