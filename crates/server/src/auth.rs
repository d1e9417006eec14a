//! Authentication: the only place that reads cookies, keys and device secrets.
//!
//! | shown | is |
//! |---|---|
//! | `Authorization: Bearer csk_…` | an agent or program; `Countersign-Device: csd_…` says where it is |
//! | `Authorization: Bearer csd_…` | a person at that device |
//! | the cookie | a person in a browser; every change needs the CSRF token too, in a header or a form's field |
//! | nothing, over the local socket, from the server's own user | the owner; an agent of theirs, if the process belongs to one |
//!
//! A key never makes a person, and neither does anything that a process of an agent shows over the
//! local socket: no credential of an agent can answer.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, header};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use countersign_gate::caller::Peer;
use countersign_gate::gate::{AtSocket, PeopleError};
use countersign_gate::keyring::Purpose;
use countersign_gate::secret::{Secret, SecretKind};
use countersign_gate::{Caller, Person};
use subtle::ConstantTimeEq as _;

use crate::app::App;
use crate::error::Problem;
use crate::route::Lookup;

/// The cookie that holds a device's secret in a browser.
const COOKIE: &str = "countersign";
/// The same over TLS: a browser accepts the `__Host-` prefix only from this very host.
const SECURE_COOKIE: &str = "__Host-countersign";
/// The header that names the machine a key is used on.
pub(crate) const DEVICE: &str = "countersign-device";
/// The header with the CSRF token, which every change from a page needs.
pub(crate) const CSRF: &str = "x-csrf-token";

/// The authenticated caller.
#[derive(Debug, Clone)]
pub(crate) enum Identity {
    /// Somebody at a signed-in device.
    Person(Person),
    /// An agent or program.
    Caller(Caller),
}

impl Identity {
    /// A text that tells one caller from another.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Person(person) => person.user().id.to_string(),
            Self::Caller(caller) => match (caller.key_id(), caller.local_agents()) {
                (Some(key), _) => key.to_string(),
                (None, Some(agents)) => format!("{}:{agents:?}", caller.user()),
                (None, None) => caller.user().to_string(),
            },
        }
    }
}

/// The other end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Remote {
    /// The process, over the local socket.
    pub(crate) peer: Option<Peer>,
    /// True when nobody in between can read along.
    pub(crate) encrypted: bool,
    /// True when people reach the server over TLS that ends at a proxy in front of it.
    pub(crate) proxied: bool,
}

impl Remote {
    /// Reports whether a browser at the other end uses TLS.
    pub(crate) const fn is_https(self) -> bool {
        self.encrypted || self.proxied
    }
}

pub(crate) const FROM_AN_AGENT: &str = "this is for people, and the process that asks belongs to an agent, or \
    may: use a signed-in browser or phone, or a terminal that was open before the agent began";

/// Returns the caller of a request, from the credentials that it shows.
pub(crate) async fn identify(
    app: &App,
    headers: &HeaderMap,
    method: &Method,
    remote: Remote,
    look: Lookup,
) -> Result<Identity, Problem> {
    let at = |person: Person| match remote.peer {
        Some(peer) => person.at(peer),
        None => person,
    };
    if let Some(secret) = bearer(headers)? {
        return match secret.kind() {
            SecretKind::Key => Ok(Identity::Caller(caller(app, headers, &secret, look).await?)),
            SecretKind::Device => {
                refuse_agents(app, remote)?;
                Ok(Identity::Person(at(sign_in(app, &secret).await?)))
            }
            SecretKind::Token | SecretKind::Link => {
                Err(Problem::not_signed_in("this secret is neither a key nor a device's"))
            }
        };
    }
    if let Some(secret) = cookie(headers, remote) {
        refuse_agents(app, remote)?;
        let person = at(sign_in(app, &secret).await?);
        if !method.is_safe() {
            same_origin(headers, remote)?;
            check_csrf(app, &secret, headers)?;
        }
        return Ok(Identity::Person(person));
    }
    match remote.peer {
        Some(peer) if is_ours(peer) => match app.gate.at_socket(peer).await? {
            Some(AtSocket::Owner(person)) => Ok(Identity::Person(person)),
            Some(AtSocket::Agent(caller)) => Ok(Identity::Caller(caller)),
            None => Err(Problem::not_signed_in("there is no owner yet")),
        },
        Some(_) | None => {
            Err(Problem::not_signed_in("sign in, or send `Authorization: Bearer <key>`"))
        }
    }
}

