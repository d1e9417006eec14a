//! A route of the server: who may call it, what it takes and what it returns.
//!
//! The vocabulary of the rows only; `table.rs` collects them.

use std::fmt;
use std::future::Future;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;

use axum::extract::Request;
use axum::http::Method;
use axum::response::Response;
use axum::routing::{MethodFilter, MethodRouter, on};
use countersign_wire::path;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;

use crate::app::App;
use crate::parameter;

/// The callers that a route accepts. The gate decides what they get, because it knows the owner of
/// everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// Anybody, signed in or not.
    Anybody,
    /// Somebody at a signed-in device.
    Person,
    /// An agent or program with its key on any machine: to ask for its device to be approved.
    KeyAnywhere,
    /// A person, or an agent or program.
    Either,
    /// A person, or an agent or program with a key: the local socket alone is not enough.
    PersonOrKey,
    /// A person, or an agent of this machine over the local socket.
    PersonOrLocalAgent,
}

impl Who {
    /// The word in the tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Anybody => "anybody",
            Self::Person => "a person",
            Self::KeyAnywhere => "a key on any device",
            Self::Either => "a person, a key or an agent over the socket",
            Self::PersonOrKey => "a person or a key",
            Self::PersonOrLocalAgent => "a person or an agent over the socket",
        }
    }
}

pub(crate) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// One route.
#[derive(Debug, Clone)]
pub struct Route {
    /// `GET` never changes anything.
    pub method: Method,
    /// The path, with placeholders.
    pub path: &'static str,
    /// Its name for programs.
    pub id: &'static str,
    /// A description in one sentence.
    pub summary: &'static str,
    /// The callers it accepts.
    pub who: Who,
    /// True for a page, for a person at a browser, and for a form on one.
    pub page: bool,
    /// True when a person who has a signed-in device needs it for this: the local socket alone is
    /// not enough.
    pub needs_device: bool,
    pub(crate) body: Option<Content>,
    pub(crate) query: Option<SchemaOf>,
    /// The names of its query parameters.
    pub(crate) parameters: &'static [&'static str],
    pub(crate) gives: Vec<Gives>,
    pub(crate) look: Lookup,
    pub(crate) permits: Permits,
    pub(crate) handler: Handler,
    /// The same, for the router.
    pub(crate) routed: MethodRouter<App>,
}

type Answering = Pin<Box<dyn Future<Output = Response> + Send>>;

/// The handler of a route.
#[derive(Clone)]
pub(crate) struct Handler(Arc<dyn Fn(Request, App) -> Answering + Send + Sync>);

impl Deref for Handler {
    type Target = dyn Fn(Request, App) -> Answering + Send + Sync;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl fmt::Debug for Handler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Handler")
    }
}

/// The source from which the caller is looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// The store.
    Fresh,
    /// The cache, if possible: the result is committed only if the cached data is still current.
    Cached,
}

/// The possibility that an answer lets something run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Permits {
    /// It never does.
    Never,
    /// It may. The answer is not repeated once that action may not run any more.
    Perhaps,
}

impl Route {
    /// Reports whether it is a write that takes an idempotency key. Uploads are resumed in another
    /// way.
    pub(crate) fn may_be_sent_twice(&self) -> bool {
        self.method == Method::POST && self.path.starts_with(path::ROOT) && !self.takes_files()
    }

    pub(crate) fn takes_files(&self) -> bool {
        self.body.is_some_and(|body| body.schema.is_none())
    }
}

/// The properties of a route that are checked before its handler.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RoutePolicy {
    /// The path as it is in the table, for logs and metrics.
    pub(crate) path: &'static str,
    pub(crate) who: Who,
    pub(crate) page: bool,
    pub(crate) needs_device: bool,
    pub(crate) look: Lookup,
    pub(crate) permits: Permits,
    pub(crate) may_be_sent_twice: bool,
    pub(crate) parameters: &'static [&'static str],
}

impl RoutePolicy {
    pub(crate) fn of(route: &Route) -> Self {
        let may_be_sent_twice = route.may_be_sent_twice();
        let Route { path, who, page, needs_device, look, permits, parameters, .. } = *route;
        Self { path, who, page, needs_device, look, permits, may_be_sent_twice, parameters }
    }
}

/// The body of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Content {
    pub(crate) media: &'static str,
    pub(crate) schema: Option<SchemaOf>,
}

