//! `countersign watch`: pending questions on one screen, answered with one key.

use std::io::{self, IsTerminal as _};
use std::panic;
use std::thread;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use countersign_wire::{
    AnswerBody, Answered, ApprovalCard, ApprovalState, Halted, List, Scope, path,
};
use ratatui::crossterm::event::{
    self, Event as Typed, KeyCode, KeyEvent, KeyEventKind, KeyModifiers,
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::client::{Client, ClientError, Heard, Server, block_on, listen};
use crate::exit::Exit;
use crate::moment::now;
use crate::show::Paint;

mod draw;
mod model;

use model::{Choice, Input, Key, Model, Request};

/// The interval at which the countdown is redrawn.
const TICK: Duration = Duration::from_millis(250);
/// The interval at which the key reader checks whether it should stop.
const LISTENS: Duration = Duration::from_millis(100);

/// Answer questions on one screen, as they arrive
///
/// Keys: j/k move, a approve, r reject, s approve for the session, h halt everything, ? help,
/// q quit.
#[derive(Debug, Args)]
pub(crate) struct Watch {
    #[command(flatten)]
    server: Server,
}

impl Watch {
    pub(super) fn run(self) -> Result<Exit> {
        if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
            bail!("`watch` needs a terminal; `countersign approvals watch` prints lines instead");
        }
        let client = self.server.open()?;
        let paint = Paint::on(&io::stdout());
        block_on(async {
            // Report a server that cannot be reached or refuses before the screen is taken over.
            client.get(path::ME).await?;
            let screen = Screen::open()?;
            let ended = watch(client, paint, screen).await;
            Screen::close();
            ended
        })
    }
}

/// The terminal in raw mode, until it is restored.
struct Screen(ratatui::DefaultTerminal);

impl Screen {
    fn open() -> Result<Self> {
        // Restore the terminal before a panic is reported.
        let tell = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            Self::close();
            tell(info);
        }));
        let terminal = ratatui::try_init()?;
        Ok(Self(terminal))
    }

    fn close() {
        let _ = ratatui::try_restore();
    }
}

async fn watch(client: Client, paint: Paint, mut screen: Screen) -> Result<Exit> {
    let mut heard = listen(client.clone());
    let (inputs, mut input) = unbounded_channel();
    read_keys(inputs.clone());
    let mut ticks = tokio::time::interval(TICK);
    let mut model = Model::new(client.address().to_string(), now());
    let terminated = super::serve::stopped();
    tokio::pin!(terminated);
    loop {
        screen.0.draw(|frame| draw::draw(frame, &model, now(), paint))?;
        let taken = tokio::select! {
            input = next(&mut input) => input,
            _ = ticks.tick() => Input::Tick,
            () = &mut terminated => return Ok(Exit::Done),
            heard = heard.recv() => match heard {
                Some(Heard::Connected) => Input::Connected,
                Some(Heard::Event(event)) => Input::Event(event),
                Some(Heard::Lost(error)) => Input::Lost(error.to_string()),
                Some(Heard::Refused(error)) => return Err(error.into()),
                None => return Ok(Exit::Done),
            },
        };
        for request in model.take(taken, now()) {
            if request == Request::Quit {
                return Ok(Exit::Done);
            }
            tokio::spawn(ask(client.clone(), request, inputs.clone()));
        }
    }
}

async fn next(input: &mut UnboundedReceiver<Input>) -> Input {
    // We hold a sender, so the channel never closes.
    input.recv().await.unwrap_or(Input::Tick)
}

/// Reads keys on a thread of its own, as long as the channel is open.
fn read_keys(to: UnboundedSender<Input>) {
    thread::spawn(move || {
        while !to.is_closed() {
            let pressed = match event::poll(LISTENS) {
                Ok(true) => event::read().ok().and_then(|typed| key(&typed)),
                Ok(false) => None,
                // The terminal is gone.
                Err(_) => Some(Key::Interrupt),
            };
            if let Some(key) = pressed
                && to.send(Input::Key(key)).is_err()
            {
                return;
            }
        }
    });
}

fn key(typed: &Typed) -> Option<Key> {
    let Typed::Key(KeyEvent { code, modifiers, kind, .. }) = typed else { return None };
    // Ignore repeats of a key that is held down.
    if *kind != KeyEventKind::Press {
        return None;
    }
    let control = modifiers.contains(KeyModifiers::CONTROL);
    match code {
        KeyCode::Char('c' | 'd') if control => Some(Key::Interrupt),
        KeyCode::Char(_) if control || modifiers.contains(KeyModifiers::ALT) => None,
        KeyCode::Char(char) => Some(Key::Char(*char)),
        KeyCode::Up => Some(Key::Up),
        KeyCode::Down => Some(Key::Down),
        KeyCode::PageUp => Some(Key::PageUp),
        KeyCode::PageDown => Some(Key::PageDown),
        KeyCode::Enter => Some(Key::Enter),
        KeyCode::Esc => Some(Key::Escape),
        KeyCode::Backspace => Some(Key::Backspace),
        _ => None,
    }
}

/// Carries out a request of the model, and sends the result back.
async fn ask(client: Client, request: Request, to: UnboundedSender<Input>) {
    let said = match request {
        Request::Quit => return,
        Request::Look => match look(&client).await {
            Ok((cards, halted)) => {
                let _ = to.send(Input::Halted(halted));
                Input::Waiting(cards)
            }
            Err(error) => Input::Replied { id: None, said: Err(error.to_string()) },
        },
        Request::Halt => {
            let halted = client.call(path::HALT).await;
            let said = halted.map(|_| "halted".to_owned()).map_err(|error| error.to_string());
            Input::Replied { id: None, said }
        }
        Request::Answer { id, say } => {
            let said = answer(&client, &id, &say).await.map_err(|error| error.to_string());
            Input::Replied { id: Some(id), said }
        }
    };
    let _ = to.send(said);
}

async fn look(client: &Client) -> Result<(Vec<ApprovalCard>, bool), ClientError> {
    let query = [("state", ApprovalState::Pending.as_str().to_owned())];
    let page: List<ApprovalCard> = client.read(&path::with_query(path::APPROVALS, &query)).await?;
    let Halted { halted } = client.read(path::HALT).await?;
    Ok((page.items, halted))
}

async fn answer(client: &Client, id: &str, say: &Choice) -> Result<String, ClientError> {
    let answer = match say {
        Choice::Once => AnswerBody::yes(Scope::Once),
        Choice::Session => AnswerBody::yes(Scope::Session),
        Choice::No { feedback } => {
            let feedback = Some(feedback.trim()).filter(|feedback| !feedback.is_empty());
            AnswerBody::no(feedback.map(str::to_owned))
        }
    };
    let path = path::of(path::APPROVAL_RESPOND, &[id]);
    let answered: Answered = client.send_to(&path, &answer).await?;
    Ok(match answered.counted() {
        Some((have, need)) => format!("{id}: counted, {have} of {need} agree"),
        None => format!("{id}: {}", answered.state.map_or("", ApprovalState::as_str)),
    })
}