/// Refuses a process of an agent over the local socket, even if it has obtained a device's secret
/// or a sign-in link.
pub(crate) fn refuse_agents(app: &App, remote: Remote) -> Result<(), Problem> {
    if app.gate.is_an_agents(remote.peer) {
        return Err(Problem::forbidden("people-only", FROM_AN_AGENT));
    }
    Ok(())
}

async fn caller(
    app: &App,
    headers: &HeaderMap,
    key: &Secret,
    look: Lookup,
) -> Result<Caller, Problem> {
    let device = device(headers)?;
    let caller = match look {
        Lookup::Cached => app.gate.recognise(key, device.as_ref()).await?,
        Lookup::Fresh => app.gate.authenticate(key, device.as_ref()).await?,
    };
    Ok(caller)
}

/// The caller who asks for a decision, and who may have to be looked up once more.
pub(crate) struct Asker {
    identity: Identity,
    shown: Shown,
}

/// The credentials that a key's holder has shown. Not the headers themselves, because then the
/// connection could not reuse their memory for the next request.
pub(crate) struct Shown {
    key: Option<Secret>,
    device: Option<Secret>,
}

impl Asker {
    /// Returns the caller, and the credentials to look the caller up again with.
    pub(crate) fn split(self) -> (Identity, Shown) {
        (self.identity, self.shown)
    }
}

impl Shown {
    /// Looks the caller up again, because the cached one is outdated.
    pub(crate) async fn anew(&self, app: &App) -> Result<Caller, Problem> {
        let key = self.key.as_ref();
        let key = key.ok_or_else(|| Problem::not_signed_in("this secret is not a key"))?;
        Ok(app.gate.authenticate(key, self.device.as_ref()).await?)
    }
}

impl FromRequestParts<App> for Asker {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let key = bearer(&parts.headers)?.filter(|secret| secret.kind() == SecretKind::Key);
        let device = if key.is_some() { device(&parts.headers)? } else { None };
        let identity = Identity::from_request_parts(parts, app).await?;
        Ok(Self { identity, shown: Shown { key, device } })
    }
}

async fn sign_in(app: &App, device: &Secret) -> Result<Person, Problem> {
    app.gate.sign_in(device).await.map_err(|error| match error {
        // A disabled user is not signed in, rather than signed in and finding nothing.
        PeopleError::NotFound => PeopleError::NotSignedIn.into(),
        error => error.into(),
    })
}

/// Reports whether the process at the other end runs as the same user as the server.
fn is_ours(peer: Peer) -> bool {
    #[cfg(unix)]
    return peer.uid == rustix::process::geteuid().as_raw();
    #[cfg(not(unix))]
    return false;
}

/// The secret in the `Authorization` header.
pub(crate) fn bearer(headers: &HeaderMap) -> Result<Option<Secret>, Problem> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let text = value.to_str().ok().filter(|_| values.next().is_none());
    let secret = text.and_then(|text| {
        let (scheme, secret) = text.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then_some(secret.trim())
    });
    let secret = secret.ok_or_else(|| Problem::not_signed_in("not `Authorization: Bearer …`"))?;
    Secret::parse(secret).map(Some).map_err(Problem::not_signed_in)
}

pub(crate) fn device(headers: &HeaderMap) -> Result<Option<Secret>, Problem> {
    let Some(value) = headers.get(DEVICE) else { return Ok(None) };
    let secret = value.to_str().ok().and_then(|text| Secret::parse(text.trim()).ok());
    let secret = secret.filter(|secret| secret.kind() == SecretKind::Device);
    let wrong = || Problem::bad_request(format!("`{DEVICE}` is not the secret of a device"));
    secret.map(Some).ok_or_else(wrong)
}

