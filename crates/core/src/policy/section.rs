//! The sections of a configuration file that belong to other crates: the gate's, the channels' and
//! the server's. The policy only knows their names, and that a project may not set any of them.

use std::fmt;
use std::marker::PhantomData;

use serde::Serialize;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value};

use crate::digest::canonical;
use crate::policy::config::{Source, SourceRef, Sources};
use crate::policy::error::{ConfigError, Problem};
use crate::policy::spot::To;

/// Reads one section of a file; `None` if the file lacks it.
///
/// # Errors
/// The file is not YAML, or the section is not of the expected shape.
pub fn section<T: DeserializeOwned>(source: &Source, name: &str) -> Result<Option<T>, ConfigError> {
    serde_saphyr::with_deserializer_from_str(&source.text, |deserializer| {
        Wanted { name, of: PhantomData }.deserialize(deserializer)
    })
    .map_err(|error| ConfigError::yaml(&source.name, &error))
}

/// Reads one section of the organisation's and the user's file. Where both set a field of it, the
/// organisation's wins.
///
/// # Errors
/// A file is not YAML, its section is not of the expected shape, or the two do not go together.
pub fn merged<T: Serialize + DeserializeOwned>(
    sources: &Sources,
    name: &str,
) -> Result<Option<T>, ConfigError> {
    let read = |source: &Option<Source>| match source {
        Some(source) => section::<T>(source, name),
        None => Ok(None),
    };
    let (organisation, user) = (read(&sources.organisation)?, read(&sources.user)?);
    let (Some(organisation), Some(user)) = (&organisation, &user) else {
        return Ok(organisation.or(user));
    };
    let Some(source) = &sources.organisation else { return Ok(None) };
    // Both are taken as parsed, so that `1.0` stays a text where a text is meant; and only the
    // fields that the organisation wrote, without the defaults.
    let written: Map<String, Value> = section(source, name)?.unwrap_or_default();
    let together = overlay(organisation, user, written.keys());
    together.and_then(serde_json::from_value).map(Some).map_err(|error| {
        let problem = Problem::Shape(error.to_string().to_lowercase());
        let hint = "the organisation's fields hold over yours, and do not go with the rest";
        SourceRef(source).error(&[To::Key(name)], problem, hint)
    })
}

fn overlay<'a, T: Serialize>(
    organisation: &T,
    user: &T,
    written: impl Iterator<Item = &'a String>,
) -> serde_json::Result<Value> {
    let (over, mut under) = (serde_json::to_value(organisation)?, serde_json::to_value(user)?);
    if let (Value::Object(over), Value::Object(under)) = (over, &mut under) {
        for field in written {
            match over.get(field) {
                Some(value) => under.insert(field.clone(), value.clone()),
                None => under.remove(field),
            };
        }
    }
    Ok(under)
}

/// The sections that do not belong to the policy.
const OTHERS: [&str; 5] = ["gate", "channels", "server", "hook", "mcp"];

/// The policy part of a file, as canonical JSON: the same for files that differ only in order,
/// comments and formatting.
pub(super) fn written(source: &Source) -> Result<String, ConfigError> {
    let mut all = everything(source)?;
    all.retain(|name, value| !OTHERS.contains(&name.as_str()) && !value.is_null());
    Ok(canonical(&Value::Object(all)))
}

/// The part of a file that may be sent to others: its policy, and the settings of hooks and the MCP
/// proxy. The settings of channels, gate and server are left out, since they hold secrets.
///
/// # Errors
/// The file is not YAML.
pub(super) fn handed_out(source: &Source) -> Result<Map<String, Value>, ConfigError> {
    let mut all = everything(source)?;
    all.retain(|name, value| {
        !matches!(name.as_str(), "gate" | "channels" | "server") && !value.is_null()
    });
    Ok(all)
}

/// Everything a file says.
fn everything(source: &Source) -> Result<Map<String, Value>, ConfigError> {
    let read: Option<Map<String, Value>> = serde_saphyr::from_str(&source.text)
        .map_err(|error| ConfigError::yaml(&source.name, &error))?;
    Ok(read.unwrap_or_default())
}

