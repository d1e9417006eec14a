//! The terminal the gate runs in: a card for every question, and a prompt when a person is there.
//!
//! ```text
//! Required ──► shown, asked ──y──► Desk: approve
//!                  │    │───n──► Desk: reject
//!                  │    └─ anything else, end of input ──► left open, for another device or the clock
//!                  └──Settled──► the next question; the line being typed is thrown away
//! ```
//!
//! One question is asked at a time, and a line answers only the question that was on the screen
//! while it was typed: a `y` meant for one must never approve the next. So a line that was begun
//! under another question, or comes sooner than anybody can read, is discarded. A question that is
//! left open here can still be answered elsewhere, until it expires.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, BufRead, BufReader, IsTerminal as _, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use countersign_core::RiskLevel;
use serde::Deserialize;

use super::{
    AnswerSink, Answered, Channel, ChannelAnswer, ChannelError, ChannelKind, Message, Notice,
    Opened, SendError, Sender, text,
};
use crate::approval::Answer;
use crate::clock::{Clock, Timestamp};

const NAME: &str = "terminal";
const MOST_LINE: usize = 1_000;
const MOST_DETAILS: usize = 20;
const MOST_TYPED: u64 = 1_024;
/// The shortest time in which a person can read a question.
const QUICKEST: Duration = Duration::from_millis(500);

/// The settings of the terminal.
#[derive(Debug, Clone, Copy, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "TerminalChannel"))]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// True when questions can be answered here.
    #[serde(default)]
    pub ask: bool,
}

impl ChannelKind for Settings {
    fn check(&self) -> Result<(), &'static str> {
        Ok(())
    }

    fn open(
        self,
        clock: Arc<dyn Clock>,
        answers: Arc<dyn AnswerSink>,
    ) -> Result<Opened, ChannelError> {
        Ok(Opened::channel(Terminal::open(self, clock, answers)))
    }
}

/// The use of colour in the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    /// No escape codes at all.
    Plain,
    /// Escape codes for a terminal.
    Colour,
}

/// The terminal in which the gate runs.
pub struct Terminal {
    shared: Arc<Shared>,
}

impl fmt::Debug for Terminal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Terminal").field("paint", &self.shared.paint).finish_non_exhaustive()
    }
}

/// The state shared by the channel and the thread that reads lines.
struct Shared {
    screen: Mutex<Screen>,
    paint: Paint,
    clock: Arc<dyn Clock>,
    answers: Arc<dyn AnswerSink>,
}

struct Screen {
    out: Box<dyn Write + Send>,
    /// True while lines are read.
    asks: bool,
    /// The open questions; the first is the one being asked.
    open: VecDeque<Notice>,
    asked_at: Timestamp,
    /// True when the question changed while somebody may have been typing.
    stale: bool,
}

impl Terminal {
    /// Uses standard error and, for answers, standard input. Questions are asked only if both are
    /// terminals: a pipe is not a person.
    #[must_use]
    pub fn open(settings: Settings, clock: Arc<dyn Clock>, answers: Arc<dyn AnswerSink>) -> Self {
        let paint = match std::env::var_os("NO_COLOR") {
            None if io::stderr().is_terminal() => Paint::Colour,
            None | Some(_) => Paint::Plain,
        };
        let person = io::stderr().is_terminal() && io::stdin().is_terminal();
        let input: Option<Box<dyn BufRead + Send>> = (settings.ask && person)
            .then(|| Box::new(BufReader::new(io::stdin())) as Box<dyn BufRead + Send>);
        Self::new(Box::new(io::stderr()), input, paint, clock, answers)
    }

    /// Uses any writer and, for answers, any reader.
    #[must_use]
    pub fn new(
        out: Box<dyn Write + Send>,
        input: Option<Box<dyn BufRead + Send>>,
        paint: Paint,
        clock: Arc<dyn Clock>,
        answers: Arc<dyn AnswerSink>,
    ) -> Self {
        let screen = Screen {
            out,
            asks: input.is_some(),
            open: VecDeque::new(),
            asked_at: Timestamp(0),
            stale: false,
        };
        let shared = Arc::new(Shared { screen: Mutex::new(screen), paint, clock, answers });
        if let Some(input) = input {
            let reader = Arc::clone(&shared);
            let thread = thread::Builder::new().name("terminal answers".to_owned());
            if thread.spawn(move || reader.read(input)).is_err() {
                shared.screen().asks = false;
            }
        }
        Self { shared }
    }
}

