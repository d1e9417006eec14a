//! The texts that leave a browser.

use countersign_wire::work::Output;

/// Keeps at most so many bytes of a text: half from its start, half from its end.
pub(super) fn kept(text: &str, bytes: u32) -> Output {
    let most = usize::try_from(bytes).unwrap_or(usize::MAX);
    if text.len() <= most {
        return Output { head: text.to_owned(), ..Output::EMPTY };
    }
    let half = most / 2;
    let (head, rest) = text.split_at(text.floor_char_boundary(half));
    let (_, tail) = rest.split_at(rest.ceil_char_boundary(rest.len().saturating_sub(half)));
    let left_out = text.len().saturating_sub(head.len()).saturating_sub(tail.len());
    Output {
        head: head.to_owned(),
        tail: tail.to_owned(),
        left_out: u64::try_from(left_out).unwrap_or(u64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_keeps_its_start_and_its_end() {
        let output = kept("äbcdefghijkö", 8);
        assert_eq!(
            (output.head.as_str(), output.tail.as_str(), output.left_out),
            ("äbc", "jkö", 6)
        );
        assert_eq!(kept("short", 8).head, "short");
    }
}
