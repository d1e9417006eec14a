//! The inbox: every question that waits for a person, by session; and one question on its own.

use askama::Template;
use axum::extract::State;
use axum::response::Html;
use countersign_gate::gate::Card;
use countersign_gate::id::{ApprovalId, SessionId};

use crate::app::App;
use crate::body::Path;
use crate::console::Frame;
use crate::console::card::{CardView, Names, highlight_differences};
use crate::console::piece::{How, Piece, plain};
use crate::error::Problem;
use crate::html::show;
use crate::route::{Route, page};

/// More cards than anybody looks at on one page.
const MOST_CARDS: usize = 50;

pub(super) fn routes() -> Vec<Route> {
    vec![
        page("/", "inbox").says("The questions waiting for you.").to(inbox),
        page("/approvals/{id}", "approval").says("One question, with everything in it.").to(one),
    ]
}

#[derive(Template)]
#[template(path = "inbox.html")]
struct Inbox {
    frame: Frame,
    sessions: Vec<SessionCards>,
    /// The number of waiting questions beyond the ones shown.
    more: usize,
    /// The ids of questions that were tampered with in the database.
    damaged: Vec<String>,
}

/// The questions of one agent in one session.
struct SessionCards {
    id: Option<String>,
    title: Vec<Piece>,
    agent: String,
    groups: Vec<Group>,
}

/// Questions of one kind, which can be answered together: the same action, stopped by the same
/// rules.
struct Group {
    cards: Vec<CardView>,
}

impl Group {
    /// Reports whether all of them can be answered at once: each has been shown in full.
    fn together(&self) -> bool {
        self.cards.len() > 1 && self.cards.iter().all(|card| !card.cut && card.token.is_some())
    }
}

async fn inbox(State(app): State<App>, frame: Frame) -> Result<Html<String>, Problem> {
    let frame = frame.on("inbox");
    let waiting = app.gate.waiting_first(&frame.person, MOST_CARDS).await?;
    let more = waiting.all.saturating_sub(waiting.cards.len());
    let names = Names::of(&app, &frame.person, frame.t, &waiting.cards).await?;
    let mut sessions = Vec::new();
    for ((session, _), cards) in by(waiting.cards, |card| (card.session.clone(), card.key.clone()))
    {
        let title = title(&app, &frame, session.as_ref()).await;
        let agent = cards.first().map(|card| names.asker(card)).unwrap_or_default();
        let groups = by(cards, |card| (card.action.clone(), card.rules.clone())).into_iter().map(
            |(_, cards)| {
                let mut cards: Vec<_> = cards.into_iter().map(|card| names.brief(card)).collect();
                if cards.len() > 1 {
                    highlight_differences(&mut cards);
                }
                let size = cards.len();
                // The highlighted differences depend on the other cards of the group.
                for card in &mut cards {
                    card.rev = format!("{}-{size}", card.rev);
                }
                Group { cards }
            },
        );
        let id = session.map(|id| id.to_string());
        sessions.push(SessionCards { id, title, agent, groups: groups.collect() });
    }
    show(&Inbox { frame, sessions, more, damaged: waiting.damaged })
}

/// The title of a session: the task of its agent.
async fn title(app: &App, frame: &Frame, session: Option<&SessionId>) -> Vec<Piece> {
    let Some(id) = session else { return plain(&frame.t.say("inbox.no-session")) };
    let task = match app.gate.session(&frame.person, id).await {
        Ok(session) => session.plan.task,
        // A person who is asked to agree may lack the right to see the session itself.
        Err(_) => None,
    };
    task.map_or_else(|| plain(&frame.t.about("inbox.session", id)), |task| plain(&task))
}

/// Groups a list by a key, in the order in which the keys first occur.
fn by<K: PartialEq>(cards: Vec<Card>, key: impl Fn(&Card) -> K) -> Vec<(K, Vec<Card>)> {
    let mut parts: Vec<(K, Vec<Card>)> = Vec::new();
    for card in cards {
        let key = key(&card);
        match parts.iter_mut().find(|(known, _)| *known == key) {
            Some((_, part)) => part.push(card),
            None => parts.push((key, vec![card])),
        }
    }
    parts
}

#[derive(Template)]
#[template(path = "approval.html")]
struct One {
    frame: Frame,
    card: CardView,
}

async fn one(
    State(app): State<App>,
    frame: Frame,
    Path(id): Path<ApprovalId>,
) -> Result<Html<String>, Problem> {
    let frame = frame.on("approval");
    let cards = vec![app.gate.card(&frame.person, &id).await?];
    let names = Names::of(&app, &frame.person, frame.t, &cards).await?;
    let card = cards.into_iter().next().map(|card| names.whole(card));
    show(&One { card: card.ok_or_else(Problem::not_found)?, frame })
}
