//! Check digits.

/// The value of a digit, or of a letter counted from ten.
pub(super) fn value(byte: u8) -> u32 {
    char::from(byte).to_digit(36).unwrap_or(0)
}

/// The digits as numbers.
pub(super) fn digits(bytes: &[u8]) -> impl DoubleEndedIterator<Item = u32> + Clone + '_ {
    bytes.iter().map(|byte| value(*byte))
}

/// The digits in a range, as one number; zero if they are not there.
pub(super) fn number(bytes: &[u8], from: usize, to: usize) -> u64 {
    bytes
        .get(from..to)
        .unwrap_or(&[])
        .iter()
        .fold(0, |total: u64, byte| total.wrapping_mul(10).wrapping_add(u64::from(value(*byte))))
}

/// The sum of the digits, each times its weight.
pub(super) fn weighted(bytes: &[u8], weights: &[u32]) -> u32 {
    digits(bytes).zip(weights).map(|(digit, weight)| digit * weight).sum()
}

/// The Luhn check over all digits.
pub(super) fn luhn(bytes: &[u8]) -> bool {
    let sum: u32 = digits(bytes)
        .rev()
        .enumerate()
        .map(|(place, digit)| {
            let doubled = if place % 2 == 1 { digit * 2 } else { digit };
            if doubled > 9 { doubled - 9 } else { doubled }
        })
        .sum();
    sum.is_multiple_of(10)
}

/// The remainder by 97 of a number written in digits and letters, as in ISO 7064.
pub(super) fn mod97(bytes: impl Iterator<Item = u8>) -> u32 {
    bytes.fold(0, |rest, byte| {
        let value = value(byte);
        if value < 10 { (rest * 10 + value) % 97 } else { (rest * 100 + value) % 97 }
    })
}

/// Checks ISO 7064 mod 11,10: the last digit is the check digit of those before it.
pub(super) fn iso11_10(bytes: &[u8]) -> bool {
    let Some((last, head)) = bytes.split_last() else { return false };
    let product = digits(head).fold(10, |product, digit| {
        let sum = (digit + product) % 10;
        (if sum == 0 { 10 } else { sum }) * 2 % 11
    });
    (11 - product) % 10 == value(*last)
}

/// The Verhoeff check over all digits.
pub(super) fn verhoeff(bytes: &[u8]) -> bool {
    let rest = digits(bytes).rev().enumerate().fold(0, |rest, (place, digit)| {
        let permuted = (0..place % 8).fold(digit, |digit, _| permute(digit));
        dihedral(rest, permuted)
    });
    rest == 0
}

/// One step of the permutation that Verhoeff's scheme applies by position.
const fn permute(digit: u32) -> u32 {
    match digit {
        0 => 1,
        1 => 5,
        2 => 7,
        3 => 6,
        4 => 2,
        5 => 8,
        6 => 3,
        7 => 0,
        8 => 9,
        _ => 4,
    }
}

/// The product in the group of the symmetries of a pentagon: rotations 0 to 4, reflections 5 to 9.
const fn dihedral(left: u32, right: u32) -> u32 {
    match (left < 5, right < 5) {
        (true, true) => (left + right) % 5,
        (true, false) => 5 + (left + right - 5) % 5,
        (false, true) => 5 + (left - 5 + 5 - right) % 5,
        (false, false) => (left + 5 - right) % 5,
    }
}

/// Reports whether month and day could be a date.
pub(super) const fn is_date(month: u64, day: u64) -> bool {
    month >= 1 && month <= 12 && day >= 1 && day <= 31
}

/// Reports whether all digits are the same.
pub(super) fn is_uniform(bytes: &[u8]) -> bool {
    bytes.windows(2).all(|pair| pair.first() == pair.last())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_numbers_pass_and_their_neighbours_do_not() {
        assert!(luhn(b"79927398713") && !luhn(b"79927398710"));
        assert!(verhoeff(b"2363") && !verhoeff(b"2364") && !verhoeff(b"2633"));
        assert!(iso11_10(b"86095742719") && !iso11_10(b"86095742718"));
        assert_eq!(mod97(b"3214282912345698765432161182".iter().copied()), 1);
    }
}
