//! The table of everything that can be asked of the server.
//!
//! A row says by whom, with what and what comes back. The router, the check of who is asking, the
//! OpenAPI document and its page, and the golden table of roles all read it, so none of them can
//! forget a route.

use std::fmt;
use std::future::Future;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;

use axum::extract::Request;
use axum::http::Method;
use axum::response::Response;
use axum::routing::{MethodFilter, MethodRouter, on};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;

use crate::app::App;
use crate::{api, console, live, parameter, reference, sign_in};

/// Who may ask. What they get is the gate's to say: it knows whose is what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// Anybody, signed in or not.
    Anybody,
    /// Somebody at a signed-in device.
    Person,
    /// An agent or program with its key, wherever it is: to ask for its device to be approved.
    KeyAnywhere,
    /// A person, or an agent or program.
    Either,
    /// A person, or an agent or program with a key: nobody who has only the local socket.
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

/// One thing that can be asked.
#[derive(Debug, Clone)]
pub struct Route {
    /// `GET` changes nothing, ever.
    pub method: Method,
    /// Where.
    pub path: &'static str,
    /// Its name for programs.
    pub id: &'static str,
    /// What it does, in one sentence.
    pub summary: &'static str,
    /// By whom.
    pub who: Who,
    /// Whether it is a page, for a person at a browser; or a form on one.
    pub page: bool,
    /// Whether a person who has a signed-in device needs it for this: the local socket alone is
    /// not enough.
    pub needs_device: bool,
    pub(crate) body: Option<Content>,
    pub(crate) query: Option<SchemaOf>,
    /// The names that may stand behind the question mark.
    pub(crate) parameters: &'static [&'static str],
    pub(crate) gives: Vec<Gives>,
    pub(crate) look: Look,
    pub(crate) permits: Permits,
    pub(crate) handler: Handler,
    /// The same, for the router.
    pub(crate) routed: MethodRouter<App>,
}

type Answering = Pin<Box<dyn Future<Output = Response> + Send>>;

/// What answers the requests of a row.
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

/// Where it is looked up who is asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// In the store.
    Anew,
    /// Perhaps in memory: what comes of it is committed only if that still holds.
    Recall,
}

/// Whether an answer may let something run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Permits {
    /// It never does.
    Never,
    /// It may: it is not said again when what it lets run may not run any more.
    Perhaps,
}

impl Route {
    /// Whether it is a write that takes an idempotency key. Files have their own way to go on.
    pub(crate) fn may_be_sent_twice(&self) -> bool {
        self.method == Method::POST && self.path.starts_with("/api/") && !self.takes_files()
    }

    pub(crate) fn takes_files(&self) -> bool {
        self.body.is_some_and(|body| body.schema.is_none())
    }
}

/// What stands before a handler.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Door {
    /// The path as the table has it, for logs and numbers.
    pub(crate) path: &'static str,
    pub(crate) who: Who,
    pub(crate) page: bool,
    pub(crate) needs_device: bool,
    pub(crate) look: Look,
    pub(crate) permits: Permits,
    pub(crate) may_be_sent_twice: bool,
    pub(crate) parameters: &'static [&'static str],
}

impl Door {
    pub(crate) fn of(route: &Route) -> Self {
        let may_be_sent_twice = route.may_be_sent_twice();
        let Route { path, who, page, needs_device, look, permits, parameters, .. } = *route;
        Self { path, who, page, needs_device, look, permits, may_be_sent_twice, parameters }
    }
}

/// What goes in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Content {
    pub(crate) media: &'static str,
    pub(crate) schema: Option<SchemaOf>,
}

/// What may come back.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gives {
    pub(crate) status: u16,
    pub(crate) media: &'static str,
    pub(crate) schema: Option<SchemaOf>,
}

/// A row that is still being written.
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
    look: Look,
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

/// Begins a row: how, where, and its name.
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
        look: Look::Anew,
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

    /// The handler does nothing for a key but ask the gate for a decision, and asks again with a
    /// caller that was looked up anew when the gate says that what was recalled is outdated.
    pub(crate) fn decides(self) -> Self {
        Self { look: Look::Recall, ..self }.permits()
    }

    /// The answer may let something run.
    pub(crate) fn permits(self) -> Self {
        Self { permits: Permits::Perhaps, ..self }
    }

    /// It only says no or stops something, or the gate itself looks who says yes: a person may do
    /// it over the local socket alone, even when they have a signed-in device.
    pub(crate) fn by_socket_alone(self) -> Self {
        Self { by_socket_alone: true, ..self }
    }

    /// Ends the row: what does it.
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

/// Every row.
#[must_use]
pub fn routes() -> Vec<Route> {
    [api::routes(), live::routes(), reference::routes(), sign_in::routes(), console::routes()]
        .concat()
}
