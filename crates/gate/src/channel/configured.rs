//! A channel as it is configured.

use serde::Deserialize;

use crate::channel::http::{self, Reach};
use crate::channel::{Settings, ntfy, syslog, telegram, terminal, webhook};
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

/// One channel as written: exactly one of them, and whom it tells.
// One field per channel, so that an error in one is reported with its own line and column.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Channel"))]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    /// The user who is notified; everybody who is asked, if left out.
    #[serde(default)]
    user: Option<UserId>,
    /// The terminal the gate runs in.
    #[serde(default)]
    terminal: Option<terminal::Settings>,
    /// A signed request to a server.
    #[serde(default)]
    webhook: Option<webhook::Settings>,
    /// A Telegram bot with buttons.
    #[serde(default)]
    telegram: Option<telegram::Settings>,
    /// A push message that leads to the console.
    #[serde(default)]
    ntfy: Option<ntfy::Settings>,
    /// A syslog server, which is told every record.
    #[serde(default)]
    syslog: Option<syslog::Settings>,
}

impl TryFrom<Row> for Configured {
    type Error = &'static str;

    fn try_from(row: Row) -> Result<Self, Self::Error> {
        let mut all = [
            row.terminal.map(Settings::Terminal),
            row.webhook.map(Settings::Webhook),
            row.telegram.map(Settings::Telegram),
            row.ntfy.map(Settings::Ntfy),
            row.syslog.map(Settings::Syslog),
        ]
        .into_iter()
        .flatten();
        match (all.next(), all.next()) {
            (Some(settings), None) => {
                check(&settings)?;
                if let (Settings::Syslog(_), Some(_)) = (&settings, &row.user) {
                    return Err("syslog is told of everybody: leave out `user`");
                }
                Ok(Self { user: row.user, settings })
            }
            _ => Err("each channel is one of terminal, webhook, telegram, ntfy, syslog"),
        }
    }
}

/// Refuses an address that could never be reached, before anybody waits for a message.
fn check(settings: &Settings) -> Result<(), &'static str> {
    let (url, reach) = match settings {
        Settings::Terminal(_) => return Ok(()),
        Settings::Syslog(syslog) => return syslog.check(),
        Settings::Webhook(webhook) => {
            if webhook.events.is_empty() {
                return Err("`events` of a webhook names none");
            }
            (webhook.url.expose(), Reach::danger(webhook.danger_any_address))
        }
        Settings::Telegram(telegram) => match &telegram.danger_api {
            Some(api) => (api.expose(), Reach::danger(true)),
            None => return Ok(()),
        },
        Settings::Ntfy(ntfy) => (ntfy.server.as_str(), Reach::danger(ntfy.danger_any_address)),
    };
    http::check(url, reach)
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
