//! Query parameters: a name that a route does not know is refused, for every route. Ignoring it
//! would let its sender believe that it had an effect.

use axum::http::Uri;
use serde::de::value::Error;
use serde::de::{DeserializeOwned, Deserializer, Error as _, Visitor};
use serde::forward_to_deserialize_any;

use crate::error::Problem;

/// Refuses a request with a query parameter that belongs neither to its route nor to all routes of
/// its kind.
pub(crate) fn refuse_unknown(
    uri: &Uri,
    parameters: &[&str],
    of_all: &[&str],
) -> Result<(), Problem> {
    let Some(query) = uri.query() else { return Ok(()) };
    let known = |name: &str| parameters.contains(&name) || of_all.contains(&name);
    let mut unknown: Vec<_> = form_urlencoded::parse(query.as_bytes())
        .map(|(name, _)| name)
        .filter(|name| !known(name))
        .map(|name| format!("`{name}`"))
        .collect();
    if unknown.is_empty() {
        return Ok(());
    }
    unknown.sort();
    unknown.dedup();
    let takes: Vec<_> = parameters.iter().map(|name| format!("`{name}`")).collect();
    let takes = if takes.is_empty() { "no parameters".to_owned() } else { takes.join(", ") };
    let detail = format!("unknown in the query: {}; this takes {takes}", unknown.join(", "));
    Err(Problem::bad_request(detail).with_kind("unknown-parameter"))
}

/// The names of the fields that a query is deserialised into.
pub(crate) fn names<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut names: &[&str] = &[];
    // It fails as soon as the names are known: there is nothing to deserialize.
    let _ = T::deserialize(Fields(&mut names));
    names
}

/// A deserializer that records the field names of a struct.
struct Fields<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for Fields<'_> {
    type Error = Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Error> {
        *self.0 = fields;
        Err(Error::custom("only the names are wanted"))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("not a struct"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    #[serde(default, deny_unknown_fields)]
    struct ListQuery {
        user_id: Option<String>,
        #[serde(rename = "from")]
        begin: Option<u64>,
        limit: u16,
    }

    impl Default for ListQuery {
        fn default() -> Self {
            Self { user_id: None, begin: None, limit: 1 }
        }
    }

    #[test]
    fn the_names_are_those_that_serde_reads() {
        assert_eq!(names::<ListQuery>(), ["user_id", "from", "limit"]);
        assert!(names::<String>().is_empty());
    }
}