/// The value of one key of a mapping.
struct Wanted<'a, T> {
    name: &'a str,
    of: PhantomData<T>,
}

impl<'de, T: DeserializeOwned> DeserializeSeed<'de> for Wanted<'_, T> {
    type Value = Option<T>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, T: DeserializeOwned> Visitor<'de> for Wanted<'_, T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`key: value` lines")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(key) = map.next_key::<String>()? {
            if key == self.name {
                found = map.next_value::<Option<T>>()?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::policy::testing::load;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    struct Example {
        name: String,
        most: u32,
        list: Vec<String>,
    }

    impl Default for Example {
        fn default() -> Self {
            Self { name: "none".to_owned(), most: 100, list: Vec::new() }
        }
    }

    fn source(text: &str) -> Source {
        Source { name: "user.yaml".to_owned(), text: text.to_owned() }
    }

    fn read(text: &str) -> Result<Option<Example>, String> {
        section(&source(text), "gate").map_err(|error| format!("{error} ({})", error.hint))
    }

    #[test]
    fn a_section_is_read_past_everything_else() {
        let text = "profile: coding-agent\ngate:\n  most: 3\nserver: [anything]\n";
        assert_eq!(read(text), Ok(Some(Example { most: 3, ..Example::default() })));
        for nothing in ["", "# nothing\n", "profile: coding-agent\n", "gate:\n", "gate: ~\n"] {
            assert_eq!(read(nothing), Ok(None), "{nothing:?}");
        }
        assert_eq!(read("gate: {}\n"), Ok(Some(Example::default())));
    }

    #[test]
    fn what_is_wrong_in_a_section_is_said_with_its_place() {
        for (text, said) in [
            (
                "a: 1\ngate:\n  mots: 3\n",
                "user.yaml:3:3: unknown field `mots` (did you mean `most`?)",
            ),
            (
                "gate:\n  most: many\n",
                "user.yaml:2:9: expected a whole number here (write digits only, without a unit)",
            ),
            (
                "gate:\n  list: x\n",
                "user.yaml:2:9: expected a list here (write `[one, two]`, or a `- ` before each entry)",
            ),
            (
                "gate: [1]\n",
                "user.yaml:1:7: expected `key: value` lines here (indent them below the key)",
            ),
        ] {
            assert_eq!(read(text), Err(said.to_owned()), "{text}");
        }
        assert!(read("gate: {most: 1}\ngate: {most: 2}\n").is_err());
    }

    #[test]
    fn the_organisations_fields_hold_and_the_users_fill_the_rest() {
        let merged = |organisation: &str, user: &str| {
            let source = |text: &str| (!text.is_empty()).then(|| source(text));
            let (organisation, user) = (source(organisation), source(user));
            let sources = Sources { organisation, user, ..Sources::default() };
            super::merged::<Example>(&sources, "gate").unwrap()
        };
        let both = merged("gate: {most: 5, name: 1.0}\n", "gate: {most: 9, list: [a], name: x}\n");
        let list = vec!["a".to_owned()];
        assert_eq!(both, Some(Example { most: 5, name: "1.0".to_owned(), list: list.clone() }));
        // A value that the organisation writes out applies, even if it is the default.
        let written = merged("gate: {most: 100}\n", "gate: {most: 9}\n");
        assert_eq!(written, Some(Example::default()));
        assert_eq!(merged("", "gate: {most: 9}\n").unwrap().most, 9);
        assert_eq!(merged("gate: {most: 9}\n", "profile: coding-agent\n").unwrap().most, 9);
        assert_eq!(merged("profile: coding-agent\n", ""), None);
    }

    #[test]
    fn a_policy_passes_over_the_sections_and_a_project_may_have_none() {
        for name in ["gate", "channels", "server", "hook", "mcp"] {
            let text = format!("profile: coding-agent\n{name}: {{x: [1, {{y: z}}]}}\n");
            load([&text, &text, ""]).unwrap();
            let error = load(["", "", &text]).unwrap_err();
            let said = format!(".countersign.yaml:2:1: `{name}` is not for a project to set");
            assert_eq!(error.to_string(), said);
            assert!(error.hint.contains("user"), "{}", error.hint);
        }
    }
}
