//! Credentials, in memory only.
//!
//! They arrive with a session, are used one field at a time, and are dropped when it ends. They
//! cannot be printed, stored, copied or listed: [`Vault::fill`] lends one field to one function,
//! and that is the only access.
//!
//! - A credential is for one origin: scheme, domain and port, as a browser compares them.
//! - Its fields share one page of memory that holds nothing else. It never grows, so reallocation
//!   never leaves a copy behind; it is kept out of swap where the system allows, and wiped when it
//!   is dropped.
//! - [`forbid_dumps`] keeps it out of crash reports, and other programs of the same user out of our
//!   memory. The server calls it first of all.
//!
//! This cannot wipe the buffer into which a request was read, and the one in which a JSON parser
//! unescapes a text. Both belong to the server, which should keep them short and few.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, MapAccess, Visitor};
use url::Url;
use zeroize::{Zeroize as _, Zeroizing};

use crate::id::SessionId;

mod encoded;
mod page;

use page::Page;

/// All credentials. Its `Debug` output reveals none of them.
#[derive(Default)]
pub struct Vault {
    sessions: Mutex<BTreeMap<SessionId, Sites>>,
}

type Sites = BTreeMap<Origin, Arc<Credential>>;

impl Vault {
    /// Keeps a credential for a site until the session ends, in place of an earlier one.
    ///
    /// # Errors
    /// The site is not a web address.
    pub fn put(
        &self,
        session: &SessionId,
        site: &str,
        credential: Credential,
    ) -> Result<(), SiteError> {
        let origin = Origin::of(site).ok_or(SiteError)?;
        self.sessions().entry(session.clone()).or_default().insert(origin, Arc::new(credential));
        Ok(())
    }

    /// Lends one field to a function, if the session has a credential for exactly this site.
    ///
    /// The function must not keep the text. It may use the vault itself.
    pub fn fill<R>(
        &self,
        session: &SessionId,
        site: &str,
        field: &str,
        using: impl FnOnce(&str) -> R,
    ) -> Option<R> {
        // Not while the vault is locked: the function may take long, or use the vault.
        let credential = self.find(session, site)?;
        credential.field(field).map(using)
    }

    /// The names of the fields for a site.
    #[must_use]
    pub fn fields(&self, session: &SessionId, site: &str) -> Vec<String> {
        let names = |credential: Arc<Credential>| credential.fields.keys().cloned().collect();
        self.find(session, site).map(names).unwrap_or_default()
    }

    /// A text without the secrets of a session: as they are, and in the encodings in which they
    /// travel. What only names somebody is not masked.
    #[must_use]
    pub fn masked(&self, session: &SessionId, text: &str) -> String {
        let credentials: Vec<_> = match self.sessions().get(session) {
            Some(sites) => sites.values().cloned().collect(),
            None => return text.to_owned(),
        };
        let mut masked = text.to_owned();
        for credential in credentials {
            for name in credential.fields.keys().filter(|name| !NAMES.contains(&name.as_str())) {
                let Some(secret) = credential.field(name).filter(|it| it.len() >= SHORTEST) else {
                    continue;
                };
                for form in encoded::forms(secret) {
                    if masked.contains(form.as_str()) {
                        masked = masked.replace(form.as_str(), "[redacted:credential]");
                    }
                }
            }
        }
        masked
    }

    /// Drops the credentials of a session.
    pub fn forget(&self, session: &SessionId) {
        self.sessions().remove(session);
    }

    /// Drops all credentials.
    pub fn forget_all(&self) {
        self.sessions().clear();
    }

    fn find(&self, session: &SessionId, site: &str) -> Option<Arc<Credential>> {
        let origin = Origin::of(site)?;
        self.sessions().get(session)?.get(&origin).cloned()
    }

    fn sessions(&self) -> MutexGuard<'_, BTreeMap<SessionId, Sites>> {
        // The map is consistent after every step, so a panic elsewhere has broken nothing.
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Vault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Vault(…)")
    }
}

/// The fields that name somebody and are not secrets.
const NAMES: [&str; 5] = ["username", "user", "email", "login", "name"];
/// The shortest secret that is masked: a shorter one is a part of ordinary words.
const SHORTEST: usize = 4;

