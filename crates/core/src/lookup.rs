//! Names found by their hash, in tables laid out by `build.rs`.
//!
//! A judgement looks every program up several times; by hash that is one comparison, by halves
//! it would be ten.

/// A slot that holds nothing.
pub(crate) const EMPTY: u16 = u16::MAX;

/// Where to start looking for a name (FNV-1a).
pub(crate) fn start(name: &str, slots: usize) -> usize {
    let hash = name
        .bytes()
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    // The low bits of this hash are its weakest.
    let mixed = hash ^ (hash >> 15);
    mixed as usize & slots.saturating_sub(1)
}

/// The position of a name among those a table was laid out for.
pub(crate) fn find<'a>(
    name: &str,
    table: &[u16],
    named: impl Fn(usize) -> Option<&'a str>,
) -> Option<usize> {
    let from = start(name, table.len());
    let (before, after) = table.split_at_checked(from)?;
    for slot in after.iter().chain(before).take_while(|slot| **slot != EMPTY) {
        let at = usize::from(*slot);
        if named(at) == Some(name) {
            return Some(at);
        }
    }
    None
}