impl Channel for Terminal {
    fn name(&self) -> &str {
        NAME
    }

    fn send(&mut self, message: &Message) -> Result<(), SendError> {
        let mut screen = self.shared.screen();
        let shown = match message {
            Message::Required(notice) if !screen.asks => self.shared.card(&mut screen, notice),
            Message::Required(notice) => self.shared.queue(&mut screen, notice),
            Message::Settled { state, by, .. } => {
                let by = by.as_deref().map(|by| format!(" by {}", text::line(by)));
                let by = by.unwrap_or_default();
                writeln!(screen.out, "\n{}: {state}{by}", about(message))
                    .and_then(|()| self.shared.settle(&mut screen, message))
            }
            Message::Test => writeln!(screen.out, "This is a test."),
        };
        shown.and_then(|()| screen.out.flush()).map_err(|_| SendError::Later(None))
    }
}

impl Shared {
    fn screen(&self) -> MutexGuard<'_, Screen> {
        self.screen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn queue(&self, screen: &mut Screen, notice: &Notice) -> io::Result<()> {
        screen.open.push_back(notice.clone());
        if screen.open.len() == 1 { self.ask(screen) } else { Ok(()) }
    }

    /// Shows the first question that can still be answered.
    fn ask(&self, screen: &mut Screen) -> io::Result<()> {
        while screen.open.front().is_some_and(|open| open.expires_at <= self.clock.now()) {
            screen.open.pop_front();
        }
        let Some(notice) = screen.open.front().cloned() else { return Ok(()) };
        self.card(screen, &notice)?;
        screen.asked_at = self.clock.now();
        prompt(screen)
    }

    fn settle(&self, screen: &mut Screen, message: &Message) -> io::Result<()> {
        let first = screen.open.front().map(|open| &open.approval);
        let was_asked = first.is_some() && first == message.approval();
        screen.open.retain(|open| Some(&open.approval) != message.approval());
        if was_asked {
            screen.stale = true;
            self.ask(screen)?;
        }
        Ok(())
    }

    fn read(&self, mut input: Box<dyn BufRead + Send>) {
        let mut line = Vec::new();
        loop {
            line.clear();
            // The read is limited: a line without an end would fill the memory.
            let read = io::Read::take(&mut input, MOST_TYPED).read_until(b'\n', &mut line);
            if !matches!(read, Ok(1..)) {
                break;
            }
            // A prompt may fail on a closed terminal; the answer counts all the same.
            let _ = self.take(String::from_utf8_lossy(&line).trim());
        }
        // The input has ended: open questions stay open.
        let mut screen = self.screen();
        screen.asks = false;
        screen.open.clear();
    }

    fn take(&self, line: &str) -> io::Result<()> {
        let mut screen = self.screen();
        let changed = std::mem::take(&mut screen.stale);
        if screen.open.is_empty() {
            return Ok(());
        }
        if changed || self.clock.now().since(screen.asked_at) < QUICKEST {
            writeln!(screen.out, "Thrown away: the question above is a new one.")?;
            return prompt(&mut screen);
        }
        let Some(notice) = screen.open.pop_front() else { return Ok(()) };
        if notice.expires_at <= self.clock.now() {
            writeln!(screen.out, "Too late: nobody answered in time.")?;
            return self.ask(&mut screen);
        }
        let say = match line.to_ascii_lowercase().as_str() {
            "y" | "yes" => Answer::Approve,
            "n" | "no" => Answer::Reject,
            _ => {
                writeln!(screen.out, "Left open. It is refused if nobody answers in time.")?;
                return self.ask(&mut screen);
            }
        };
        // The gate may report the outcome before `answer` returns, so the lock must be free.
        drop(screen);
        let reply = ChannelAnswer { approval: notice.approval, say, from: Sender::Terminal };
        let answered = self.answers.answer(reply);
        let mut screen = self.screen();
        match answered {
            Ok(Answered::Settled(state)) => writeln!(screen.out, "{state}")?,
            Ok(Answered::Counted) => writeln!(screen.out, "Noted; others must answer too.")?,
            Err(reason) => writeln!(screen.out, "Not accepted: {}", text::line(&reason))?,
        }
        self.ask(&mut screen)
    }

