//! `countersign approvals`: the questions that wait for a person, and their answers.

use std::io::{self, IsTerminal as _, Write as _};

use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use crate::card::Card;
use crate::client::{Address, Client, ClientError, Heard, Server, block_on, listen};
use crate::exit::Exit;
use crate::listing::{self, Whose, field, part, print_json};
use crate::moment::{self, now};
use crate::serving::URL;
use crate::show::{Paint, one_line};
use crate::table::Table;

/// List pending questions and answer them
#[derive(Debug, Args)]
pub(crate) struct Approvals {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(List),
    Show(Show),
    Approve(Approve),
    Reject(Reject),
    Watch(Watch),
}

/// List questions: those waiting for your answer, or past ones
#[derive(Debug, Args)]
struct List {
    #[command(flatten)]
    server: Server,
    /// Only questions in this state
    #[arg(long, value_enum, default_value_t = State::Pending)]
    state: State,
    /// Only questions from this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    #[command(flatten)]
    whose: Whose,
    /// The largest number to list
    #[arg(long, value_name = "NUMBER", default_value_t = 50)]
    limit: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum State {
    /// Waiting for an answer
    Pending,
    Approved,
    Rejected,
    Expired,
    Cancelled,
    Started,
    Done,
    Failed,
    Unknown,
    /// Every state
    Any,
}

/// Show one question in full: exactly what would run, why it asks, what to do instead
#[derive(Debug, Args)]
struct Show {
    #[command(flatten)]
    server: Server,
    /// The question's id
    #[arg(value_name = "ID")]
    id: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Approve questions
#[derive(Debug, Args)]
struct Approve {
    #[command(flatten)]
    server: Server,
    /// The questions' ids
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// How long the approval applies, and to whom
    #[arg(long, value_enum, default_value_t = Reach::Once)]
    scope: Reach,
    /// A message for the agent
    #[arg(long, value_name = "TEXT")]
    feedback: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Reach {
    /// Only this time
    Once,
    /// This exact action, for the rest of the session
    Session,
    /// This exact action in this folder, by this agent in this workspace, for thirty days
    Always,
    /// The same by all your agents in all your workspaces
    Everywhere,
}

/// Reject questions
#[derive(Debug, Args)]
struct Reject {
    #[command(flatten)]
    server: Server,
    /// The questions' ids
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// A message for the agent
    #[arg(long, value_name = "TEXT")]
    feedback: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Print events as they happen, until Ctrl-C
#[derive(Debug, Args)]
struct Watch {
    #[command(flatten)]
    server: Server,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

impl Approvals {
    pub(super) fn run(self) -> Result<Exit> {
        match self.command {
            Command::List(list) => list.run(),
            Command::Show(show) => show.run(),
            Command::Approve(approve) => approve.run(),
            Command::Reject(reject) => reject.run(),
            Command::Watch(watch) => watch.run(),
        }
    }
}

impl List {
    fn run(self) -> Result<Exit> {
        let mut query = self.whose.query();
        if let Some(state) = self.state.to_possible_value().filter(|_| self.state != State::Any) {
            query.push(("state", state.get_name().to_owned()));
        }
        if let Some(session) = self.session {
            query.push(("session_id", session));
        }
        let client = self.server.open()?;
        let found = block_on(listing::pages(&client, "/api/approvals", &query, self.limit))?;
        found.say_if_cut()?;
        let items: Vec<Value> = found.items.into_iter().map(without_token).collect();
        if self.json {
            return print_json(&Value::from(items));
        }
        let now = now();
        let mut table = Table::new(&["ID", "STATE", "RISK", "LEFT", "ACTION", "WHAT"]);
        for item in &items {
            let left = match field(item, "state") {
                "pending" => moment::left(field(item, "expires_at"), now),
                _ => "-".to_owned(),
            };
            table.row([
                field(item, "approval_id"),
                field(item, "state"),
                field(item, "risk_level"),
                &left,
                field(item, "action"),
                field(item, "description"),
            ]);
        }
        let none =
            if self.state == State::Pending { "no questions are waiting for you" } else { "none" };
        let mut out = io::stdout().lock();
        table.write(&mut out, Paint::on(&io::stdout()), none)?;
        Ok(Exit::Done)
    }
}

/// Removes the token, with which a question can be answered: the reader of this output may be a
/// program.
fn without_token(mut item: Value) -> Value {
    if let Some(fields) = item.as_object_mut() {
        fields.remove("token");
    }
    item
}

impl Show {
    fn run(self) -> Result<Exit> {
        let client = self.server.open()?;
        let path = format!("/api/approvals/{}", part(&self.id));
        let found = without_token(block_on(async { Ok(client.get(&path).await?) })?);
        if self.json {
            return print_json(&found);
        }
        let card: Card = serde_json::from_value(found)?;
        card.write(&mut io::stdout().lock(), Paint::on(&io::stdout()), now())?;
        Ok(Exit::Done)
    }
}

/// One answer to several questions.
struct Answer {
    ids: Vec<String>,
    body: Value,
    json: bool,
}

impl Approve {
    fn run(self) -> Result<Exit> {
        let scope = self.scope.to_possible_value();
        let scope = scope.as_ref().map_or("once", |scope| scope.get_name());
        let body = json!({"approved": true, "scope": scope, "feedback": self.feedback});
        Answer { ids: self.ids, body, json: self.json }.give(&self.server.open()?)
    }
}

impl Reject {
    fn run(self) -> Result<Exit> {
        let body = json!({"approved": false, "feedback": self.feedback});
        Answer { ids: self.ids, body, json: self.json }.give(&self.server.open()?)
    }
}

impl Answer {
    /// Answers each question by itself: one that cannot be answered does not affect the others.
    fn give(self, client: &Client) -> Result<Exit> {
        block_on(async {
            let mut exit = Exit::Done;
            for id in &self.ids {
                let path = format!("/api/approvals/{}/respond", part(id));
                let line = match client.post(&path, &self.body).await {
                    Ok(answered) if self.json => answered.to_string(),
                    Ok(answered) => outcome(&answered),
                    Err(error) => {
                        let Some(refused) = error.refused().filter(|_| self.ids.len() > 1) else {
                            return Err(explained(client, id, error));
                        };
                        exit = Exit::Failed;
                        let id = one_line(id);
                        writeln!(io::stderr(), "countersign: {id}: {}", one_line(&refused.detail))?;
                        continue;
                    }
                };
                writeln!(io::stdout(), "{line}")?;
            }
            Ok(exit)
        })
    }
}

/// A refusal, with the page on which a person can answer if a signed-in device is needed.
fn explained(client: &Client, id: &str, error: ClientError) -> anyhow::Error {
    let needs = error.refused().is_some_and(|refused| refused.kind == "needs-device");
    let page = needs.then(|| page_of(client, id)).flatten();
    match page {
        Some(page) => anyhow::Error::new(error).context(format!("answer at {page}")),
        None => error.into(),
    }
}

/// The page of a question, if the server has written its address into a file.
fn page_of(client: &Client, id: &str) -> Option<String> {
    let Address::Socket(socket) = client.address() else { return None };
    let server = std::fs::read_to_string(socket.with_file_name(URL)).ok()?;
    let server = one_line(server.trim().trim_end_matches('/'));
    Some(format!("{server}/approvals/{}", part(id)))
}

/// The result of an answer, on one line.
fn outcome(answered: &Value) -> String {
    let (id, state) = (field(answered, "approval_id"), field(answered, "state"));
    let (have, need) = (answered.get("have"), answered.get("need"));
    match (have, need) {
        (Some(have), Some(need)) => format!("{id}: counted, {have} of {need} agree"),
        _ => format!("{}: {}", one_line(id), one_line(state)),
    }
}

impl Watch {
    fn run(self) -> Result<Exit> {
        let client = self.server.open()?;
        block_on(async {
            let mut heard = listen(client);
            let mut known = false;
            while let Some(heard) = heard.recv().await {
                let mut out = io::stdout().lock();
                match heard {
                    Heard::Connected => known = true,
                    Heard::Event(event) if self.json => {
                        let data = without_token(event.data);
                        writeln!(out, "{}", json!({"event": event.name, "data": data}))?;
                    }
                    Heard::Event(event) => {
                        writeln!(
                            out,
                            "{}",
                            told(&event.name, &event.data, Paint::on(&io::stdout()))
                        )?;
                    }
                    // There never was a server: report that. One that was there comes back.
                    Heard::Lost(error) if !known => return Err(error.into()),
                    Heard::Lost(error) => {
                        let again = if io::stderr().is_terminal() { "; trying again" } else { "" };
                        writeln!(io::stderr(), "countersign: {error}{again}")?;
                    }
                    Heard::Refused(error) => return Err(error.into()),
                }
                out.flush()?;
            }
            Ok(Exit::Done)
        })
    }
}

/// One event, on one line.
fn told(name: &str, data: &Value, paint: Paint) -> String {
    let about = ["approval_id", "action_id", "session_id", "device_id"];
    let about = about.iter().map(|name| field(data, name)).find(|id| !id.is_empty());
    let about = one_line(about.unwrap_or("-"));
    let rest = match name {
        "approval_required" => match serde_json::from_value::<Card>(data.clone()) {
            Ok(card) => {
                let left = moment::left(&card.expires_at, now());
                let what = one_line(&card.description).into_owned();
                format!("{}, {left} left: {what}", paint.risk(card.risk_level))
            }
            Err(_) => String::new(),
        },
        "approval_voted" => match (data.get("have"), data.get("need")) {
            (Some(have), Some(need)) => format!("{have} of {need} agree"),
            _ => String::new(),
        },
        _ => {
            let said = ["state", "reason", "feedback"];
            let said = said.iter().map(|name| field(data, name)).filter(|said| !said.is_empty());
            said.map(|said| one_line(said).into_owned()).collect::<Vec<_>>().join(", ")
        }
    };
    format!("{} {about} {rest}", one_line(name)).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_never_printed() {
        let item = without_token(json!({"approval_id": "apr_1", "token": "x"}));
        assert_eq!(item, json!({"approval_id": "apr_1"}));
    }

    #[test]
    fn an_event_is_one_line_whatever_it_says() {
        let data = json!({"approval_id": "apr_1", "state": "rejected", "feedback": "no\n\x1b[2J"});
        let line = told("approval_settled", &data, Paint::Plain);
        assert_eq!(line, "approval_settled apr_1 rejected, no\\n\\u{1b}[2J");
        assert_eq!(told("halted", &json!({}), Paint::Plain), "halted -");
    }

    #[test]
    fn an_answer_that_only_counts_says_so() {
        let answered = json!({"approval_id": "apr_1", "state": "pending", "have": 1, "need": 2});
        assert_eq!(outcome(&answered), "apr_1: counted, 1 of 2 agree");
    }
}