/// The device secret in the cookie. A cookie that is not ours is ignored.
pub(crate) fn cookie(headers: &HeaderMap, remote: Remote) -> Option<Secret> {
    let name = cookie_name(remote);
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|text| text.split(';'));
    pairs.find_map(|pair| {
        let (found, value) = pair.trim().split_once('=')?;
        let secret = Secret::parse(value).ok().filter(|_| found == name)?;
        (secret.kind() == SecretKind::Device).then_some(secret)
    })
}

const fn cookie_name(remote: Remote) -> &'static str {
    if remote.is_https() { SECURE_COOKIE } else { COOKIE }
}

/// The header that keeps a device signed in, in a browser.
pub(crate) fn set_cookie(secret: Option<&Secret>, remote: Remote) -> Option<HeaderValue> {
    let name = cookie_name(remote);
    let (value, age) = secret.map_or(("", 0), |secret| (secret.expose(), YEAR));
    let secure = if remote.is_https() { "; Secure" } else { "" };
    let text = format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={age}{secure}");
    let mut header = HeaderValue::from_str(&text).ok()?;
    header.set_sensitive(true);
    Some(header)
}

/// The seconds for which a browser stays signed in; revoking its device ends that at once.
const YEAR: u32 = 31_536_000;

/// Returns the CSRF token for pages of this device. It is derived from the device's secret, so
/// nothing needs to be stored, and it reveals nothing about the secret.
pub(crate) fn csrf_token(app: &App, device: &Secret) -> String {
    let about = device.hash().to_string();
    URL_SAFE_NO_PAD.encode(app.gate.keyring().fingerprint(Purpose::Csrf, about.as_bytes()))
}

fn check_csrf(app: &App, device: &Secret, headers: &HeaderMap) -> Result<(), Problem> {
    let shown = headers.get(CSRF).map(HeaderValue::as_bytes).unwrap_or_default();
    if is_csrf_token(app, device, shown) { Ok(()) } else { Err(csrf()) }
}

pub(crate) fn is_csrf_token(app: &App, device: &Secret, shown: &[u8]) -> bool {
    csrf_token(app, device).as_bytes().ct_eq(shown).into()
}

pub(crate) fn csrf() -> Problem {
    Problem::forbidden(
        "csrf",
        format!("a browser must send `{CSRF}` with the value from `/api/me`"),
    )
}

/// Refuses a request that another site's page has sent.
pub(crate) fn same_origin(headers: &HeaderMap, remote: Remote) -> Result<(), Problem> {
    let other = || Problem::forbidden("other-origin", "pages of other sites may not do this");
    if let Some(site) = headers.get("sec-fetch-site")
        && site != "same-origin"
        && site != "none"
    {
        return Err(other());
    }
    let Some(origin) = headers.get(header::ORIGIN) else { return Ok(()) };
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let scheme = if remote.encrypted { "https" } else { "http" };
    let own = format!("{scheme}://{host}");
    // Behind a proxy that ends TLS for us the browser's scheme is not ours, but its host is.
    let proxied = format!("https://{host}");
    if origin == own.as_str() || origin == proxied.as_str() { Ok(()) } else { Err(other()) }
}

/// A signed-in person, as an argument of a handler.
pub(crate) struct Signed(pub(crate) Person);

impl FromRequestParts<App> for Signed {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Problem> {
        match parts.extensions.get::<Identity>() {
            Some(Identity::Person(person)) => Ok(Self(person.clone())),
            Some(Identity::Caller(_)) | None => Err(Problem::not_signed_in("sign in first")),
        }
    }
}

impl FromRequestParts<App> for Identity {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Problem> {
        // Removed, not cloned: a handler reads it once.
        let identity = parts.extensions.remove::<Self>();
        identity.ok_or_else(|| Problem::not_signed_in("sign in first"))
    }
}

impl FromRequestParts<App> for Remote {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Infallible> {
        Ok(parts.extensions.get::<Self>().copied().unwrap_or_default())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn only_a_process_of_the_servers_own_user_is_ours() {
        let own = rustix::process::geteuid().as_raw();
        let at = |uid| Peer { pid: 1, uid, started: None };
        assert!(is_ours(at(own)));
        assert!(!is_ours(at(own.wrapping_add(1))));
    }
}
