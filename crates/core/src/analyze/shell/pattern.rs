//! Patterns of the shell in `${x#…}`, `${x%…}` and `${x/…/…}`, as bash matches them.
//!
//! With a wrong result, another command would be judged than the one that runs. So any syntax in a
//! pattern that is not handled here makes the result unknown.

/// The length past which a text is not matched: each position may be tried against the whole
/// pattern.
const MOST_CHARS: usize = 4_096;
/// The number of pieces that a pattern may have.
const MOST_PIECES: usize = 64;

/// A parsed pattern.
#[derive(Debug, PartialEq)]
pub(super) struct Pattern(Vec<Piece>);

#[derive(Debug, PartialEq)]
enum Piece {
    Char(char),
    /// `?`
    Any,
    /// `*`
    Star,
    /// `[a-z]`, `[!a]`
    Set {
        ranges: Vec<(char, char)>,
        negated: bool,
    },
}

/// The match to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Length {
    Shortest,
    Longest,
}

/// The matches to replace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Where {
    First,
    Everywhere,
    Start,
    End,
}

impl Pattern {
    /// Parses a pattern from the script's text; `None` where it uses syntax that is not handled.
    pub(super) fn read(source: &str) -> Option<Self> {
        let mut pieces = Vec::new();
        let mut chars = source.chars().peekable();
        while let Some(char) = chars.next() {
            match char {
                '\\' => pieces.push(Piece::Char(chars.next()?)),
                '\'' => {
                    let text: String = chars.by_ref().take_while(|char| *char != '\'').collect();
                    pieces.extend(text.chars().map(Piece::Char));
                }
                '"' => {
                    let text: String = chars.by_ref().take_while(|char| *char != '"').collect();
                    if text.contains(['\\', '$', '`']) {
                        return None;
                    }
                    pieces.extend(text.chars().map(Piece::Char));
                }
                '$' | '`' | '~' | '{' | '}' => return None,
                // With `extglob` this has another meaning.
                '?' | '*' | '+' | '@' | '!' if chars.peek() == Some(&'(') => return None,
                '?' => pieces.push(Piece::Any),
                '*' => pieces.push(Piece::Star),
                '[' => {
                    let (set, used) = set(&chars.clone().collect::<String>())?;
                    chars.nth(used.checked_sub(1)?);
                    pieces.push(set);
                }
                char => pieces.push(Piece::Char(char)),
            }
        }
        (pieces.len() <= MOST_PIECES).then_some(Self(pieces))
    }

    fn matches(&self, text: &[char]) -> bool {
        let (mut at, mut piece) = (0, 0);
        // The position of the last star, and how much of the text it has taken.
        let mut star: Option<(usize, usize)> = None;
        while at < text.len() {
            let fits = match (self.0.get(piece), text.get(at)) {
                (Some(Piece::Star), _) => {
                    star = Some((piece, at));
                    piece += 1;
                    continue;
                }
                (Some(piece), Some(char)) => piece.takes(*char),
                _ => false,
            };
            if fits {
                (at, piece) = (at + 1, piece + 1);
            } else if let Some((back, taken)) = star {
                star = Some((back, taken + 1));
                (at, piece) = (taken + 1, back + 1);
            } else {
                return false;
            }
        }
        self.0.get(piece..).is_some_and(|rest| rest.iter().all(|piece| *piece == Piece::Star))
    }

    /// Removes a match at the start of the text.
    pub(super) fn without_start(&self, text: &str, length: Length) -> Option<String> {
        let chars = chars_of(text)?;
        let ends = 0..=chars.len();
        let end = match length {
            Length::Shortest => ends.into_iter().find(|end| self.fits(&chars, 0, *end)),
            Length::Longest => ends.rev().find(|end| self.fits(&chars, 0, *end)),
        };
        Some(chars.into_iter().skip(end.unwrap_or(0)).collect())
    }

    /// Removes a match at the end of the text.
    pub(super) fn without_end(&self, text: &str, length: Length) -> Option<String> {
        let chars = chars_of(text)?;
        let all = chars.len();
        let starts = 0..=all;
        let start = match length {
            Length::Shortest => starts.rev().find(|start| self.fits(&chars, *start, all)),
            Length::Longest => starts.into_iter().find(|start| self.fits(&chars, *start, all)),
        };
        Some(chars.into_iter().take(start.unwrap_or(all)).collect())
    }