    fn card(&self, screen: &mut Screen, notice: &Notice) -> io::Result<()> {
        let bounded = |text: &str| text::cut(&text::line(text), MOST_LINE);
        let decided_on = |text: &str| text::cut(&text::line_to_decide_on(text), MOST_LINE);
        let (before, after) = match self.paint {
            Paint::Plain => ("", ""),
            Paint::Colour if notice.risk >= RiskLevel::High => ("\x1b[1;31m", "\x1b[0m"),
            Paint::Colour => ("\x1b[1;33m", "\x1b[0m"),
        };
        let left = notice.expires_at.since(self.clock.now()).as_secs();
        let out = &mut screen.out;
        writeln!(out, "\n{before}Approval needed{after} ({} risk)", notice.risk.as_str())?;
        writeln!(out, "  {}: {}", bounded(&notice.action), decided_on(&notice.description))?;
        for detail in notice.details.iter().take(MOST_DETAILS) {
            writeln!(out, "  - {}", decided_on(detail))?;
        }
        if let Some(more @ 1..) = notice.details.len().checked_sub(MOST_DETAILS) {
            writeln!(out, "  - … and {more} more")?;
        }
        if let Some(link) = text::link(notice) {
            writeln!(out, "  {}", bounded(link))?;
        }
        writeln!(out, "  {}, refused in {left} s if nobody answers", notice.approval)
    }
}

fn prompt(screen: &mut Screen) -> io::Result<()> {
    write!(screen.out, "Approve? [y/N] ")?;
    screen.out.flush()
}