/// Reports whether two texts are addresses of the same site: scheme, domain and port.
pub(crate) fn same_origin(one: &str, other: &str) -> bool {
    Origin::of(one).is_some_and(|one| Origin::of(other).is_some_and(|other| one == other))
}

/// A site that is not a web address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a credential is for a web address, such as `https://example.com`")]
pub struct SiteError;

/// Reports whether a text is a web address that a credential can be for.
#[must_use]
pub fn is_site(site: &str) -> bool {
    Origin::of(site).is_some()
}

/// The origin by which a browser tells sites apart.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Origin(String);

impl Origin {
    fn of(site: &str) -> Option<Self> {
        let url = Url::parse(site).ok()?;
        // A user name or password in the address is a trick to make it look like another.
        let plain = url.username().is_empty() && url.password().is_none();
        let web = matches!(url.scheme(), "http" | "https") && url.has_host();
        (plain && web).then(|| Self(url.origin().ascii_serialization()))
    }
}

/// A credential: a few named texts. Cannot be printed, copied or serialised, and is wiped when it
/// is dropped.
pub struct Credential {
    fields: BTreeMap<String, Range<usize>>,
    page: Page,
}

/// The reason for which a credential is invalid. Never contains its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CredentialError {
    /// The credential is too large.
    #[error("a credential holds up to 16 fields of 4096 bytes together")]
    TooLarge,
    /// A field lacks a name, or has a very long one.
    #[error("a field's name has 1 to 64 letters, digits, `_`, `-` or `.`")]
    Name,
    /// Two fields have the same name.
    #[error("a field appears twice")]
    Twice,
}

const MOST_FIELDS: usize = 16;
const MOST_BYTES: usize = 4_096;

impl Credential {
    /// A credential with these fields.
    ///
    /// # Errors
    /// It is too large, or a name is invalid or used twice.
    pub fn new<'a>(
        fields: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, CredentialError> {
        let mut credential = Self::empty();
        for (name, text) in fields {
            credential.add(name, text)?;
        }
        Ok(credential)
    }

    /// Reports whether its memory is kept out of swap.
    #[must_use]
    pub const fn is_locked(&self) -> bool {
        self.page.is_locked()
    }

    fn empty() -> Self {
        Self { fields: BTreeMap::new(), page: Page::new(MOST_BYTES) }
    }

    fn add(&mut self, name: &str, text: &str) -> Result<(), CredentialError> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        if name.is_empty() || name.len() > 64 || !name.bytes().all(is_plain) {
            return Err(CredentialError::Name);
        }
        if self.fields.contains_key(name) {
            return Err(CredentialError::Twice);
        }
        if self.fields.len() >= MOST_FIELDS {
            return Err(CredentialError::TooLarge);
        }
        let place = self.page.write(text.as_bytes()).ok_or(CredentialError::TooLarge)?;
        self.fields.insert(name.to_owned(), place);
        Ok(())
    }

    fn field(&self, name: &str) -> Option<&str> {
        let bytes = self.page.read(self.fields.get(name)?.clone())?;
        // It was valid UTF-8 when it was written.
        std::str::from_utf8(bytes).ok()
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credential(…)")
    }
}

/// Deserialises a map of names to texts. Each text is written straight into its page.
impl<'de> Deserialize<'de> for Credential {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Not `deserialize_map`: the error for a text in its place would quote the text.
        deserializer.deserialize_any(CredentialVisitor)
    }
}

struct CredentialVisitor;

/// Refuses each wrong kind of value here, because the usual error quotes the value.
macro_rules! refuse {
    ($message:literal: $($visit:ident $type:ty),*) => {$(
        fn $visit<E: de::Error>(self, _: $type) -> Result<Self::Value, E> {
            Err(E::custom($message))
        }
    )*};
}

impl<'de> Visitor<'de> for CredentialVisitor {
    type Value = Credential;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of field names to texts")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Credential, A::Error> {
        let mut credential = Credential::empty();
        while let Some(name) = map.next_key::<String>()? {
            map.next_value_seed(FieldSeed { credential: &mut credential, name: &name })?;
        }
        Ok(credential)
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<Credential, E> {
        self.visit_str(&Zeroizing::new(text))
    }

