//! Wallets: addresses by their checksum, private keys, recovery phrases.

use sha2::{Digest, Sha256};

use super::{
    super::{
        Hits,
        text::{Class, Text, contains, is_any},
        words::phrases,
    },
    Setting, is_told,
};

const BASE58: &[u8] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const BECH32: &[u8] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";

/// Finds addresses, keys and phrases.
pub(super) fn find(text: Text<'_>, setting: Setting, hits: &mut Hits) {
    let mut index = 0;
    while index < text.len() {
        if !Class::ALNUM.has(text.at(index)) {
            index += 1;
            continue;
        }
        let end = text.run(index, Class::ALNUM);
        if !Class::WORD.has(text.before(index)) && text.at(end) != b'_' && end - index >= 26 {
            word(text, index, end, setting, hits);
        } else if matches!(end - index, 6 | 8) && is_phrase(text, index, end) {
            words(text, end, hits);
        }
        index = end;
    }
}

/// Reports whether a recovery phrase is named there.
fn is_phrase(text: Text<'_>, start: usize, end: usize) -> bool {
    let word = text.cut(start, end);
    let before = text.back(start, 10);
    is_any(word, &["mnemonic"])
        || (is_any(word, &["phrase"])
            && ["seed", "recovery", "secret", "backup"].iter().any(|owner| contains(before, owner)))
}

fn word(text: Text<'_>, start: usize, end: usize, setting: Setting, hits: &mut Hits) {
    let word = text.cut(start, end);
    let first = text.at(start);
    match (word.len(), first) {
        (26..=35, b'1' | b'3' | b'L' | b'M' | b'D' | b'A' | b'9' | b't' | b'm' | b'n' | b'2')
            if is_base58check(word, 25) =>
        {
            hits.personal("wallet-address", start, end);
        }
        (51 | 52, b'5' | b'K' | b'L' | b'9' | b'c')
            if is_base58check(word, 37) || is_base58check(word, 38) =>
        {
            hits.secret("wallet-key", start, end);
        }
        (111, b'x' | b'y' | b'z' | b't')
            if word.get(1..4) == Some("prv") && is_base58check(word, 82) =>
        {
            hits.secret("wallet-key", start, end);
        }
        (42, b'0')
            if is_ether(word)
                && (setting == Setting::Alone || is_told(text, start, end, ETHER_WORDS)) =>
        {
            hits.personal("wallet-address", start, end);
        }
        (40..=90, _) if is_bech32(word) => hits.personal("wallet-address", start, end),
        _ => {}
    }
}

phrases! {
    ETHER_WORDS = "wallet|ethereum|eth address|send to|my address|metamask"
}

fn is_ether(word: &str) -> bool {
    word.starts_with("0x") && word.bytes().skip(2).all(|byte| Class::ANY_HEX.has(byte))
}

/// Reports whether the word decodes to that many bytes, the last four of them its checksum.
fn is_base58check(word: &str, length: usize) -> bool {
    let mut bytes = vec![0_u8; length];
    for letter in word.bytes() {
        let Some(digit) = BASE58.iter().position(|known| *known == letter) else { return false };
        let mut carry = u32::try_from(digit).unwrap_or(0);
        for byte in bytes.iter_mut().rev() {
            carry += u32::from(*byte) * 58;
            *byte = u8::try_from(carry & 0xff).unwrap_or(0);
            carry >>= 8;
        }
        if carry != 0 {
            return false;
        }
    }
    let Some((payload, sum)) = bytes.split_at_checked(length.saturating_sub(4)) else {
        return false;
    };
    Sha256::digest(Sha256::digest(payload)).starts_with(sum)
}

/// Reports whether the word is a native segwit address of Bitcoin or Litecoin, checksum included.
fn is_bech32(word: &str) -> bool {
    let upper = word.bytes().any(|byte| byte.is_ascii_uppercase());
    if upper && word.bytes().any(|byte| byte.is_ascii_lowercase()) {
        return false;
    }
    let word = word.to_ascii_lowercase();
    let Some((prefix, data)) = word.split_once('1') else { return false };
    if !matches!(prefix, "bc" | "tb" | "ltc" | "bcrt") {
        return false;
    }
    let mut values: Vec<u32> = prefix.bytes().map(|byte| u32::from(byte) >> 5).collect();
    values.push(0);
    values.extend(prefix.bytes().map(|byte| u32::from(byte) & 31));
    for letter in data.bytes() {
        let Some(value) = BECH32.iter().position(|known| *known == letter) else { return false };
        values.push(u32::try_from(value).unwrap_or(0));
    }
    matches!(polymod(&values), 1 | 0x2bc8_30a3)
}

fn polymod(values: &[u32]) -> u32 {
    const STEPS: [u32; 5] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];
    values.iter().fold(1, |sum, value| {
        let top = sum >> 25;
        let sum = ((sum & 0x01ff_ffff) << 5) ^ value;
        STEPS
            .iter()
            .enumerate()
            .fold(sum, |sum, (bit, step)| if (top >> bit) & 1 == 1 { sum ^ step } else { sum })
    })
}

/// Masks twelve or more short words in a row after the name of a phrase.
fn words(text: Text<'_>, from: usize, hits: &mut Hits) {
    let mut start = from;
    while start - from < 24 && !Class::LOWER.has(text.at(start)) {
        start += 1;
    }
    if text.cut(start, start + 3) == "is " {
        start += 3;
    }
    let mut end = start;
    let mut count = 0;
    let mut at = start;
    while count < 24 {
        let stop = text.run_within(at, Class::LOWER, 9);
        if !(3..=8).contains(&(stop - at)) {
            break;
        }
        count += 1;
        end = stop;
        if text.at(stop) != b' ' {
            break;
        }
        at = stop + 1;
    }
    if count >= 12 {
        hits.secret("wallet-phrase", start, end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::scan;

    /// An address that belongs to nobody: twenty bytes of the same value, and their checksum.
    fn address(version: u8, fill: u8) -> String {
        let mut bytes = vec![version];
        bytes.extend([fill; 20]);
        let sum = Sha256::digest(Sha256::digest(&bytes));
        bytes.extend(&sum[..4]);
        let mut digits = Vec::new();
        let mut number = bytes.clone();
        while number.iter().any(|byte| *byte != 0) {
            let mut rest = 0_u32;
            for byte in &mut number {
                let value = rest * 256 + u32::from(*byte);
                *byte = u8::try_from(value / 58).unwrap();
                rest = value % 58;
            }
            digits.push(BASE58[rest as usize]);
        }
        digits.extend(bytes.iter().take_while(|byte| **byte == 0).map(|_| b'1'));
        digits.reverse();
        String::from_utf8(digits).unwrap()
    }

    #[test]
    fn an_address_is_known_by_its_checksum() {
        let own = address(0, 0xa7);
        assert_eq!(scan(&format!("pay {own}"))[0].kind, "wallet-address");
        assert!(scan(&format!("pay {own}2")).is_empty());
        let wrong = if own.ends_with('2') {
            own.replace('2', "3")
        } else {
            format!("{}2", own.split_at(own.len() - 1).0)
        };
        assert!(scan(&format!("pay {wrong}")).is_empty());
    }

    #[test]
    fn a_phrase_of_twelve_words_is_a_secret() {
        let phrase = ["tree"; 12].join(" ");
        assert_eq!(scan(&format!("my mnemonic: {phrase}"))[0].kind, "wallet-phrase");
        assert!(scan("a mnemonic is easy to remember when it is short").is_empty());
    }
}