/// A possible response.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gives {
    pub(crate) status: u16,
    pub(crate) media: &'static str,
    pub(crate) schema: Option<SchemaOf>,
}

/// A route under construction.
#[derive(Debug)]
pub(crate) struct Row {
    method: Method,
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    who: Who,
    page: bool,
    by_socket_alone: bool,
    body: Option<Content>,
    query: Option<SchemaOf>,
    parameters: &'static [&'static str],
    gives: Vec<Gives>,
    look: Lookup,
    permits: Permits,
}

fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// Begins the row of a page.
pub(crate) fn page(path: &'static str, id: &'static str) -> Row {
    Row { page: true, ..row(Method::GET, path, id) }.gives_media(200, "text/html")
}

/// Begins the row of a form on a page, which leads to another page.
pub(crate) fn form(path: &'static str, id: &'static str) -> Row {
    let row = Row { page: true, ..row(Method::POST, path, id) };
    row.takes_media("application/x-www-form-urlencoded").gives_media(303, "")
}

/// Begins a row: the method, the path, and the name.
pub(crate) fn row(method: Method, path: &'static str, id: &'static str) -> Row {
    Row {
        by_socket_alone: method.is_safe(),
        method,
        path,
        id,
        summary: "",
        who: Who::Person,
        page: false,
        body: None,
        query: None,
        parameters: &[],
        gives: Vec::new(),
        look: Lookup::Fresh,
        permits: Permits::Never,
    }
}

pub(crate) fn get(path: &'static str, id: &'static str) -> Row {
    row(Method::GET, path, id)
}

pub(crate) fn post(path: &'static str, id: &'static str) -> Row {
    row(Method::POST, path, id)
}

impl Row {
    pub(crate) fn by(self, who: Who) -> Self {
        Self { who, ..self }
    }

    pub(crate) fn says(self, summary: &'static str) -> Self {
        Self { summary, ..self }
    }

    pub(crate) fn query<T: JsonSchema + DeserializeOwned>(self) -> Self {
        Self { query: Some(schema_of::<T>), parameters: parameter::names::<T>(), ..self }
    }

    pub(crate) fn takes<T: JsonSchema>(self) -> Self {
        let body = Content { media: "application/json", schema: Some(schema_of::<T>) };
        Self { body: Some(body), ..self }
    }

    pub(crate) fn takes_media(self, media: &'static str) -> Self {
        Self { body: Some(Content { media, schema: None }), ..self }
    }

    pub(crate) fn gives<T: JsonSchema>(mut self, status: u16) -> Self {
        let schema = Some(schema_of::<T> as SchemaOf);
        self.gives.push(Gives { status, media: "application/json", schema });
        self
    }

    pub(crate) fn gives_media(mut self, status: u16, media: &'static str) -> Self {
        self.gives.push(Gives { status, media, schema: None });
        self
    }

    /// Declares that the handler does nothing for a key but ask the gate for a decision, and asks
    /// again with a fresh caller when the gate reports that the cached one is outdated.
    pub(crate) fn decides(self) -> Self {
        Self { look: Lookup::Cached, ..self }.permits()
    }

    /// Declares that the answer may let something run.
    pub(crate) fn permits(self) -> Self {
        Self { permits: Permits::Perhaps, ..self }
    }

    /// Declares that the route only refuses or stops something, or that the gate itself checks who
    /// approves: a person may use it over the local socket alone, even when they have a signed-in
    /// device.
    pub(crate) fn by_socket_alone(self) -> Self {
        Self { by_socket_alone: true, ..self }
    }

    /// Ends the row with its handler.
    pub(crate) fn to<H, T>(self, handler: H) -> Route
    where
        H: axum::handler::Handler<T, App> + Sync,
        T: 'static,
    {
        let Self {
            method,
            path,
            id,
            summary,
            who,
            page,
            body,
            query,
            parameters,
            gives,
            look,
            permits,
            ..
        } = self;
        let needs_device = who == Who::Person && !self.by_socket_alone;
        // Every method in the table is one that axum knows.
        let filter = MethodFilter::try_from(method.clone()).unwrap_or(MethodFilter::TRACE);
        let routed = on(filter, handler.clone());
        let call = move |request, app| Box::pin(handler.clone().call(request, app)) as Answering;
        let handler = Handler(Arc::new(call));
        Route {
            method,
            path,
            id,
            summary,
            who,
            page,
            needs_device,
            body,
            query,
            parameters,
            gives,
            look,
            permits,
            handler,
            routed,
        }
    }
}
