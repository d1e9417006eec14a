//! A channel as it is configured.

use serde::Deserialize;

use crate::channel::{Audience, NAMES, Row, Settings};
use crate::id::UserId;

/// A channel as it is configured: its settings, and the user it belongs to.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Row")]
pub struct Configured {
    /// The user who is notified; everybody who is asked, if `None`.
    pub user: Option<UserId>,
    /// The settings of the channel.
    pub settings: Settings,
}

impl TryFrom<Row> for Configured {
    type Error = String;

    fn try_from(row: Row) -> Result<Self, String> {
        let user = row.user.clone();
        let mut all = row.settings();
        let (Some(settings), None) = (all.next(), all.next()) else {
            return Err(format!("each channel is one of {}", NAMES.join(", ")));
        };
        settings.check()?;
        if settings.audience() == Audience::Everybody && user.is_some() {
            return Err(format!("{} is told of everybody: leave out `user`", settings.name()));
        }
        Ok(Self { user, settings })
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Configured {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        Row::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Row::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_one_channel_and_perhaps_a_user() {
        let read = |text: &str| serde_json::from_str::<Configured>(text);
        let user = UserId::from_bytes([7; 16]);
        let row = read(&format!(r#"{{"ntfy":{{"topic":"t"}},"user":"{user}"}}"#)).unwrap();
        assert_eq!(row.user, Some(user));
        assert!(matches!(row.settings, Settings::Ntfy(_)));
        assert!(read(r#"{"terminal":{"ask":true}}"#).unwrap().user.is_none());
        for bad in [
            "{}",
            r#"{"user":"usr_x","terminal":{}}"#,
            r#"{"terminal":{},"ntfy":{"topic":"t"}}"#,
            r#"{"pigeon":{}}"#,
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_address_that_may_not_be_reached_is_refused_when_it_is_read() {
        let secret = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
        let read = |url: &str, more: &str| {
            let row = format!(r#"{{"webhook":{{"url":"{url}","secret":"{secret}"{more}}}}}"#);
            serde_json::from_str::<Configured>(&row).map(drop).map_err(|error| error.to_string())
        };
        for inside in [
            "https://10.0.0.7/hook",
            "https://192.168.1.1",
            "https://127.0.0.1:8443/hook",
            "https://localhost/hook",
            "https://169.254.169.254/latest",
            "https://[::1]/",
            "https://[fd00::1]/hook",
            "https://[::ffff:10.0.0.7]/",
            "https://0x7f000001/",
            "http://hooks.example/",
            "ftp://hooks.example/",
            "nonsense",
        ] {
            let error = read(inside, "").unwrap_err();
            assert!(!error.contains(inside), "it may hold a secret: {error}");
        }
        assert_eq!(read("https://hooks.example/approvals", ""), Ok(()));
        let danger = r#","danger_any_address":true"#;
        assert_eq!(read("http://10.0.0.7/hook", danger), Ok(()));
        // A cloud's metadata service cannot be reached with any settings.
        assert!(read("http://169.254.169.254/latest", danger).is_err());
        let ntfy = r#"{"ntfy":{"topic":"t","server":"https://192.168.1.1"}}"#;
        assert!(serde_json::from_str::<Configured>(ntfy).is_err());
    }
}
