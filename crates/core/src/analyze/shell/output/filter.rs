//! Programs that transform a text, computed exactly or not at all.

use super::super::arguments::Arguments;

/// Returns lines or bytes from the start, like GNU `head`.
pub(super) fn head(text: &str, args: &Arguments<'_>) -> Option<String> {
    let amount = Amount::of(args, "10")?;
    let count = amount.count;
    Some(match (amount.is_bytes, amount.sign) {
        (true, None) => text.get(..count.min(text.len()))?.to_owned(),
        (true, Some('-')) => text.get(..text.len().saturating_sub(count))?.to_owned(),
        (false, None) => text.split_inclusive('\n').take(count).collect(),
        (false, Some('-')) => {
            let all = text.split_inclusive('\n').count();
            text.split_inclusive('\n').take(all.saturating_sub(count)).collect()
        }
        _ => return None,
    })
}

/// Returns lines or bytes up to the end, like `tail`.
pub(super) fn tail(text: &str, args: &Arguments<'_>) -> Option<String> {
    let amount = Amount::of(args, "10")?;
    let count = amount.count;
    Some(match (amount.is_bytes, amount.sign) {
        (true, None | Some('-')) => text.get(text.len().saturating_sub(count)..)?.to_owned(),
        (true, Some('+')) => text.get(count.saturating_sub(1).min(text.len())..)?.to_owned(),
        (false, None | Some('-')) => {
            let all = text.split_inclusive('\n').count();
            text.split_inclusive('\n').skip(all.saturating_sub(count)).collect()
        }
        (false, Some('+')) => text.split_inclusive('\n').skip(count.saturating_sub(1)).collect(),
        _ => return None,
    })
}

/// The amount that `head` and `tail` are told to print.
struct Amount {
    is_bytes: bool,
    /// A sign that changes the meaning of the number.
    sign: Option<char>,
    count: usize,
}

impl Amount {
    fn of(args: &Arguments<'_>, usual: &str) -> Option<Self> {
        let words: Vec<&str> = args.words().iter().map(|word| word.text.as_str()).collect();
        let (is_bytes, number) = match words.as_slice() {
            [] => (false, usual),
            ["-n" | "--lines", number] => (false, *number),
            ["-c" | "--bytes", number] => (true, *number),
            [word] => {
                let lines = word.strip_prefix("--lines=").or_else(|| word.strip_prefix("-n"));
                let bytes = word.strip_prefix("--bytes=").or_else(|| word.strip_prefix("-c"));
                match (lines, bytes, word.strip_prefix('-')) {
                    (Some(number), ..) => (false, number),
                    (_, Some(number), _) => (true, number),
                    (.., Some(number)) if number.chars().all(|char| char.is_ascii_digit()) => {
                        (false, number)
                    }
                    _ => return None,
                }
            }
            _ => return None,
        };
        let sign = number.chars().next().filter(|char| "+-".contains(*char));
        let digits = number.trim_start_matches(['+', '-']);
        let is_number = !digits.is_empty() && digits.chars().all(|char| char.is_ascii_digit());
        Some(Self { is_bytes, sign, count: digits.parse().ok().filter(|_| is_number)? })
    }
}

/// Reverses the order of the lines.
pub(super) fn tac(text: &str) -> String {
    text.split_inclusive('\n').rev().collect()
}

/// Reverses the characters of every line.
pub(super) fn rev(text: &str) -> String {
    let turned = text.split('\n').map(|line| line.chars().rev().collect::<String>());
    turned.collect::<Vec<_>>().join("\n")
}

/// Removes repeated adjacent lines.
pub(super) fn uniq(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.dedup();
    lines.iter().flat_map(|line| [*line, "\n"]).collect()
}

/// Applies `tr`, byte by byte.
pub(super) fn translate(text: &str, args: &Arguments<'_>) -> Option<String> {
    let mut options = String::new();
    for option in args.options() {
        options.push_str(option.text.strip_prefix('-').filter(|rest| !rest.starts_with('-'))?);
    }
    if !text.is_ascii() || options.chars().any(|option| !"dscC".contains(option)) {
        return None;
    }
    let has = |letter: char| options.contains(letter);
    let complement = has('c') || has('C');
    let sets: Option<Vec<_>> = args.operands().iter().map(|set| set_of(&set.text)).collect();
    match (sets?.as_slice(), has('d'), has('s')) {
        ([set], true, false) => {
            Some(text.chars().filter(|char| set.contains(char) == complement).collect())
        }
        ([set], false, true) => Some(squeezed(text, |char| set.contains(&char) != complement)),
        ([from, to], false, squeeze) if !complement && !to.is_empty() => {
            let changed = |char: char| match from.iter().rposition(|known| *known == char) {
                Some(at) => to.get(at).or(to.last()).copied().unwrap_or(char),
                None => char,
            };
            let out: String = text.chars().map(changed).collect();
            Some(if squeeze { squeezed(&out, |char| to.contains(&char)) } else { out })
        }
        _ => None,
    }
}

