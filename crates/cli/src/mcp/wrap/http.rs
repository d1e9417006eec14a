//! A remote server: its URL becomes an argument of the proxy, its headers become variables.

use countersign_core::redact::redact;
use serde_json::Value;
use url::{Host, Url};

use super::entry::{Entry, Equals, Spelled, items, left, spelled};
use super::{Became, Edit, Edits, How, quoted};
use crate::host::edit::{Kind, Member};
use crate::host::servers::{Spoken, Started, Syntax};
use crate::mcp::http::is_for_the_proxy;

/// Fields by which a host signs its user in to a server.
const SIGNING_IN: &[&str] =
    &["oauth", "auth", "authProviderType", "oauth_resource", "scopes", "oauth_client_id"];
/// Fields that neither a program nor the proxy supports.
const FOREIGN: &[&str] = &["headersHelper", "http_headers", "env_http_headers", "env_vars"];
/// The prefix of the variable for a header.
const VARIABLE: &str = "COUNTERSIGN_HEADER_";
const HEADERS: &str = "headers";
/// Codex's field for the name of a variable that contains a token.
const TOKEN: &str = "bearer_token_env_var";

impl Entry<'_> {
    pub(super) fn wrap_url(&self, how: &How<'_>) -> Edits {
        let (spelled, member, spoken) =
            self.url().ok_or_else(|| left("it has neither a command nor a URL"))?;
        let Some(url) = member.value.as_str() else { return Err(left("its URL is not a string")) };
        let mut edits = self.reached(url, spoken)?;
        let elsewhere = is_elsewhere(url)?;
        if SIGNING_IN.iter().any(|name| self.has(name)) {
            return Err(left("its host signs in there (OAuth), which the proxy cannot"));
        }
        // OpenCode accepts no field of a remote server for a local one, whatever its value.
        let strict = self.layout.started == Started::List && self.field("oauth").is_some();
        let foreign = FOREIGN.iter().find(|name| self.has(name));
        if let Some(name) = foreign.or(strict.then_some(&"oauth")) {
            return Err(Became::Left(format!("its `{name}` is for the host alone")));
        }
        let (more, shown) = match self.layout.syntax {
            Syntax::Json => self.headers()?,
            Syntax::Toml => self.token(),
        };
        let named = how.only.iter().any(|only| only == self.name);
        if elsewhere && shown.is_empty() && !named {
            return Err(Became::Left(format!(
                "its host may have to sign in there (OAuth), which the proxy cannot; \
                 `--only {}` wraps it all the same",
                self.name
            )));
        }
        edits.extend(more);
        let words = [
            &[self.beginning(spelled), quoted("--http"), self.raw(&member.value).to_owned()],
            shown.as_slice(),
        ];
        edits.extend(self.exchange(member, how.program, &words.concat().join(", ")));
        Ok(edits)
    }

    pub(super) fn unwrap_url(&self, words: &[&str], at: usize) -> Edits {
        let since = || left("somebody has changed it since");
        let (command, args) = (self.field("command"), self.field("args"));
        let (list, shift) = match self.layout.started {
            Started::List => (command, 0),
            Started::Words => (args, 1),
        };
        let (Some(command), Some(list)) = (command, list) else { return Err(since()) };
        let Some(url) = items(&list.value).get(at + 1 - shift) else { return Err(since()) };
        let which = usize::from(spelled(words) == Spelled::Otherwise);
        let Some((field, _)) = self.layout.urls.get(which) else { return Err(since()) };
        if command.start != list.start && !self.follow(command, list) {
            return Err(since());
        }
        let mut edits = vec![
            (command.start..list.key_end, self.key(field, Equals::Not)),
            (list.value.start..list.value.end, self.raw(url).to_owned()),
        ];
        edits.extend(self.reached_again());
        let shown = words.get(at + 2..).unwrap_or_default();
        edits.extend(match self.layout.syntax {
            Syntax::Json => self.headers_again(shown).ok_or_else(since)?,
            Syntax::Toml => self.token_again(),
        });
        Ok(edits)
    }

    /// Its URL, the field that contains it, and the transport.
    fn url(&self) -> Option<(Spelled, &Member, Spoken)> {
        let spelled = [Spelled::Usual, Spelled::Otherwise];
        let mut fields = self.layout.urls.iter().zip(spelled);
        fields.find_map(|((name, spoken), spelled)| Some((spelled, self.field(name)?, *spoken)))
    }

    /// Reports whether a field has a value other than null and false.
    fn has(&self, name: &str) -> bool {
        let said = self.field(name).map(|member| member.value.to_value());
        said.is_some_and(|said| !matches!(said, Value::Null | Value::Bool(false)))
    }

    /// The edits that turn a remote entry into a program's.
    fn reached(&self, url: &str, spoken: Spoken) -> Result<Vec<Edit>, Became> {
        const OLD: &str = "it speaks the old transport (SSE), which the proxy does not";
        let old = url.split(['?', '#']).next().is_some_and(|path| path.ends_with("/sse"));
        let Some(kind) = self.layout.kind else {
            return if old { Err(left(OLD)) } else { Ok(Vec::new()) };
        };
        match (self.field(kind.field), self.string(kind.field)) {
            (_, Some("sse")) => Err(left(OLD)),
            _ if old => Err(left(OLD)),
            (Some(member), Some(said)) if said == kind.http => {
                Ok(vec![(member.value.start..member.value.end, quoted(kind.program))])
            }
            (None, _) if spoken == Spoken::Http => Ok(Vec::new()),
            (None, _) => Err(left(OLD)),
            (Some(_), _) => Err(Became::Left(format!("its `{}` is not known", kind.field))),
        }
    }

    fn reached_again(&self) -> Option<Edit> {
        let kind = self.layout.kind?;
        let member = self.field(kind.field)?;
        let place = member.value.start..member.value.end;
        (member.value.as_str() == Some(kind.program)).then(|| (place, quoted(kind.http)))
    }

    /// Replaces the field of the URL by the command.
    fn exchange(&self, url: &Member, program: &str, words: &str) -> [Edit; 2] {
        let (key, value) = match self.layout.started {
            Started::List => {
                (self.key("command", Equals::Not), format!("[{}, {words}]", quoted(program)))
            }
            Started::Words => {
                let command = self.key("command", Equals::Too);
                let (gap, args) = (self.gap(), self.key("args", Equals::Not));
                (format!("{command}{}{gap}{args}", quoted(program)), format!("[{words}]"))
            }
        };
        [(url.start..url.key_end, key), (url.value.start..url.value.end, value)]
    }

    /// Turns headers into variables, and returns the proxy's arguments for them.
    fn headers(&self) -> Result<(Vec<Edit>, Vec<String>), Became> {
        let Some(member) = self.field(HEADERS) else { return Ok((Vec::new(), Vec::new())) };
        let Kind::Object(headers) = &member.value.kind else {
            return Err(left("its headers are not an object"));
        };
        if headers.is_empty() {
            return Ok((Vec::new(), Vec::new()));
        }
        if self.field(self.layout.variables).is_some() {
            return Err(left("it has variables besides its headers"));
        }
        let mut edits =
            vec![(member.start..member.key_end, self.key(self.layout.variables, Equals::Not))];
        let mut shown = Vec::new();
        for header in headers {
            let variable = variable(&header.key);
            let twice = shown.iter().any(|word: &String| word.ends_with(&format!("={variable}\"")));
            let plain =
                self.text.get(header.start..header.key_end) == Some(quoted(&header.key).as_str());
            if twice || !plain || header.value.as_str().is_none() || is_for_the_proxy(&header.key) {
                return Err(Became::Left(format!(
                    "its header `{}` cannot be passed on",
                    header.key
                )));
            }
            edits.push((header.start..header.key_end, quoted(&variable)));
            shown.extend([quoted("--header-from"), quoted(&format!("{}={variable}", header.key))]);
        }
        Ok((edits, shown))
    }

    /// Turns the variables back into headers; `None` if the entry has others as well.
    fn headers_again(&self, shown: &[&str]) -> Option<Vec<Edit>> {
        if shown.is_empty() {
            return Some(Vec::new());
        }
        let member = self.field(self.layout.variables)?;
        let Kind::Object(variables) = &member.value.kind else { return None };
        let pairs: Option<Vec<_>> = shown
            .chunks(2)
            .map(|pair| match pair {
                ["--header-from", pair] => pair.split_once('='),
                _ => None,
            })
            .collect();
        let pairs = pairs?;
        let mut edits = vec![(member.start..member.key_end, self.key(HEADERS, Equals::Not))];
        for variable in variables {
            let (header, _) = pairs.iter().find(|(_, known)| *known == variable.key)?;
            edits.push((variable.start..variable.key_end, quoted(header)));
        }
        Some(edits)
    }

    /// Passes on the variable with a token, and returns the proxy's arguments for it.
    fn token(&self) -> (Vec<Edit>, Vec<String>) {
        let Some(member) = self.field(TOKEN) else { return (Vec::new(), Vec::new()) };
        let Some(variable) = member.value.as_str() else { return (Vec::new(), Vec::new()) };
        let edits = vec![
            (member.start..member.key_end, "env_vars".to_owned()),
            (member.value.start..member.value.end, format!("[{}]", self.raw(&member.value))),
        ];
        let header = format!("Authorization: Bearer ${{{variable}}}");
        (edits, vec![quoted("--header"), quoted(&header)])
    }

    fn token_again(&self) -> Vec<Edit> {
        let Some(member) = self.field("env_vars") else { return Vec::new() };
        let [variable] = items(&member.value) else { return Vec::new() };
        vec![
            (member.start..member.key_end, TOKEN.to_owned()),
            (member.value.start..member.value.end, self.raw(variable).to_owned()),
        ]
    }
}

