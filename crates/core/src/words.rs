//! Lists of words that analyzers compare with, compiled from `words/*.yaml`, each sorted.

include!(concat!(env!("OUT_DIR"), "/words.rs"));

/// Reports whether a list contains this word.
pub(crate) fn has(list: &[&str], word: &str) -> bool {
    list.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_is_sorted() {
        for list in [VERBS_DESTROY, VERBS_OBJECTS, VARIABLES_COMMANDS, GIT_COMMANDS] {
            assert!(list.is_sorted() && !list.is_empty());
            assert!(list.iter().all(|word| has(list, word)));
        }
    }
}
