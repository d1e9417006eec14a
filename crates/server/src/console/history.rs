//! History: the records of a person's agents, to search, export or erase.

use std::fmt::Write as _;
use std::time::Duration;

use askama::Template;
use axum::extract::State;
use axum::response::{Html, Response};
use countersign_gate::audit::{Event, Record, export};
use countersign_gate::clock::Timestamp;
use countersign_gate::config::Erasure;
use countersign_gate::store::{Order, RecordQuery};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::api::history::{Kind, Reader, file, own};
use crate::app::App;
use crate::auth::Signed;
use crate::body::{Form, Query};
use crate::console::piece::How;
use crate::console::record::{RecordView, events, line};
use crate::console::{Frame, done};
use crate::error::Problem;
use crate::html::show;
use crate::route::{Route, form, page};

/// Records on one page.
const MOST: usize = 50;
/// The number of records that are read to find those with a word in them.
const MOST_SEARCHED: usize = 5_000;

pub(super) fn routes() -> Vec<Route> {
    vec![
        page("/history", "history")
            .says("The records of your agents.")
            .query::<ListQuery>()
            .to(look),
        page("/history/export.csv", "history_csv").says("All of these, as CSV.").to(table),
        form("/history/delete", "erase_history_form")
            .says("Erases the content of records about you. The chain can still be verified.")
            .to(erase),
    ]
}

/// The filter of the search. An empty field of the form does not filter.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "HistorySearch")]
struct ListQuery {
    q: String,
    event: String,
    /// Days, as `2026-11-16`.
    from: String,
    until: String,
    cursor: Option<u64>,
}

impl ListQuery {
    fn query(&self, owner: String) -> Result<RecordQuery, Problem> {
        let event = Event::ALL.iter().map(|event| event.as_str()).find(|name| *name == self.event);
        Ok(RecordQuery {
            owner: Some(owner),
            workspace: None,
            session: None,
            events: event.into_iter().collect(),
            from: day(&self.from)?,
            until: day(&self.until)?.map(|at| at.after(DAY)),
            order: Order::Newest,
            after: self.cursor.unwrap_or_default(),
            limit: MOST,
        })
    }
}

const DAY: Duration = Duration::from_hours(24);

fn day(text: &str) -> Result<Option<Timestamp>, Problem> {
    if text.is_empty() {
        return Ok(None);
    }
    let at = Timestamp::parse_day(text);
    at.map(Some).ok_or_else(|| Problem::bad_request("write a day as 2026-11-16"))
}

#[derive(Template)]
#[template(path = "history.html")]
struct History {
    frame: Frame,
    which: ListQuery,
    events: Vec<(&'static str, String)>,
    records: Vec<RecordView>,
    /// The address of the next page, if there is one.
    next: Option<String>,
    /// The number of records that were searched for a word, if that was not all of them.
    searched: Option<usize>,
    /// True when the organisation keeps the record.
    kept: bool,
}

async fn look(
    State(app): State<App>,
    frame: Frame,
    Query(which): Query<ListQuery>,
) -> Result<Html<String>, Problem> {
    let frame = frame.on("history");
    let mut query = which.query(own(&frame.person))?;
    let word = which.q.trim().to_lowercase();
    let (mut found, mut searched, mut more) = (Vec::new(), 0_usize, true);
    while more && found.len() < MOST && searched < MOST_SEARCHED {
        let records = app.gate.records(&frame.person, &query).await?;
        more = records.len() == query.limit;
        for record in records {
            query.after = record.number;
            searched = searched.saturating_add(1);
            if has(&record, &word) {
                found.push(record);
            }
            if found.len() == MOST {
                break;
            }
        }
    }
    let next = (more || found.len() == MOST).then(|| next(&which, query.after));
    let records = found.iter().map(|record| RecordView::of(frame.t, record)).collect();
    let searched = (more && !word.is_empty() && found.len() < MOST).then_some(searched);
    let events = events(frame.t);
    let kept = app.gate.config().erasure == Erasure::Administrators;
    show(&History { frame, which, events, records, next, searched, kept })
}

fn has(record: &Record, word: &str) -> bool {
    let payload = record.content.as_ref().map(|content| content.payload.to_lowercase());
    word.is_empty()
        || record.event.contains(word)
        || payload.is_some_and(|text| text.contains(word))
}

fn next(which: &ListQuery, after: u64) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("q", &which.q).append_pair("event", &which.event);
    query.append_pair("from", &which.from).append_pair("until", &which.until);
    format!("/history?{}", query.append_pair("cursor", &after.to_string()).finish())
}

async fn table(State(app): State<App>, Signed(person): Signed) -> Result<Response, Problem> {
    let query = ListQuery::default().query(own(&person))?;
    let kind = Kind {
        name: "countersign-history.csv",
        media: "text/csv; charset=utf-8",
        head: "number,at,event,session,what\r\n",
        write: rows,
    };
    file(app, Reader::Person(person), RecordQuery { order: Order::Oldest, ..query }, kind).await
}

fn rows(records: &[Record]) -> String {
    records.iter().map(export).fold(String::new(), |mut text, record| {
        let field = |name: &str| match record.get(name) {
            Some(Value::String(text)) => cell(text),
            Some(Value::Null) | None => String::new(),
            Some(other) => cell(&other.to_string()),
        };
        let what = cell(&line(record.get("payload").unwrap_or(&Value::Null)));
        let (number, at, event, session) =
            (field("number"), field("at"), field("event"), field("session"));
        let _ = write!(text, "{number},{at},{event},{session},{what}\r\n");
        text
    })
}

/// Writes a cell of a CSV table. Text that a spreadsheet would evaluate as a formula is escaped: an
/// agent may have written it.
fn cell(text: &str) -> String {
    let computed = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let guard = if computed { "'" } else { "" };
    format!("\"{guard}{}\"", text.replace('"', "\"\""))
}

async fn erase(
    State(app): State<App>,
    Signed(person): Signed,
    form: Form,
) -> Result<Response, Problem> {
    if !form.is_on("sure") {
        return Err(Problem::bad_request("tick the box: erasing cannot be undone"));
    }
    app.gate.erase(&person, &person.user().id).await?;
    Ok(done("/history", "erased"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spreadsheet_computes_nothing_an_agent_wrote() {
        assert_eq!(cell("=HYPERLINK(\"x\")"), "\"'=HYPERLINK(\"\"x\"\")\"");
        assert_eq!(cell("plain, text"), "\"plain, text\"");
    }

    #[test]
    fn the_next_page_looks_for_the_same() {
        let which = ListQuery { q: "a&b".into(), event: "approval".into(), ..ListQuery::default() };
        assert_eq!(next(&which, 7), "/history?q=a%26b&event=approval&from=&until=&cursor=7");
    }
}