fn variable(header: &str) -> String {
    let plain =
        |char: char| if char.is_ascii_alphanumeric() { char.to_ascii_uppercase() } else { '_' };
    format!("{VARIABLE}{}", header.chars().map(plain).collect::<String>())
}

/// Reports whether a server is on another machine. Every process can see a command line, so a URL
/// with a secret in it must not get there.
fn is_elsewhere(url: &str) -> Result<bool, Became> {
    const SECRET: &str = "its URL may hold a secret, which a command line would show";
    // The values that the host fills in are not known here.
    if url.contains(['$', '{']) {
        return if url.contains('?') { Err(left(SECRET)) } else { Ok(true) };
    }
    let Ok(parsed) = Url::parse(url) else { return Err(left("its URL cannot be read")) };
    let named = !parsed.username().is_empty() || parsed.password().is_some();
    let random = parsed.path_segments().is_some_and(|mut parts| parts.any(is_random));
    let mut query = parsed.query_pairs();
    let telling = query.any(|(name, value)| is_random(&value) || is_telling(&name));
    if named || random || telling || redact(url).text != url {
        return Err(left(SECRET));
    }
    let here = match parsed.host() {
        Some(Host::Domain(domain)) => domain == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    match parsed.scheme() {
        "https" => Ok(!here),
        "http" if here => Ok(false),
        "http" => Err(left("it is not encrypted")),
        _ => Err(left("its URL is neither https nor http")),
    }
}

/// Reports whether a part of a URL looks randomly generated.
fn is_random(part: &str) -> bool {
    let has = |kind: fn(&char) -> bool| part.chars().any(|char| kind(&char));
    part.len() >= 20 && has(char::is_ascii_digit) && has(char::is_ascii_alphabetic)
}

/// Reports whether a name suggests that its value is secret.
fn is_telling(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["key", "token", "secret", "auth", "pass", "sig", "code"].iter().any(|word| name.contains(word))
}
