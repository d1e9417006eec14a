//! CRC-32 as archives use it (polynomial 0x04c11db7, reflected), eight bytes at a time.

use std::sync::LazyLock;

type Table = [u32; 256];

/// The contribution of each byte to the checksum when this many others follow it.
static TABLES: LazyLock<[Table; 8]> = LazyLock::new(|| {
    let first: Table = std::array::from_fn(|byte| {
        let byte = u32::try_from(byte).unwrap_or_default();
        (0..8).fold(byte, |sum, _| (sum >> 1) ^ if sum & 1 == 1 { 0xedb8_8320 } else { 0 })
    });
    let mut tables = [first; 8];
    let mut before = first;
    for table in tables.iter_mut().skip(1) {
        *table = before.map(|sum| (sum >> 8) ^ look(&first, sum));
        before = *table;
    }
    tables
});

/// A running checksum.
#[derive(Debug, Clone, Copy)]
pub(super) struct Crc(u32);

impl Crc {
    pub(super) const fn new() -> Self {
        Self(u32::MAX)
    }

    pub(super) const fn sum(self) -> u32 {
        !self.0
    }

    pub(super) fn update(&mut self, bytes: &[u8]) {
        let [t0, t1, t2, t3, t4, t5, t6, t7] = &*TABLES;
        let (eights, rest) = bytes.as_chunks::<8>();
        let mut sum = self.0;
        for [a, b, c, d, e, f, g, h] in eights {
            let low = sum ^ u32::from_le_bytes([*a, *b, *c, *d]);
            let high = u32::from_le_bytes([*e, *f, *g, *h]);
            sum = look(t7, low)
                ^ look(t6, low >> 8)
                ^ look(t5, low >> 16)
                ^ look(t4, low >> 24)
                ^ look(t3, high)
                ^ look(t2, high >> 8)
                ^ look(t1, high >> 16)
                ^ look(t0, high >> 24);
        }
        for byte in rest {
            sum = (sum >> 8) ^ look(t0, sum ^ u32::from(*byte));
        }
        self.0 = sum;
    }
}

/// The entry for the lowest byte.
fn look(table: &Table, sum: u32) -> u32 {
    let [lowest, ..] = sum.to_le_bytes();
    table.get(usize::from(lowest)).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sum(bytes: &[u8]) -> u32 {
        let mut crc = Crc::new();
        crc.update(bytes);
        crc.sum()
    }

    /// Computes bit by bit, as the definition says.
    fn slowly(bytes: &[u8]) -> u32 {
        let mut sum = u32::MAX;
        for byte in bytes {
            sum ^= u32::from(*byte);
            for _ in 0..8 {
                sum = (sum >> 1) ^ (0xedb8_8320 * (sum & 1));
            }
        }
        !sum
    }

    #[test]
    fn known_texts_have_their_known_sums() {
        assert_eq!(sum(b""), 0);
        assert_eq!(sum(b"123456789"), 0xcbf4_3926);
        assert_eq!(sum(b"The quick brown fox jumps over the lazy dog"), 0x414f_a339);
    }

    proptest! {
        #[test]
        fn pieces_sum_up_to_the_whole(bytes: Vec<u8>, cut in any::<prop::sample::Index>()) {
            let (one, other) = bytes.split_at(cut.index(bytes.len() + 1));
            let mut crc = Crc::new();
            crc.update(one);
            crc.update(other);
            prop_assert_eq!(crc.sum(), slowly(&bytes));
        }
    }
}
