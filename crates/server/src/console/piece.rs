//! Texts of agents on a page: always plain text. Invisible characters are shown by their code
//! point, and important parts are highlighted.

use countersign_core::visible::is_invisible;

/// A range of text that is shown in one style.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) text: String,
    pub(crate) how: How,
}

/// The style of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum How {
    Plain,
    /// It differs from the others of its group.
    Differs,
    /// A rule found it.
    Risky,
    /// Both.
    RiskyDiffers,
    /// An invisible character, shown by its code point.
    Ghost,
}

impl How {
    /// Combines two styles.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Risky, Self::Differs) | (Self::Differs, Self::Risky) => Self::RiskyDiffers,
            (one, other) => one.max(other),
        }
    }
}

/// A range of a text in bytes, and its style.
pub(crate) type Highlight = (usize, usize, How);

/// Splits a text at its marks and makes invisible characters visible. Where marks overlap, both
/// styles apply.
pub(crate) fn pieces(text: &str, highlights: &[Highlight]) -> Vec<Piece> {
    let mut cuts: Vec<usize> =
        highlights.iter().flat_map(|(start, end, _)| [*start, *end]).collect();
    cuts.extend([0, text.len()]);
    cuts.sort_unstable();
    cuts.dedup();
    let mut pieces = Vec::new();
    for (start, end) in cuts.iter().zip(cuts.iter().skip(1)) {
        // If a mark does not fit the text, the whole text is shown without marks.
        let Some(part) = text.get(*start..*end) else { return ghosts(text, How::Plain) };
        let over = highlights.iter().filter(|(from, to, _)| from <= start && end <= to);
        let how = over.map(|(_, _, how)| *how).fold(How::Plain, How::and);
        pieces.extend(ghosts(part, how));
    }
    pieces
}

fn ghosts(text: &str, how: How) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for char in text.chars() {
        let ghost = is_invisible(char) && char != '\n' && char != '\t';
        match pieces.last_mut() {
            Some(last) if !ghost && last.how == how => last.text.push(char),
            _ if ghost => {
                let text = format!("U+{:04X}", u32::from(char));
                pieces.push(Piece { text, how: How::Ghost });
            }
            _ => pieces.push(Piece { text: char.to_string(), how }),
        }
    }
    pieces
}

/// A text in which nothing is marked.
pub(crate) fn plain(text: &str) -> Vec<Piece> {
    pieces(text, &[])
}

/// Marks the words of each text that are not the same in all of them.
pub(crate) fn differences(texts: &[&str]) -> Vec<Vec<Highlight>> {
    let words: Vec<Vec<(usize, &str)>> = texts.iter().map(|text| words(text)).collect();
    let Some(first) = words.first() else { return Vec::new() };
    let shortest = words.iter().map(Vec::len).min().unwrap_or(0);
    let same = |from_end: bool, n: usize| {
        let at = |words: &[(usize, &str)]| {
            let index = if from_end { words.len().checked_sub(n.checked_add(1)?)? } else { n };
            words.get(index).map(|(_, word)| (*word).to_owned())
        };
        let wanted = at(first);
        words.iter().all(|words| at(words) == wanted)
    };
    let head = (0..shortest).take_while(|n| same(false, *n)).count();
    let tail = (0..shortest.saturating_sub(head)).take_while(|n| same(true, *n)).count();
    let mark = |words: &Vec<(usize, &str)>| {
        let differing = words.iter().take(words.len().saturating_sub(tail)).skip(head);
        let real = differing.filter(|(_, word)| !word.trim().is_empty());
        real.map(|(at, word)| (*at, at.saturating_add(word.len()), How::Differs)).collect()
    };
    words.iter().map(mark).collect()
}

/// Words and the text between them, each with its offset.
fn words(text: &str) -> Vec<(usize, &str)> {
    let mut words = Vec::new();
    let mut start = 0;
    let mut before: Option<bool> = None;
    for (at, char) in text.char_indices() {
        let blank = char.is_whitespace();
        if before.is_some_and(|before| before != blank) {
            words.extend(text.get(start..at).map(|word| (start, word)));
            start = at;
        }
        before = Some(blank);
    }
    words.extend(text.get(start..).filter(|word| !word.is_empty()).map(|word| (start, word)));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(pieces: &[Piece]) -> String {
        let one = |piece: &Piece| match piece.how {
            How::Plain => piece.text.clone(),
            How::Differs => format!("({})", piece.text),
            How::Risky => format!("[{}]", piece.text),
            How::RiskyDiffers => format!("[({})]", piece.text),
            How::Ghost => format!("<{}>", piece.text),
        };
        pieces.iter().map(one).collect()
    }

    #[test]
    fn what_cannot_be_seen_is_shown_by_its_number() {
        assert_eq!(shown(&plain("a\u{202e}b\u{200b}\n\tc\r")), "a<U+202E>b<U+200B>\n\tc<U+000D>");
    }

    #[test]
    fn marks_may_overlap_and_both_hold() {
        let highlights = [(0, 6, How::Differs), (3, 9, How::Risky)];
        assert_eq!(shown(&pieces("rm -rf build", &highlights)), "(rm )[(-rf)][ bu]ild");
        assert_eq!(shown(&pieces("größe", &[(0, 3, How::Risky)])), "größe", "inside a letter");
        assert_eq!(shown(&pieces("ab", &[(1, 9, How::Risky)])), "ab", "beyond the end");
    }

    #[test]
    fn in_a_group_only_what_differs_is_marked() {
        let texts = ["rm -rf a/build --now", "rm -rf b --now", "rm -rf c d --now"];
        let marked = texts.iter().zip(differences(&texts));
        let marked: Vec<_> =
            marked.map(|(text, highlights)| shown(&pieces(text, &highlights))).collect();
        assert_eq!(marked, ["rm -rf (a/build) --now", "rm -rf (b) --now", "rm -rf (c) (d) --now"]);
        assert!(differences(&["same", "same"]).iter().all(Vec::is_empty));
    }
}