/// Collapses each run of such a character into one.
fn squeezed(text: &str, is_squeezed: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        if !(is_squeezed(char) && out.ends_with(char)) {
            out.push(char);
        }
    }
    out
}

/// Returns the characters of a set: ranges, classes and escapes; `None` for rarer syntax.
pub(super) fn set_of(text: &str) -> Option<Vec<char>> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if let Some(class) = rest.strip_prefix("[:") {
            let (name, after) = class.split_once(":]")?;
            out.extend(class_of(name)?);
            rest = after;
            continue;
        }
        if rest.starts_with("[=") || (first == '[' && rest.chars().nth(2) == Some('*')) {
            return None;
        }
        let (first, after) = member(rest)?;
        let (last, after) = match after.strip_prefix('-').filter(|to| !to.is_empty()) {
            Some(to) => member(to).filter(|(last, _)| first <= *last)?,
            None => (first, after),
        };
        out.extend(first..=last);
        rest = after;
        if out.len() > 512 {
            return None;
        }
    }
    Some(out)
}

/// Splits off one character at the start of a set.
fn member(text: &str) -> Option<(char, &str)> {
    let mut chars = text.chars();
    let first = chars.next()?;
    if first != '\\' {
        return Some((first, chars.as_str()));
    }
    let char = match chars.next()? {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        '\\' => '\\',
        '0'..='7' => {
            let digits: String =
                text.chars().skip(1).take(3).take_while(|char| char.is_digit(8)).collect();
            let value = u32::from_str_radix(&digits, 8).ok().filter(|value| *value < 128)?;
            return Some((char::from_u32(value)?, text.get(1 + digits.len()..)?));
        }
        _ => return None,
    };
    Some((char, chars.as_str()))
}

fn class_of(name: &str) -> Option<Vec<char>> {
    let ascii = (0_u8..128).map(char::from);
    let is_in: fn(&char) -> bool = match name {
        "lower" => char::is_ascii_lowercase,
        "upper" => char::is_ascii_uppercase,
        "digit" => char::is_ascii_digit,
        "alpha" => char::is_ascii_alphabetic,
        "alnum" => char::is_ascii_alphanumeric,
        "punct" => char::is_ascii_punctuation,
        "cntrl" => char::is_ascii_control,
        "space" => |char| char.is_ascii_whitespace() || *char == '\u{b}',
        "blank" => |char| matches!(char, ' ' | '\t'),
        _ => return None,
    };
    Some(ascii.filter(is_in).collect())
}

/// Decodes base64; `None` where decoders differ.
pub(super) fn base64(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let (mut buffer, mut bits) = (0_u32, 0_u32);
    let text: String = text.chars().filter(|char| !char.is_whitespace()).collect();
    for char in text.trim_end_matches('=').chars() {
        let value = match char {
            'A'..='Z' => char as u32 - 'A' as u32,
            'a'..='z' => char as u32 - 'a' as u32 + 26,
            '0'..='9' => char as u32 - '0' as u32 + 52,
            '+' => 62,
            '/' => 63,
            _ => return None,
        };
        buffer = (buffer << 6 | value) & 0xFF_FFFF;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(buffer >> bits & 0xFF).ok()?);
        }
    }
    String::from_utf8(bytes).ok()
}

/// Decodes pairs of hexadecimal digits.
pub(super) fn hex(text: &str) -> Option<String> {
    let digits: Vec<u32> = text
        .chars()
        .filter(|char| !char.is_whitespace())
        .map(|char| char.to_digit(16))
        .collect::<Option<_>>()?;
    let bytes = digits
        .chunks_exact(2)
        .map(|pair| u8::try_from(pair.iter().fold(0, |value, digit| value * 16 + digit)).ok())
        .collect::<Option<Vec<_>>>()?;
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoders_decode() {
        assert_eq!(base64("aGVsbG8=").as_deref(), Some("hello"));
        assert_eq!(base64("a=b"), None);
        assert_eq!(hex("68 69").as_deref(), Some("hi"));
        assert_eq!(hex("xx"), None);
        assert_eq!(set_of("a-c").unwrap(), ['a', 'b', 'c']);
        assert_eq!(set_of("\\162[:digit:]").unwrap().len(), 11);
        assert_eq!(set_of("[a*3]"), None);
    }

    #[test]
    fn lines_are_turned_and_put_in_the_other_order() {
        assert_eq!(rev("ab\ncd\n"), "ba\ndc\n");
        assert_eq!(tac("a\nb\n"), "b\na\n");
        assert_eq!(uniq("a\na\nb\n"), "a\nb\n");
    }
}
