//! The records of a person's agents: listed, exported, erased.

use std::fmt::Write as _;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use countersign_gate::audit::{Event, Record, export};
use countersign_gate::gate::ReadError;
use countersign_gate::store::{Order, RecordQuery};
use countersign_gate::{Caller, Person};
use countersign_wire::path;
use futures_util::{StreamExt as _, stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::app::App;
use crate::auth::{Identity, Signed};
use crate::body::Query;
use crate::error::Problem;
use crate::moment::Moment;
use crate::page::Listed;
use crate::route::{Route, get, row};

/// The records to list.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ListQuery {
    /// Only of this session.
    pub(super) session_id: Option<String>,
    /// Only of this event, such as `action_planned` or `approval`.
    pub(super) event: Option<String>,
    /// From this moment on, like `2026-11-16T06:00:00Z`, or from this day on.
    pub(super) from: Option<Moment>,
    /// Before this moment or day.
    pub(super) until: Option<Moment>,
    pub(super) cursor: Option<u64>,
    #[schemars(range(min = 1, max = 200))]
    pub(super) limit: Option<u16>,
}

/// The number of records that lost their content.
#[derive(Debug, Serialize, JsonSchema)]
struct Erased {
    erased: u64,
}

pub(super) fn routes() -> Vec<Route> {
    vec![
        get(path::HISTORY, "list_history")
            .says("The records of what your agents did and what was decided, newest first.")
            .query::<ListQuery>()
            .gives::<Listed<Value>>(200)
            .to(list),
        get(path::HISTORY_EXPORT, "export_history")
            .says("All of these, oldest first, one JSON record per line.")
            .query::<ListQuery>()
            .gives_media(200, "application/jsonl")
            .to(export_all),
        row(axum::http::Method::DELETE, path::HISTORY, "erase_history")
            .says("Erases the content of records about you. The chain can still be verified.")
            .gives::<Erased>(200)
            .to(erase),
    ]
}

impl ListQuery {
    pub(super) fn query(&self, order: Order) -> Result<RecordQuery, Problem> {
        let known = |name: &String| {
            let event = Event::ALL.iter().map(|event| event.as_str()).find(|word| word == name);
            event.ok_or_else(|| Problem::bad_request(format!("there is no event `{name}`")))
        };
        let event = self.event.as_ref().map(known).transpose()?;
        Ok(RecordQuery {
            owner: None,
            workspace: None,
            session: self.session_id.clone(),
            events: event.into_iter().collect(),
            from: self.from.map(|moment| moment.0),
            until: self.until.map(|moment| moment.0),
            order,
            after: self.cursor.unwrap_or_default(),
            limit: usize::from(self.limit.unwrap_or(50).clamp(1, 200)),
        })
    }
}

async fn list(
    State(app): State<App>,
    Signed(person): Signed,
    Query(which): Query<ListQuery>,
) -> Result<Json<Listed<Value>>, Problem> {
    let query = RecordQuery { owner: Some(own(&person)), ..which.query(Order::Newest)? };
    Ok(Json(listed(&app, &Reader::Person(person), &query).await?))
}

pub(super) async fn listed(
    app: &App,
    reader: &Reader,
    query: &RecordQuery,
) -> Result<Listed<Value>, Problem> {
    let records = reader.records(app, query).await?;
    let more = records.len() == query.limit;
    let next = records.last().filter(|_| more).map(|record| record.number.to_string());
    Ok(Listed { items: records.iter().map(export).collect(), next, damaged: Vec::new() })
}

pub(crate) fn own(person: &Person) -> String {
    person.user().id.to_string()
}

async fn export_all(
    State(app): State<App>,
    Signed(person): Signed,
    Query(which): Query<ListQuery>,
) -> Result<Response, Problem> {
    let query = RecordQuery { owner: Some(own(&person)), ..which.query(Order::Oldest)? };
    lines(app, Reader::Person(person), query, "countersign-history.jsonl").await
}

/// Exports one record per line, read while the response is written.
pub(super) async fn lines(
    app: App,
    reader: Reader,
    query: RecordQuery,
    name: &'static str,
) -> Result<Response, Problem> {
    file(app, reader, query, Kind { name, media: "application/jsonl", head: "", write: text_of })
        .await
}

/// A person or a key that reads records.
#[derive(Debug, Clone)]
pub(crate) enum Reader {
    /// As their role allows.
    Person(Person),
    /// As the key allows.
    Caller(Caller),
}

impl Reader {
    async fn records(&self, app: &App, query: &RecordQuery) -> Result<Vec<Record>, ReadError> {
        match self {
            Self::Person(person) => app.gate.records(person, query).await,
            Self::Caller(caller) => app.gate.records_of_caller(caller, query).await,
        }
    }
}

impl From<Identity> for Reader {
    fn from(identity: Identity) -> Self {
        match identity {
            Identity::Person(person) => Self::Person(person),
            Identity::Caller(caller) => Self::Caller(caller),
        }
    }
}

/// A format of file that records are written into.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) media: &'static str,
    /// Its first line.
    pub(crate) head: &'static str,
    pub(crate) write: fn(&[Record]) -> String,
}

/// Streams records as a file, read while it is written.
pub(crate) async fn file(
    app: App,
    reader: Reader,
    query: RecordQuery,
    kind: Kind,
) -> Result<Response, Problem> {
    let Kind { name, media, head, write } = kind;
    let query = RecordQuery { limit: 1_000, ..query };
    // The first page is read before the first byte is sent: a refusal is an error, not a broken
    // file.
    let first = reader.records(&app, &query).await?;
    let pages = stream::try_unfold(Some((first, query)), move |state| {
        let (app, reader) = (app.clone(), reader.clone());
        async move {
            let Some((records, query)) = state else { return Ok(None) };
            let Some(last) = records.last() else { return Ok(None) };
            let next = RecordQuery { after: last.number, ..query };
            let text = write(&records);
            let more = reader.records(&app, &next).await;
            let more = more.map_err(std::io::Error::other)?;
            Ok::<_, std::io::Error>(Some((text, Some((more, next)))))
        }
    });
    let head = stream::iter((!head.is_empty()).then(|| Ok(head.to_owned())));
    let mut response = Response::new(Body::from_stream(head.chain(pages)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    let disposition = format!("attachment; filename=\"{name}\"");
    if let Ok(value) = HeaderValue::from_str(&disposition) {
        headers.insert(header::CONTENT_DISPOSITION, value);
    }
    Ok(response)
}

fn text_of(records: &[Record]) -> String {
    records.iter().fold(String::new(), |mut text, record| {
        let _ = writeln!(text, "{}", export(record));
        text
    })
}

async fn erase(State(app): State<App>, Signed(person): Signed) -> Result<Json<Erased>, Problem> {
    let erased = app.gate.erase(&person, &person.user().id).await?;
    Ok(Json(Erased { erased }))
}
