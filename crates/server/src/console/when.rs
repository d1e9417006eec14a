//! Points in time and durations, in words.

use countersign_gate::clock::Timestamp;

use crate::html::Text;

/// The time since an event, in words.
pub(crate) fn ago(t: Text, at: Timestamp, now: Timestamp) -> String {
    let seconds = now.since(at).as_secs();
    match seconds {
        0..60 => t.say("when.now").into_owned(),
        60..3_600 => t.count("when.minutes", seconds / 60),
        3_600..86_400 => t.count("when.hours", seconds / 3_600),
        _ => t.count("when.days", seconds / 86_400),
    }
}

/// The time that is left: `4:59`.
pub(crate) fn left(until: Timestamp, now: Timestamp) -> String {
    let seconds = until.since(now).as_secs();
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes}:{seconds:02}")
    }
}

/// A timestamp as tables show it: to the second, in UTC.
pub(crate) fn moment(at: Timestamp) -> String {
    let text = at.to_string();
    match text.split_once('T') {
        Some((day, rest)) => format!("{day} {}", rest.get(..8).unwrap_or(rest)),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_told_in_words_and_digits() {
        let at = |seconds: i64| Timestamp(seconds * 1_000);
        assert_eq!(left(at(299), at(0)), "4:59");
        assert_eq!(left(at(3_661), at(0)), "1:01:01");
        assert_eq!(left(at(0), at(10)), "0:00", "what is over has nothing left");
        assert_eq!(moment(at(86_400)), "1970-01-02 00:00:00");
        assert_eq!(ago(Text::ENGLISH, at(0), at(7_300)), "2 hours ago");
    }
}
