//! Encodings that hide text.

use crate::analyze::code::script::api::Coding;

/// Decodes a text, where that is possible here.
pub(super) fn decode(coding: Coding, text: &str) -> Option<String> {
    let bytes = match coding {
        Coding::Base64 => bits(text, 6, |byte| match byte {
            b'A'..=b'Z' => Some(byte - b'A'),
            b'a'..=b'z' => Some(byte - b'a' + 26),
            b'0'..=b'9' => Some(byte - b'0' + 52),
            b'+' | b'-' => Some(62),
            b'/' | b'_' => Some(63),
            _ => None,
        })?,
        Coding::Base32 => bits(text, 5, |byte| match byte.to_ascii_uppercase() {
            upper @ b'A'..=b'Z' => Some(upper - b'A'),
            b'2'..=b'7' => Some(byte - b'2' + 26),
            _ => None,
        })?,
        Coding::Hex => hex(text)?,
        Coding::Rot13 => text.bytes().map(rot13).collect(),
        Coding::Percent => percent(text),
        Coding::Packed | Coding::Named => return None,
    };
    // Bytes that are not UTF-8 are read one by one, as the languages do.
    Some(match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => error.into_bytes().into_iter().map(char::from).collect(),
    })
}

/// Returns an encoding by its name in the languages.
pub(super) fn named(name: &str) -> Option<Coding> {
    Some(match name.to_ascii_lowercase().replace(['-', '_'], "").as_str() {
        "base64" | "base64codec" | "base64url" | "m" | "m0" => Coding::Base64,
        "hex" | "hexcodec" | "h*" | "a*h*" => Coding::Hex,
        "rot13" | "rot13codec" => Coding::Rot13,
        "zlib" | "zip" | "bz2" | "bz2codec" | "zlibcodec" | "u" | "uu" | "uucodec" => {
            Coding::Packed
        }
        _ => return None,
    })
}

/// Assembles bytes from characters of a few bits each.
fn bits(text: &str, width: u32, value: impl Fn(u8) -> Option<u8>) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let (mut buffer, mut held) = (0_u32, 0_u32);
    for byte in text.bytes().filter(|byte| !byte.is_ascii_whitespace()) {
        if byte == b'=' {
            break;
        }
        buffer = (buffer << width) | u32::from(value(byte)?);
        held += width;
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from((buffer >> held) & 0xFF).unwrap_or_default());
            buffer &= (1 << held) - 1;
        }
    }
    Some(bytes)
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u32> = text
        .chars()
        .filter(|char| !char.is_whitespace())
        .map(|char| char.to_digit(16))
        .collect::<Option<_>>()?;
    digits
        .chunks(2)
        .map(|pair| match pair {
            [high, low] => u8::try_from(high * 16 + low).ok(),
            _ => None,
        })
        .collect()
}

const fn rot13(byte: u8) -> u8 {
    match byte {
        b'a'..=b'z' => (byte - b'a' + 13) % 26 + b'a',
        b'A'..=b'Z' => (byte - b'A' + 13) % 26 + b'A',
        _ => byte,
    }
}

fn percent(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [byte, after @ ..] = rest {
        let number = match rest {
            [b'%', high, low, ..] => {
                let digit = |byte: &u8| char::from(*byte).to_digit(16);
                digit(high)
                    .zip(digit(low))
                    .and_then(|(high, low)| u8::try_from(high * 16 + low).ok())
            }
            _ => None,
        };
        bytes.push(number.unwrap_or(*byte));
        rest = if number.is_some() { rest.get(3..).unwrap_or_default() } else { after };
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_undone() {
        for (coding, text, plain) in [
            (Coding::Base64, "aGVsbG8gd29ybGQ=", "hello world"),
            (Coding::Base64, "aGk", "hi"),
            (Coding::Base32, "NBUQ====", "hi"),
            (Coding::Hex, "6869", "hi"),
            (Coding::Rot13, "uryyb", "hello"),
            (Coding::Percent, "a%20b%zz", "a b%zz"),
        ] {
            assert_eq!(decode(coding, text).as_deref(), Some(plain), "{text}");
        }
        assert_eq!(decode(Coding::Base64, "no base64!"), None);
        assert_eq!(decode(Coding::Hex, "abc"), None);
    }
}