    refuse! {
        "a credential is a map of field names to texts":
        visit_bool bool, visit_i64 i64, visit_u64 u64, visit_i128 i128, visit_u128 u128,
        visit_f64 f64, visit_str &str, visit_bytes &[u8]
    }
}

/// Writes one text into the page.
struct FieldSeed<'a> {
    credential: &'a mut Credential,
    name: &'a str,
}

impl<'de> DeserializeSeed<'de> for FieldSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for FieldSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<(), E> {
        self.credential.add(self.name, text).map_err(E::custom)
    }

    fn visit_string<E: de::Error>(self, mut text: String) -> Result<(), E> {
        let added = self.visit_str(&text);
        text.zeroize();
        added
    }

    refuse! {
        "a field of a credential is a text: put it in quotes":
        visit_bool bool, visit_i64 i64, visit_u64 u64, visit_i128 i128, visit_u128 u128,
        visit_f64 f64, visit_bytes &[u8]
    }
}

/// Keeps this process out of crash reports, and other programs of the same user from reading its
/// memory. The server must call it before it has any secret.
///
/// # Errors
/// The system refuses. On systems without such a setting, nothing happens.
pub fn forbid_dumps() -> std::io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?;
    #[cfg(unix)]
    {
        let none = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
        rustix::process::setrlimit(rustix::process::Resource::Core, none)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::clock::{Fake, Timestamp};

    const SITE: &str = "https://bank.example";

    fn sessions() -> [SessionId; 2] {
        let clock = Fake::at(Timestamp(0));
        [SessionId::draw(&clock).unwrap(), SessionId::draw(&clock).unwrap()]
    }

    fn credential(json: &str) -> Result<Credential, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    fn ann() -> Credential {
        Credential::new([("username", "ann"), ("password", "canary-1"), ("otp", "canary-2")])
            .unwrap()
    }

    fn fill(vault: &Vault, session: &SessionId, site: &str, field: &str) -> Option<String> {
        vault.fill(session, site, field, str::to_owned)
    }

    #[test]
    fn one_field_is_lent_at_a_time_to_its_own_session() {
        let (vault, [session, other]) = (Vault::default(), sessions());
        vault.put(&session, SITE, ann()).unwrap();
        assert_eq!(fill(&vault, &session, SITE, "username").as_deref(), Some("ann"));
        assert_eq!(fill(&vault, &session, SITE, "password").as_deref(), Some("canary-1"));
        assert_eq!(fill(&vault, &session, SITE, "pin"), None);
        assert_eq!(fill(&vault, &other, SITE, "password"), None);
        assert_eq!(vault.fields(&session, SITE), ["otp", "password", "username"]);
        assert!(vault.fields(&other, SITE).is_empty());
    }

    #[test]
    fn only_the_very_same_origin_is_filled() {
        let (vault, [session, _]) = (Vault::default(), sessions());
        vault.put(&session, "https://a.example/sign-in?x=1", ann()).unwrap();
        for same in ["https://a.example", "https://A.EXAMPLE:443/other", " https://a.example/ "] {
            assert!(fill(&vault, &session, same, "password").is_some(), "{same}");
        }
        for other in [
            "http://a.example",
            "https://a.example.evil.io",
            "https://evil.io/a.example",
            "https://b.a.example",
            "https://a.example:8443",
            "https://a.example@evil.io",
            "https://evil.io@a.example",
            "https://a.example.",
            "https://\u{430}.example",
            "a.example",
            "//a.example",
            "file:///a.example",
            "javascript:https://a.example",
            "",
        ] {
            assert_eq!(fill(&vault, &session, other, "password"), None, "{other}");
        }
    }

    #[test]
    fn a_site_that_is_no_web_address_takes_no_credential() {
        let (vault, [session, _]) = (Vault::default(), sessions());
        for site in ["", "bank", "file:///etc", "data:,x", "about:blank", "https://u:p@a.example"] {
            assert_eq!(vault.put(&session, site, ann()), Err(SiteError), "{site}");
        }
    }

    #[test]
    fn what_is_forgotten_is_gone_and_a_new_one_replaces_the_old() {
        let (vault, [session, other]) = (Vault::default(), sessions());
        for session in [&session, &other] {
            vault.put(session, SITE, ann()).unwrap();
        }
        vault.put(&session, SITE, Credential::new([("pin", "1")]).unwrap()).unwrap();
        assert_eq!(vault.fields(&session, SITE), ["pin"]);
        vault.forget(&session);
        assert_eq!(fill(&vault, &session, SITE, "pin"), None);
        assert!(fill(&vault, &other, SITE, "password").is_some());
        vault.forget_all();
        assert_eq!(fill(&vault, &other, SITE, "password"), None);
    }

    #[test]
    fn whoever_fills_may_come_back_to_the_vault() {
        let (vault, [session, _]) = (Vault::default(), sessions());
        vault.put(&session, SITE, ann()).unwrap();
        let both = vault.fill(&session, SITE, "username", |name| {
            vault.forget(&session);
            name.len()
        });
        assert_eq!(both, Some(3));
    }

    #[test]
    fn a_credential_is_read_from_json() {
        let read = credential(r#"{"username":"ann","password":"a\"\u00e9\n"}"#).unwrap();
        assert_eq!(read.field("username"), Some("ann"));
        assert_eq!(read.field("password"), Some("a\"\u{e9}\n"));
        let owned: Credential = serde_json::from_value(json!({"password": "canary"})).unwrap();
        assert_eq!(owned.field("password"), Some("canary"));
        assert!(credential("{}").unwrap().fields.is_empty());
    }

    #[test]
    fn no_error_shows_what_was_in_it() {
        for json in [
            r#""canary""#,
            "424242",
            "-424242",
            "42.4242",
            r#"{"otp":424242}"#,
            r#"{"otp":-424242}"#,
            r#"{"otp":42.4242}"#,
            r#"{"otp":340282366920938463463374607431768211455}"#,
            r#"{"password":["canary"]}"#,
            r#"{"password":{"x":"canary"}}"#,
            r#"{"password":"canary","password":"canary"}"#,
            r#"{"canary canary":"x"}"#,
            r#"["canary"]"#,
            r#"{"password":"canary"#,
            r#"{"password":"canary" "x"}"#,
            r#"{"password":null}"#,
            "true",
        ] {
            let error = credential(json).unwrap_err();
            assert!(!error.contains("canary") && !error.contains("42"), "{error}");
            let value = serde_json::from_str::<serde_json::Value>(json);
            if let Ok(value) = value
                && let Err(error) = serde_json::from_value::<Credential>(value)
            {
                let error = format!("{error} {error:?}");
                assert!(!error.contains("canary") && !error.contains("42"), "{error}");
            }
        }
    }

    #[test]
    fn nothing_prints_it() {
        let (vault, [session, _]) = (Vault::default(), sessions());
        assert_eq!(format!("{:?} {:#?}", ann(), ann()), "Credential(…) Credential(…)");
        vault.put(&session, SITE, ann()).unwrap();
        assert_eq!(format!("{vault:?} {vault:#?}"), "Vault(…) Vault(…)");
    }

    #[test]
    fn more_than_it_holds_is_refused() {
        let long = "x".repeat(MOST_BYTES);
        assert!(Credential::new([("a", long.as_str())]).is_ok());
        let over = Credential::new([("a", long.as_str()), ("b", "x")]);
        assert_eq!(over.unwrap_err(), CredentialError::TooLarge);
        let names: Vec<String> = (0..17).map(|number| format!("f{number}")).collect();
        let many = Credential::new(names.iter().map(|name| (name.as_str(), "")));
        assert_eq!(many.unwrap_err(), CredentialError::TooLarge);
        for name in ["", "a b", "\u{e9}", long.as_str()] {
            assert_eq!(Credential::new([(name, "x")]).unwrap_err(), CredentialError::Name);
        }
        let twice = Credential::new([("a", "1"), ("a", "2")]);
        assert_eq!(twice.unwrap_err(), CredentialError::Twice);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn no_dump_of_this_process_is_made() {
        forbid_dumps().unwrap();
        let behavior = rustix::process::dumpable_behavior().unwrap();
        assert_eq!(behavior, rustix::process::DumpableBehavior::NotDumpable);
        let own = crate::process::Processes::owner(&crate::process::System, std::process::id());
        assert_eq!(own, Some(rustix::process::getuid().as_raw()));
    }
}