fn about(message: &Message) -> &str {
    message.approval().map_or("", |approval| approval.as_str())
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender as Feed, channel};

    use super::*;
    use crate::channel::testing::{Noting, clock, notice, required, settled};
    use crate::clock::Fake;
    use crate::id::ApprovalId;

    /// The output so far.
    #[derive(Clone, Default)]
    struct Printed(Arc<Mutex<Vec<u8>>>);

    impl Printed {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }

        fn wait_for(&self, part: &str) {
            for _ in 0..10_000 {
                if self.text().contains(part) {
                    return;
                }
                thread::sleep(Duration::from_millis(1));
            }
            panic!("`{part}` is not in:\n{}", self.text());
        }
    }

    impl Write for Printed {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Lines as a person types them.
    struct Typed(Receiver<String>);

    impl io::Read for Typed {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let Ok(line) = self.0.recv() else { return Ok(0) };
            buffer[..line.len()].copy_from_slice(line.as_bytes());
            Ok(line.len())
        }
    }

    struct Bench {
        terminal: Terminal,
        printed: Printed,
        typing: Feed<String>,
        answers: Arc<Noting>,
        clock: Arc<Fake>,
    }

    fn bench(says: Result<Answered, String>) -> Bench {
        let (typing, typed) = channel();
        let (printed, answers, clock) = (Printed::default(), Noting::new(says), clock());
        let terminal = Terminal::new(
            Box::new(printed.clone()),
            Some(Box::new(BufReader::new(Typed(typed)))),
            Paint::Plain,
            clock.clone(),
            answers.clone(),
        );
        Bench { terminal, printed, typing, answers, clock }
    }

    fn another() -> Notice {
        let clock = Fake::at(crate::clock::Timestamp(0));
        let _ = ApprovalId::draw(&clock).unwrap();
        let approval = ApprovalId::draw(&clock).unwrap();
        Notice { approval, description: "another".to_owned(), ..notice() }
    }

    #[test]
    fn only_yes_approves_and_only_no_rejects() {
        for (line, say) in [
            ("y\n", Some(Answer::Approve)),
            ("YES\n", Some(Answer::Approve)),
            ("n\n", Some(Answer::Reject)),
            ("\n", None),
            ("yep\n", None),
            ("y y\n", None),
        ] {
            let mut bench = bench(Ok(Answered::Settled("done")));
            bench.terminal.send(&required()).unwrap();
            bench.clock.pass(QUICKEST);
            bench.typing.send(line.to_owned()).unwrap();
            bench.printed.wait_for(if say.is_some() { "done" } else { "Left open" });
            let replies: Vec<_> = bench.answers.replies().iter().map(|reply| reply.say).collect();
            assert_eq!(replies, Vec::from_iter(say), "{line:?}");
        }
    }

    #[test]
    fn the_end_of_input_leaves_everything_open() {
        let mut bench = bench(Ok(Answered::Counted));
        bench.terminal.send(&required()).unwrap();
        drop(bench.typing);
        while bench.terminal.shared.screen().asks {
            thread::yield_now();
        }
        bench.terminal.send(&Message::Required(another())).unwrap();
        assert!(bench.answers.replies().is_empty());
        assert!(bench.printed.text().contains("another"));
    }

    #[test]
    fn a_yes_typed_for_one_question_never_approves_the_next() {
        let mut bench = bench(Ok(Answered::Settled("approved")));
        bench.terminal.send(&required()).unwrap();
        bench.terminal.send(&Message::Required(another())).unwrap();
        assert!(!bench.printed.text().contains("another"));
        bench.terminal.send(&settled()).unwrap();
        bench.clock.pass(QUICKEST);
        bench.typing.send("y\n".to_owned()).unwrap();
        bench.printed.wait_for("Thrown away");
        assert!(bench.answers.replies().is_empty());
        bench.typing.send("y\n".to_owned()).unwrap();
        bench.printed.wait_for("] approved");
        while bench.answers.replies().is_empty() {
            thread::yield_now();
        }
        assert_eq!(bench.answers.replies()[0].approval, another().approval);
    }

    #[test]
    fn a_yes_before_any_question_and_a_late_one_count_for_nothing() {
        let mut bench = bench(Ok(Answered::Counted));
        bench.typing.send("y\n".to_owned()).unwrap();
        bench.typing.send("y\n".to_owned()).unwrap();
        bench.terminal.send(&required()).unwrap();
        assert!(bench.answers.replies().is_empty());
        bench.clock.pass(Duration::from_secs(301));
        bench.typing.send("y\n".to_owned()).unwrap();
        bench.printed.wait_for("Too late");
        assert!(bench.answers.replies().is_empty());
    }

    #[test]
    fn what_an_agent_writes_moves_no_cursor_and_shows_no_secret() {
        let mut bench = bench(Ok(Answered::Counted));
        let mut notice = notice();
        notice.description = "x\x1b[2J\rApprove? [y/N]\u{202e}".to_owned();
        notice.details = vec![format!("psql postgres://ann:{}@db/app\nforged", "hunter22")];
        bench.terminal.send(&Message::Required(notice)).unwrap();
        let text = bench.printed.text();
        assert!(!text.contains('\x1b') && !text.contains('\u{202e}') && !text.contains('\r'));
        assert!(!text.contains("hunter22") && !text.contains("\nforged"), "{text}");
        assert!(text.contains(r"\u{1b}[2J"), "{text}");
    }

    #[test]
    fn lines_typed_ahead_answer_nothing_that_was_not_read() {
        let mut bench = bench(Ok(Answered::Settled("approved")));
        bench.terminal.send(&required()).unwrap();
        bench.terminal.send(&Message::Required(another())).unwrap();
        bench.clock.pass(QUICKEST);
        bench.typing.send("y\ny\n".to_owned()).unwrap();
        bench.printed.wait_for("Thrown away");
        let replies = bench.answers.replies();
        assert_eq!((replies.len(), &replies[0].approval), (1, &notice().approval));
    }

    #[test]
    fn a_refused_answer_is_said_to_be_so() {
        let mut bench = bench(Err("not you".to_owned()));
        bench.terminal.send(&required()).unwrap();
        bench.clock.pass(QUICKEST);
        bench.typing.send("y\n".to_owned()).unwrap();
        bench.printed.wait_for("Not accepted: not you");
    }
}
