//! Draws the model. Nothing is conveyed by colour alone.

use countersign_core::RiskLevel;
use countersign_gate::clock::Timestamp;
use countersign_wire::ApprovalCard;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Block, Borders, Clear, Paragraph, Wrap};

use super::model::{Link, Mode, Model};
use crate::card::Shown as _;
use crate::moment;
use crate::show::{Paint, cut, one_line};

/// The width from which the card is drawn beside the list.
const BESIDE: u16 = 90;
const MOST_LISTED: u16 = 6;
const HELP: &str = "\
j k ↓ ↑      next question, the one before
space PgUp   scroll the card
a            approve, this once
s            approve, this very action for the session
r            reject: type why, Enter sends, Esc cancels
h            halt everything: type yes
q Esc        leave; what waits goes on waiting

Silence is a refusal: a question nobody answers in
time is refused. A key that comes just after the card
changed answers nothing.";

/// Draws the whole screen.
pub(super) fn draw(frame: &mut Frame<'_>, model: &Model, now: Timestamp, paint: Paint) {
    let pen = Pen(paint);
    let alarm = banner(model);
    let [head, warn, body, note, keys] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(u16::from(alarm.is_some())),
        Constraint::Min(3),
        Constraint::Length(1),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    let waiting = match model.cards.len() {
        0 => "nothing waits".to_owned(),
        1 => "1 question waits".to_owned(),
        many => format!("{many} questions wait"),
    };
    let title = format!("countersign: {waiting} · {}", one_line(&model.server));
    frame.render_widget(Paragraph::new(title).style(Pen::bold()), head);
    if let Some(text) = alarm {
        frame.render_widget(Paragraph::new(text).style(pen.alarm()), warn);
    }
    draw_body(frame, body, model, now, pen);
    frame.render_widget(Paragraph::new(model.note().unwrap_or_default()), note);
    frame.render_widget(bottom(model), keys);
    if model.mode == Mode::Help {
        help(frame);
    }
}

/// The alarm line, if there is one.
fn banner(model: &Model) -> Option<String> {
    match &model.link {
        Link::Offline(why) => Some(format!("OFFLINE, trying again: {why}")),
        Link::Connecting => Some("connecting…".to_owned()),
        Link::Online if model.halted => {
            Some("HALTED: nothing is allowed; resume with `countersign halt --resume`".to_owned())
        }
        Link::Online => None,
    }
}

fn draw_body(frame: &mut Frame<'_>, area: Rect, model: &Model, now: Timestamp, pen: Pen) {
    if model.cards.is_empty() {
        let text = "No questions are waiting. New ones appear here as agents ask them.";
        frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: true }), area);
        return;
    }
    let [left, right] = if area.width >= BESIDE {
        let list = (area.width / 3).clamp(30, 60);
        Layout::horizontal([Constraint::Length(list), Constraint::Min(20)]).areas(area)
    } else {
        let rows = u16::try_from(model.cards.len()).unwrap_or(MOST_LISTED).min(MOST_LISTED);
        let rows = rows.min(area.height.saturating_sub(4) / 2).max(1);
        Layout::vertical([Constraint::Length(rows), Constraint::Min(3)]).areas(area)
    };
    list(frame, left, model, now, pen);
    if let Some(card) = model.current() {
        draw_card(frame, right, model, card, now, pen);
    }
}

fn list(frame: &mut Frame<'_>, area: Rect, model: &Model, now: Timestamp, pen: Pen) {
    let height = usize::from(area.height).max(1);
    let first = model.selected.saturating_sub(height.saturating_sub(1));
    let rows = model.cards.iter().enumerate().skip(first).take(height).map(|(at, card)| {
        let mark = if at == model.selected { "> " } else { "  " };
        let left = left(card, now);
        let risk = format!("{:<8} ", card.risk_level.as_str());
        // The columns of the cursor, the risk and the remaining time.
        let room = usize::from(area.width).saturating_sub(2 + 9 + 7).max(4);
        let what = cut(&one_line(&card.description), room.saturating_sub(2)).into_owned();
        let line = Line::from(vec![
            Span::raw(mark),
            Span::styled(risk, pen.risk(card.risk_level)),
            Span::raw(format!("{left:>6} ")),
            Span::raw(what),
        ]);
        if at == model.selected { line.style(Pen::bold()) } else { line }
    });
    frame.render_widget(Paragraph::new(rows.collect::<Vec<_>>()), area);
}

fn left(card: &ApprovalCard, now: Timestamp) -> String {
    moment::left(&card.expires_at, now)
}

fn draw_card(
    frame: &mut Frame<'_>,
    area: Rect,
    model: &Model,
    card: &ApprovalCard,
    now: Timestamp,
    pen: Pen,
) {
    let state = if model.answering.contains(&card.approval_id) {
        "answering…".to_owned()
    } else {
        format!("refused in {}", left(card, now))
    };
    let title =
        format!(" {} risk · {} · {state} ", card.risk_level.as_str(), one_line(&card.action));
    let block =
        Block::new().borders(Borders::TOP).title(Span::styled(title, pen.risk(card.risk_level)));
    let mut text = Text::default();
    for part in card.parts() {
        text.push_line(Line::styled(part.title, Pen::bold()));
        for line in part.lines {
            text.push_line(Line::raw(format!("  {line}")));
        }
    }
    text.push_line(Line::raw(one_line(&card.approval_id).into_owned()));
    let hidden = rows(&text, area.width).saturating_sub(usize::from(model.scroll));
    let block = if hidden > usize::from(area.height.saturating_sub(1)) {
        block.title_top(Line::raw(" more: space ").right_aligned())
    } else {
        block
    };
    let card = Paragraph::new(text).wrap(Wrap { trim: false }).scroll((model.scroll, 0));
    frame.render_widget(card.block(block), area);
}

