//! Positions in a YAML text.
//!
//! The configuration is parsed into plain values; the text is parsed again for positions only when
//! an error or notice needs one.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

/// A line and a column, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Spot {
    pub(crate) line: u64,
    pub(crate) column: u64,
}

impl Default for Spot {
    fn default() -> Self {
        Self { line: 1, column: 1 }
    }
}

/// One step into a YAML text.
#[derive(Debug, Clone, Copy)]
pub(crate) enum To<'a> {
    /// The value of this key.
    Key(&'a str),
    /// This entry of a list; a single value counts as a list of one.
    Item(usize),
}

/// The position of the last step: for a key the key itself, for an entry the entry.
pub(crate) fn find(text: &str, path: &[To<'_>]) -> Spot {
    let Ok(root) = serde_saphyr::from_str::<Spanned<Node>>(text) else { return Spot::default() };
    let mut spot = spot_of(&root);
    let mut node = &root.value;
    for step in path {
        let next = match (node, step) {
            (Node::Map(entries), To::Key(name)) => entries
                .iter()
                .find(|(key, _)| key.value == *name)
                .map(|(key, value)| (spot_of(key), value)),
            (Node::List(items), To::Item(at)) => items.get(*at).map(|item| (spot_of(item), item)),
            (Node::Plain | Node::Map(_) | Node::List(_), _) => None,
        };
        let Some((place, value)) = next else { return spot };
        (spot, node) = (place, &value.value);
    }
    spot
}

fn spot_of<T>(spanned: &Spanned<T>) -> Spot {
    Spot { line: spanned.referenced.line().max(1), column: spanned.referenced.column().max(1) }
}

enum Node {
    Map(Vec<(Spanned<String>, Spanned<Node>)>),
    List(Vec<Spanned<Node>>),
    Plain,
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any YAML")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Node, E> {
        Ok(Node::Plain)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Node, E> {
        Ok(Node::Plain)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Node, E> {
        Ok(Node::Plain)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Node, E> {
        Ok(Node::Plain)
    }

    fn visit_str<E>(self, _: &str) -> Result<Node, E> {
        Ok(Node::Plain)
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Plain)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Node::Map(entries))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Node::List(items))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_leads_to_its_place() {
        let text = "a:\n  b.*: allow\n  list: [x, 1]\nc:\n  - ~\n  - d: 2.5\n";
        let at = |path: &[To<'_>]| {
            let spot = find(text, path);
            (spot.line, spot.column)
        };
        assert_eq!(at(&[]), (1, 1));
        assert_eq!(at(&[To::Key("a"), To::Key("b.*")]), (2, 3));
        assert_eq!(at(&[To::Key("a"), To::Key("list"), To::Item(1)]), (3, 13));
        assert_eq!(at(&[To::Key("c"), To::Item(1), To::Key("d")]), (6, 5));
        assert_eq!(at(&[To::Key("c"), To::Item(7)]), (4, 1));
        assert_eq!(find("a: [", &[]), Spot::default());
    }
}
