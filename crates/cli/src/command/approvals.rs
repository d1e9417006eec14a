//! `countersign approvals`: the questions that wait for a person, and their answers.

use std::io::{self, IsTerminal as _, Write as _};

use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum};
use countersign_wire::{
    AnswerBody, Answered, ApprovalCard, ApprovalState, Event as Live, Scope, path, problem,
};
use serde_json::json;

use crate::card::Shown as _;
use crate::client::{Address, Client, ClientError, Event, Heard, Server, block_on, listen};
use crate::data::URL;
use crate::exit::Exit;
use crate::listing::{self, OwnerFilter, part, print_json};
use crate::moment::{self, now};
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
    whose: OwnerFilter,
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
        let found = block_on(listing::pages(&client, path::APPROVALS, &query, self.limit))?;
        found.say_if_cut()?;
        // The token answers a question, and the reader of this output may be a program.
        let cards = found.items.into_iter().map(ApprovalCard::without_token);
        let cards: Vec<_> = cards.collect();
        if self.json {
            return print_json(&json!(cards));
        }
        let now = now();
        let mut table = Table::new(&["ID", "STATE", "RISK", "LEFT", "ACTION", "WHAT"]);
        for card in &cards {
            let left = match card.state {
                ApprovalState::Pending => moment::left(&card.expires_at, now),
                _ => "-".to_owned(),
            };
            table.row([
                &card.approval_id,
                card.state.as_str(),
                card.risk_level.as_str(),
                &left,
                &card.action,
                &card.description,
            ]);
        }
        let none =
            if self.state == State::Pending { "no questions are waiting for you" } else { "none" };
        let mut out = io::stdout().lock();
        table.write(&mut out, Paint::on(&io::stdout()), none)?;
        Ok(Exit::Done)
    }
}

impl Show {
    fn run(self) -> Result<Exit> {
        let client = self.server.open()?;
        let path = path::of(path::APPROVAL, &[&self.id]);
        let card: ApprovalCard = block_on(async { Ok(client.read(&path).await?) })?;
        let card = card.without_token();
        if self.json {
            return print_json(&json!(card));
        }
        card.write(&mut io::stdout().lock(), Paint::on(&io::stdout()), now())?;
        Ok(Exit::Done)
    }
}

/// One answer to several questions.
struct Answers {
    ids: Vec<String>,
    answer: AnswerBody,
    json: bool,
}

impl Approve {
    fn run(self) -> Result<Exit> {
        let scope = match self.scope {
            Reach::Once => Scope::Once,
            Reach::Session => Scope::Session,
            Reach::Always => Scope::Always,
            Reach::Everywhere => Scope::Everywhere,
        };
        let answer = AnswerBody { feedback: self.feedback, ..AnswerBody::yes(scope) };
        Answers { ids: self.ids, answer, json: self.json }.give(&self.server.open()?)
    }
}

impl Reject {
    fn run(self) -> Result<Exit> {
        let answer = AnswerBody::no(self.feedback);
        Answers { ids: self.ids, answer, json: self.json }.give(&self.server.open()?)
    }
}

impl Answers {
    /// Answers each question by itself: one that cannot be answered does not affect the others.
    fn give(self, client: &Client) -> Result<Exit> {
        block_on(async {
            let mut exit = Exit::Done;
            for id in &self.ids {
                let path = path::of(path::APPROVAL_RESPOND, &[id]);
                let answered: Result<Answered, _> = client.send_to(&path, &self.answer).await;
                let line = match answered {
                    Ok(answered) if self.json => json!(answered).to_string(),
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
    let needs = error.refused().is_some_and(|refused| refused.kind == problem::NEEDS_DEVICE);
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
fn outcome(answered: &Answered) -> String {
    let id = one_line(&answered.approval_id);
    match answered.counted() {
        Some((have, need)) => format!("{id}: counted, {have} of {need} agree"),
        None => format!("{id}: {}", answered.state.map_or("", ApprovalState::as_str)),
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
                        let mut data = event.data;
                        // The reader of this output may be a program.
                        data.as_object_mut().and_then(|fields| fields.remove("token"));
                        writeln!(out, "{}", json!({"event": event.name, "data": data}))?;
                    }
                    Heard::Event(event) => {
                        writeln!(out, "{}", told(&event, Paint::on(&io::stdout())))?;
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
fn told(event: &Event, paint: Paint) -> String {
    let (about, rest) = event.known().map(|event| about(event, paint)).unwrap_or_default();
    let about = about.unwrap_or_else(|| "-".to_owned());
    format!("{} {} {rest}", one_line(&event.name), one_line(&about)).trim_end().to_owned()
}

/// The id of the thing that an event is about, and what is said about it.
fn about(event: Live, paint: Paint) -> (Option<String>, String) {
    let nothing = String::new();
    match event {
        Live::ApprovalRequired(card) => {
            let left = moment::left(&card.expires_at, now());
            let what = one_line(&card.description);
            let said = format!("{}, {left} left: {what}", paint.risk(card.risk_level));
            (Some(card.approval_id), said)
        }
        Live::ApprovalVoted { approval_id, have, need, .. } => {
            (Some(approval_id), format!("{have} of {need} agree"))
        }
        Live::ApprovalSettled { approval_id, state, feedback, .. } => {
            let feedback = feedback.map(|feedback| format!(", {}", one_line(&feedback)));
            (Some(approval_id), format!("{state}{}", feedback.unwrap_or_default()))
        }
        Live::ActionAllowed { action_id, .. } | Live::ActionBegan { action_id, .. } => {
            (Some(action_id), nothing)
        }
        Live::ActionPiece { action_id, text, .. } => {
            (Some(action_id), one_line(&text).into_owned())
        }
        Live::ActionEnded { action_id, state, .. } => (Some(action_id), state.as_str().to_owned()),
        Live::ActionReported { action_id, state, .. } => {
            (Some(action_id), state.as_str().to_owned())
        }
        Live::SessionEnded { session_id, reason } => (session_id, one_line(&reason).into_owned()),
        Live::SessionStarted { session_id }
        | Live::SessionPaused { session_id }
        | Live::SessionResumed { session_id }
        | Live::SessionMode { session_id } => (session_id, nothing),
        Live::DeviceWaiting { device_id } => (Some(device_id), nothing),
        Live::SignedOut { device_id } => (device_id, nothing),
        Live::RightsChanged {} | Live::Halted {} | Live::Resumed {} | Live::Resync {} => {
            (None, nothing)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line_whatever_it_says() {
        let settled = Live::ApprovalSettled {
            approval_id: "apr_1".to_owned(),
            session_id: None,
            state: ApprovalState::Rejected,
            by: None,
            feedback: Some("no\n\x1b[2J".to_owned()),
        };
        let event = |live: &Live| Event { name: live.name().to_owned(), data: live.data() };
        let line = told(&event(&settled), Paint::Plain);
        assert_eq!(line, "approval_settled apr_1 rejected, no\\n\\u{1b}[2J");
        assert_eq!(told(&event(&Live::Halted {}), Paint::Plain), "halted -");
        let unknown = Event { name: "unheard_of".to_owned(), data: json!({}) };
        assert_eq!(told(&unknown, Paint::Plain), "unheard_of -");
    }

    #[test]
    fn an_answer_that_only_counts_says_so() {
        let answered = Answered {
            approval_id: "apr_1".to_owned(),
            accepted: true,
            state: Some(ApprovalState::Pending),
            have: Some(1),
            need: Some(2),
            asked_again: None,
            problem: None,
        };
        assert_eq!(outcome(&answered), "apr_1: counted, 1 of 2 agree");
    }
}
