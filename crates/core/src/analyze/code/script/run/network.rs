//! The network: data that is fetched and sent.

use super::{Args, Runner};
use crate::action::Language;
use crate::analyze::UNKNOWN;
use crate::analyze::code::script::value::{Handle, Provenance, Shape, Value};
use crate::fact::{FactKind, Tag, Tags};
use crate::verdict::Span;

/// Origins of content that is local data.
const LOCAL: Provenance = Provenance::FILE
    .and(Provenance::ENVIRONMENT)
    .and(Provenance::OUTPUT)
    .and(Provenance::CREDENTIAL)
    .and(Provenance::VARIABLE);

/// Options of a request that do not carry data of the user, or carry it on purpose.
const NO_DATA: &[&str] = &[
    "headers",
    "auth",
    "timeout",
    "cookies",
    "verify",
    "proxies",
    "cert",
    "stream",
    "method",
    "url",
    "agent",
    "httpsAgent",
    "signal",
    "context",
    "cafile",
    "ca",
    "key",
    "hostname",
    "host",
    "port",
    "path",
    "allow_redirects",
    "credentials",
    "mode",
];

impl Runner<'_> {
    /// Follows a request; returns the response.
    pub(super) fn fetch(&mut self, args: &Args, span: Option<Span>) -> Value {
        let url = args.get(0, "url");
        // `urlopen(url, data)` sends; so does a request made before.
        if let Shape::Handle(Handle::Request) = url.shape {
            self.send(&url, span);
        }
        self.send_url(&url, span);
        let rest = Self::body(&args.skip(1));
        self.send(&rest, span);
        self.answer(&url, args, span)
    }

    fn answer(&mut self, url: &Value, args: &Args, span: Option<Span>) -> Value {
        self.reaches_metadata(args, span);
        let subject = url.known_text().map(std::string::ToString::to_string).unwrap_or_default();
        if !self.supposed || !subject.is_empty() {
            let tags = Tags::of(&[Tag::Remote]);
            self.fact(FactKind::Fetch, &subject.replace(UNKNOWN, "…"), tags, span);
        }
        let response = Value::handle(Handle::Response).marked(Provenance::FETCHED);
        self.call_back(args, &response);
        response
    }

    /// Follows data sent to a server.
    pub(super) fn post(&mut self, args: &Args, span: Option<Span>) -> Value {
        let url = args.get(0, "url");
        self.send_url(&url, span);
        let body = match self.language {
            // `axios.post(url, data, options)`
            Language::Javascript => Self::body(&Args::of([args.at(1)])),
            _ => Self::body(&args.skip(1)),
        };
        self.send(&body, span);
        self.answer(&url, args, span)
    }

    /// Follows `requests.request("POST", url, …)`, `fetch(url, {method, body})`, `axios({url,
    /// data})`.
    pub(super) fn request(&mut self, args: &Args, span: Option<Span>) -> Value {
        if self.language == Language::Python {
            return self.fetch(&args.skip(1), span);
        }
        let body = args.named("body").or_else(|| args.named("data"));
        let url = args.named("url").unwrap_or_else(|| args.at(0));
        self.send_url(&url, span);
        if let Some(body) = body {
            self.send(&body, span);
        } else {
            let options = args.at(1);
            if !matches!(options.shape, Shape::Map(_)) {
                self.send(&options, span);
            }
        }
        self.answer(&url, args, span)
    }

    /// Creates a request that is sent later, with the origin of its data.
    pub(super) fn make_request(&mut self, args: &Args, span: Option<Span>) -> Value {
        let url = args.get(0, "url");
        self.send_url(&url, span);
        self.reaches_metadata(args, span);
        let body = Self::body(&args.skip(1));
        let request = Value::handle(Handle::Request).with(&body.origin);
        if self.language == Language::Javascript {
            let response = Value::handle(Handle::Response).marked(Provenance::FETCHED);
            self.call_back(args, &response);
            return Value::handle(Handle::Sender);
        }
        request
    }

    /// Returns the data among these arguments that would be sent.
    fn body(args: &Args) -> Value {
        let mut body = Value::unknown();
        for arg in &args.list {
            match (&arg.name, &arg.value.shape) {
                (Some(name), _) if NO_DATA.contains(&&**name) => {}
                (None, Shape::Map(pairs)) => {
                    for (name, value) in pairs.iter() {
                        if !NO_DATA.contains(&&**name) {
                            body = body.with(&value.origin);
                        }
                    }
                }
                (None, Shape::Closure(..)) => {}
                _ => body = body.with(&arg.value.origin),
            }
        }
        body
    }

    /// Records local data in an address, which is sent as well: `"https://x/?q=" + content`. An
    /// address that is read from a file or variable as a whole is only configuration.
    fn send_url(&mut self, url: &Value, span: Option<Span>) {
        for choice in url.choices() {
            let Some(text) = choice.known_text() else { continue };
            let after_host = text.split_once("://").and_then(|(_, rest)| rest.split_once('/'));
            let query = after_host
                .is_some_and(|(host, rest)| !host.contains(UNKNOWN) && rest.contains(UNKNOWN));
            let name = text.split_once("://").is_some_and(|(_, rest)| {
                // Data as a DNS name: `http://<data>.example.com`.
                rest.starts_with(UNKNOWN) && rest.contains('.')
            });
            if query || name {
                let mut origin = choice.origin.clone();
                origin.marks = origin.marks.without(Provenance::VARIABLE);
                let data = Value::unknown().with(&origin);
                self.send(&data, span);
            }
        }
    }

    /// Records data that leaves the machine, if it is local.
    pub(super) fn send(&mut self, data: &Value, span: Option<Span>) {
        if !data.has(LOCAL) {
            return;
        }
        let mut tags = Tags::of(&[Tag::Local]);
        let mut subject = "local data".to_owned();
        if let Some(source) = &data.origin.source {
            tags = tags.and(source.tags);
            subject = source.subject.to_string();
        }
        if data.has(Provenance::ENVIRONMENT) {
            tags = tags.with(Tag::Secret);
            "the environment".clone_into(&mut subject);
        }
        if data.has(Provenance::CREDENTIAL) {
            tags = tags.with(Tag::Secret);
        }
        // A single variable is how a program gets its own key.
        let only_variable = !data.has(LOCAL.without(Provenance::VARIABLE));
        if only_variable {
            return;
        }
        self.fact(FactKind::Send, &subject, tags, span);
    }

    /// Records that the file of a path is sent.
    pub(super) fn send_file(&mut self, path: &Value, span: Option<Span>) {
        if path.choices().iter().any(|choice| matches!(choice.shape, Shape::Text(_))) {
            let content = self.content(path);
            self.send(&content, span);
        }
    }

    /// Follows a download that is stored in a file.
    pub(super) fn retrieve(&mut self, args: &Args, span: Option<Span>) -> Value {
        let path = args.at(1);
        let content = Value::from(Provenance::FETCHED);
        self.answer(&args.at(0), args, span);
        if matches!(path.shape, Shape::Text(_) | Shape::Any(_)) {
            self.write(FactKind::Write, &path, &content, span);
        } else if let Some(url) = args.at(0).known_text() {
            let name = crate::location::base_name(url).to_owned();
            self.remember(&Value::text(name), &content);
        }
        Value::list(vec![path.marked(Provenance::FETCHED), Value::unknown()])
    }

    /// Records a connection to Countersign's own socket, over which this program counts as the
    /// owner.
    pub(super) fn reaches_guard(&mut self, args: &Args, span: Option<Span>) {
        let texts: Vec<String> = args
            .list
            .iter()
            .flat_map(|arg| match &arg.value.shape {
                Shape::Map(pairs) => pairs.iter().map(|(_, value)| value.clone()).collect(),
                _ => vec![arg.value.clone()],
            })
            .filter_map(|value| value.known_text().map(ToString::to_string))
            .filter(|text| self.located(text).has(Tag::OwnData))
            .collect();
        for text in texts {
            self.fact(FactKind::GuardCommand, &text, Tags::NONE, span);
        }
    }

    /// Follows a raw connection.
    pub(super) fn connect(&mut self, args: &Args, span: Option<Span>) -> Value {
        self.connected = self.connected.or(span);
        self.reaches_guard(args, span);
        self.reaches_metadata(args, span);
        let socket = socket();
        self.call_back(args, &socket);
        match self.language {
            // `reader, writer = await open_connection(…)`
            Language::Python if args.count() > 1 => socket,
            _ => socket,
        }
    }
}

/// Creates a raw connection.
pub(super) fn socket() -> Value {
    Value::handle(Handle::Socket).marked(Provenance::SOCKET)
}