    /// Replaces matches in the text, each as long as possible.
    pub(super) fn replaced(&self, text: &str, with: &str, place: Where) -> Option<String> {
        let chars = chars_of(text)?;
        let all = chars.len();
        let longest = |start: usize| (start..=all).rev().find(|end| self.fits(&chars, start, *end));
        let (mut out, mut at) = (String::new(), 0);
        let mut is_done = self.0.is_empty() && matches!(place, Where::First | Where::Everywhere);
        while at <= all {
            let end = match place {
                Where::Start if at > 0 => None,
                Where::End => self.fits(&chars, at, all).then_some(all),
                _ => longest(at),
            };
            // An empty match counts only if the text is empty, or at an anchored end.
            let anchored = all == 0 || matches!(place, Where::Start | Where::End);
            if let Some(end) = end.filter(|end| !is_done && (*end > at || anchored)) {
                out.push_str(with);
                is_done = place != Where::Everywhere;
                at = end;
                if end == all {
                    break;
                }
            } else {
                out.extend(chars.get(at));
                at += 1;
            }
        }
        Some(out)
    }

    fn fits(&self, chars: &[char], start: usize, end: usize) -> bool {
        chars.get(start..end).is_some_and(|part| self.matches(part))
    }
}

impl Piece {
    fn takes(&self, char: char) -> bool {
        match self {
            Self::Char(own) => *own == char,
            Self::Any => true,
            Self::Star => false,
            Self::Set { ranges, negated } => {
                ranges.iter().any(|(from, to)| (*from..=*to).contains(&char)) != *negated
            }
        }
    }
}

fn chars_of(text: &str) -> Option<Vec<char>> {
    (text.len() <= MOST_CHARS).then(|| text.chars().collect())
}

/// Parses a set whose `[` has been read, and returns the number of characters it takes.
fn set(rest: &str) -> Option<(Piece, usize)> {
    let negated = rest.starts_with(['!', '^']);
    let body: Vec<char> = rest.chars().skip(usize::from(negated)).collect();
    // A bracket that comes first is literal.
    let end = body.iter().skip(1).position(|char| *char == ']')? + 1;
    let inside = body.get(..end)?;
    if inside.iter().any(|char| "[]\\'\"$`".contains(*char)) {
        return None;
    }
    let mut ranges = Vec::new();
    let mut at = 0;
    while let Some(from) = inside.get(at) {
        let to = inside.get(at + 2).filter(|_| inside.get(at + 1) == Some(&'-'));
        ranges.push((*from, *to.unwrap_or(from)));
        at += if to.is_some() { 3 } else { 1 };
    }
    Some((Piece::Set { ranges, negated }, usize::from(negated) + end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(source: &str) -> Pattern {
        Pattern::read(source).unwrap()
    }

    #[test]
    fn the_shortest_and_the_longest_match_differ() {
        let mark = read("*,");
        assert_eq!(mark.without_start("a,b,c", Length::Shortest).unwrap(), "b,c");
        assert_eq!(mark.without_start("a,b,c", Length::Longest).unwrap(), "c");
        let dot = read(".*");
        assert_eq!(dot.without_end("a.b.c", Length::Shortest).unwrap(), "a.b");
        assert_eq!(dot.without_end("a.b.c", Length::Longest).unwrap(), "a");
    }

    #[test]
    fn replacing_takes_as_much_as_matches() {
        assert_eq!(read("a*").replaced("xaya", "-", Where::First).unwrap(), "x-");
        assert_eq!(read("[ab]").replaced("cab", "-", Where::Everywhere).unwrap(), "c--");
        assert_eq!(read("").replaced("ab", "-", Where::Start).unwrap(), "-ab");
        assert_eq!(read("").replaced("ab", "-", Where::End).unwrap(), "ab-");
        assert_eq!(read("").replaced("ab", "-", Where::Everywhere).unwrap(), "ab");
        assert_eq!(read("*").replaced("", "-", Where::Everywhere).unwrap(), "-");
    }

    #[test]
    fn what_is_not_read_is_not_matched() {
        for source in ["$x", "\"$x\"", "@(a|b)", "`x`", "[[:alpha:]]", "a\\"] {
            assert_eq!(Pattern::read(source), None, "{source}");
        }
        assert_eq!(read("'*'").without_start("*a", Length::Longest).unwrap(), "a");
    }
}
