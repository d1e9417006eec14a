//! Timestamps as the server writes them, and their distance from now.

use std::time::Duration;

use countersign_gate::clock::{Clock as _, System, Timestamp};

/// The current time by the system clock.
pub(crate) fn now() -> Timestamp {
    System.now()
}

/// Parses a UTC timestamp: `2026-11-16T06:00:00.000Z`.
pub(crate) fn parse(text: &str) -> Option<Timestamp> {
    Timestamp::parse(text).filter(|_| text.contains('T'))
}

/// Formats a duration in at most two words: `52s`, `1m 52s`, `3h 4m`, `12d 1h`.
pub(crate) fn span(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let two =
        |large: u64, one: &str, small: u64, other: &str| format!("{large}{one} {small}{other}");
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => two(seconds / 60, "m", seconds % 60, "s"),
        3_600..86_400 => two(seconds / 3_600, "h", seconds / 60 % 60, "m"),
        _ => two(seconds / 86_400, "d", seconds / 3_600 % 24, "h"),
    }
}

/// Formats the time until a timestamp; `-` when it is over or cannot be parsed.
pub(crate) fn left(until: &str, now: Timestamp) -> String {
    match parse(until) {
        Some(until) if until > now => span(until.since(now)),
        Some(_) | None => "-".to_owned(),
    }
}

/// Formats the time since a timestamp.
pub(crate) fn ago(at: &str, now: Timestamp) -> String {
    parse(at).map_or_else(|| "-".to_owned(), |at| format!("{} ago", span(now.since(at))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_as_they_are_written() {
        for milliseconds in [0, 1, 951_782_400_000, 1_709_164_799_999, 1_794_787_200_123] {
            let at = Timestamp(milliseconds);
            assert_eq!(parse(&at.to_string()), Some(at), "{at}");
        }
        assert_eq!(parse("2026-11-16T06:00:00Z"), parse("2026-11-16T06:00:00.000Z"));
        for wrong in
            ["", "now", "2026-13-01T00:00:00Z", "2026-01-01", "2026-01-01T00:00Z", "x-x-xTx:x:xZ"]
        {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_span_is_two_words_at_most() {
        let span = |seconds| super::span(Duration::from_secs(seconds));
        assert_eq!([span(0), span(59), span(112)], ["0s", "59s", "1m 52s"]);
        assert_eq!([span(11_040), span(1_040_400)], ["3h 4m", "12d 1h"]);
    }
}