/// The least number of rows that a text takes when long lines are wrapped.
fn rows(text: &Text<'_>, width: u16) -> usize {
    let width = usize::from(width).max(1);
    text.lines.iter().map(|line| line.width().div_ceil(width).max(1)).sum()
}

fn bottom(model: &Model) -> Paragraph<'static> {
    let text = match &model.mode {
        Mode::Looking | Mode::Help => {
            "a approve  r reject  s session  j/k  h halt  ? help  q quit".to_owned()
        }
        Mode::Feedback { text, .. } => format!("why not? {}_", one_line(text)),
        Mode::Halting { text } => format!("halt? type yes: {}_", one_line(text)),
    };
    match model.mode {
        Mode::Looking | Mode::Help => Paragraph::new(text).style(Pen::dim()),
        Mode::Feedback { .. } | Mode::Halting { .. } => Paragraph::new(text).style(Pen::bold()),
    }
}

fn help(frame: &mut Frame<'_>) {
    let all = frame.area();
    let height =
        u16::try_from(HELP.lines().count()).unwrap_or(12).saturating_add(2).min(all.height);
    let width = 58.min(all.width);
    let area = Rect {
        x: all.x.saturating_add(all.width.saturating_sub(width) / 2),
        y: all.y.saturating_add(all.height.saturating_sub(height) / 2),
        width,
        height,
    };
    let block = Block::bordered().title(" keys; any key closes ");
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(HELP).block(block), area);
}

/// The styles, with or without colour.
#[derive(Debug, Clone, Copy)]
struct Pen(Paint);

impl Pen {
    const fn bold() -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    const fn dim() -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    fn alarm(self) -> Style {
        self.coloured(Color::Red).add_modifier(Modifier::REVERSED)
    }

    fn risk(self, risk: RiskLevel) -> Style {
        match risk {
            RiskLevel::None | RiskLevel::Low => self.coloured(Color::Green),
            RiskLevel::Medium | RiskLevel::High => self.coloured(Color::Yellow),
            RiskLevel::Critical => self.coloured(Color::Red).add_modifier(Modifier::BOLD),
        }
    }

    const fn coloured(self, colour: Color) -> Style {
        match self.0 {
            Paint::Plain => Style::new(),
            Paint::Colour => Style::new().fg(colour),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::fs;
    use std::path::Path;

    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::*;
    use crate::card::testing::card;
    use crate::command::watch::model::{Input, Key};

    const NOW: Timestamp = Timestamp(1_000_000);

    fn model() -> Model {
        let mut model = Model::new("http://127.0.0.1:8720".to_owned(), NOW);
        let until = Timestamp(NOW.0 + 112_000);
        let mut drop = card("apr_2", "psql -c 'DROP TABLE orders'", until);
        drop.risk_level = RiskLevel::Critical;
        let cards = vec![card("apr_1", "git push --force origin main", until), drop];
        model.take(Input::Connected, NOW);
        model.take(Input::Waiting(cards), NOW);
        model
    }

    fn screen(model: &Model, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, model, NOW, Paint::Plain)).unwrap();
        let buffer = terminal.backend().buffer().clone();
        let mut text = String::new();
        for row in buffer.content().chunks(usize::from(width)) {
            let row: String = row.iter().map(ratatui::buffer::Cell::symbol).collect();
            writeln!(text, "{}", row.trim_end()).unwrap();
        }
        text
    }

    /// Compares with a file of `tests/screens/`, which `BLESS=1` rewrites.
    fn check(name: &str, real: &str) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/screens").join(name);
        if std::env::var_os("BLESS").is_some() {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, real).unwrap();
        }
        let written = fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(written, real, "BLESS=1 rewrites {name}");
    }

    #[test]
    fn a_small_and_a_large_screen_show_the_same_things() {
        let mut model = model();
        check("60x20.txt", &screen(&model, 60, 20));
        check("120x40.txt", &screen(&model, 120, 40));
        model.take(Input::Lost("the server ended the connection".to_owned()), NOW);
        model.take(Input::Key(Key::Char('?')), NOW);
        check("help-60x20.txt", &screen(&model, 60, 20));
    }

    #[test]
    fn what_matters_is_spelled_and_not_only_coloured() {
        let mut model = model();
        for (width, height) in [(60, 20), (80, 24), (120, 40), (200, 50)] {
            let text = screen(&model, width, height);
            for word in ["high", "critical", "1m 52s", "git push --force origin main", "> high"] {
                assert!(text.contains(word), "{word} at {width}x{height}:\n{text}");
            }
        }
        model.take(Input::Halted(true), NOW);
        assert!(screen(&model, 60, 20).contains("HALTED"));
        model.take(Input::Lost("gone".to_owned()), NOW);
        assert!(screen(&model, 60, 20).contains("OFFLINE"));
    }

    #[test]
    fn no_screen_is_too_small_to_draw_on() {
        let mut model = model();
        for mode in ['?', 'h'] {
            for (width, height) in [(1, 1), (5, 3), (20, 5), (10, 40), (300, 2)] {
                screen(&model, width, height);
            }
            model.take(Input::Key(Key::Char(mode)), NOW);
        }
    }
}
