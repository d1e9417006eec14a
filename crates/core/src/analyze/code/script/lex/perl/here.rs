//! Here-documents: a token where they are announced, their text when the line is over.

use super::super::scan::{is_word, push_part};
use super::super::{Quote, Scan};
use super::quote::interpolated;

/// A here-document whose text begins on the next line.
pub(super) struct Here {
    end: String,
    raw: bool,
    token: usize,
}

pub(super) fn here(scan: &mut Scan<'_>) -> Option<Here> {
    let rest = scan.rest().strip_prefix("<<")?;
    let indented = rest.starts_with('~');
    let rest = rest.strip_prefix('~').unwrap_or(rest);
    let quote = rest.chars().next().filter(|char| matches!(char, '"' | '\'' | '`'));
    let inner = quote.map_or(rest, |quote| rest.strip_prefix(quote).unwrap_or(rest));
    let length = match quote {
        Some(quote) => inner.lines().next()?.find(quote)?,
        None => inner.bytes().take_while(|byte| is_word(*byte)).count(),
    };
    let end = inner.get(..length).filter(|end| !end.is_empty() || quote.is_some())?;
    if quote.is_none() && end.starts_with(|char: char| char.is_ascii_digit()) {
        return None;
    }
    let start = scan.at;
    scan.advance(2 + usize::from(indented) + length + if quote.is_some() { 2 } else { 0 });
    let kind = if quote == Some('`') { Quote::Command } else { Quote::Plain };
    scan.push_text(Vec::new(), kind, start);
    Some(Here { end: end.to_owned(), raw: quote == Some('\''), token: scan.count() - 1 })
}

pub(super) fn here_text(scan: &mut Scan<'_>, here: &Here) {
    let (mut parts, mut text) = (Vec::new(), String::new());
    loop {
        let line_end = scan.rest().find('\n').unwrap_or(scan.rest().len());
        if scan.is_done() {
            scan.mark_broken();
            break;
        }
        if scan.slice(scan.at, scan.at + line_end).trim() == here.end.trim() {
            scan.advance(line_end);
            break;
        }
        let stop = scan.at + line_end;
        while scan.at < stop {
            match scan.peek() {
                Some(b'$' | b'@') if !here.raw && interpolated(scan, &mut parts, &mut text) => {}
                Some(b'\\') if !here.raw => {
                    scan.advance(1);
                    scan.escape(&mut text);
                }
                _ => text.extend(scan.take()),
            }
        }
        if scan.peek() == Some(b'\n') {
            text.push('\n');
            scan.advance(1);
        }
    }
    push_part(&mut parts, &mut text);
    scan.fill(here.token, parts);
}
