//! Hash tables of names, laid out by `build.rs`.
//!
//! A judgement looks every program up several times; by hash that is one comparison, by binary
//! search it would be ten. A table does not contain pointers: every pointer in a table has to be
//! relocated when the program starts, and each page of memory with one is copied for that.

/// An empty slot.
pub(crate) const EMPTY: u16 = u16::MAX;

/// A set of names, each with a number.
pub(crate) struct Names {
    /// All names, concatenated.
    pub(crate) text: &'static str,
    pub(crate) listed: &'static [Name],
    /// Indexes into `listed`, at the position of the hash.
    pub(crate) slots: &'static [u16],
}

/// The range of a name in the text, and its number.
pub(crate) struct Name {
    pub(crate) start: u16,
    pub(crate) end: u16,
    pub(crate) number: u16,
}

impl Names {
    /// The number of a name.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        let from = start(name, self.slots.len());
        let (before, after) = self.slots.split_at_checked(from)?;
        let filled = after.iter().chain(before).take_while(|slot| **slot != EMPTY);
        let mut met = filled.filter_map(|slot| self.listed.get(usize::from(*slot)));
        met.find(|met| self.spelling(met) == Some(name)).map(|met| usize::from(met.number))
    }

    /// Every name.
    pub(crate) fn spellings(&self) -> impl Iterator<Item = &'static str> {
        self.listed.iter().filter_map(|name| self.spelling(name))
    }

    fn spelling(&self, name: &Name) -> Option<&'static str> {
        self.text.get(usize::from(name.start)..usize::from(name.end))
    }

    /// Fails unless every name is found with its number, and not when it is spelt differently.
    #[cfg(test)]
    pub(crate) fn assert_sound(&self) {
        for name in self.listed {
            let spelling = self.spelling(name).expect("it is in the text");
            assert_eq!(self.find(spelling), Some(usize::from(name.number)), "{spelling}");
            assert_eq!(self.find(&format!("{spelling} ")), None, "{spelling}");
        }
        assert!(self.listed.len() > 100 && self.slots.contains(&EMPTY));
    }
}

/// The slot at which the search for a name starts (FNV-1a).
pub(crate) fn start(name: &str, slots: usize) -> usize {
    let hash = name
        .bytes()
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    // The low bits of this hash are its weakest.
    let mixed = hash ^ (hash >> 15);
    mixed as usize & slots.saturating_sub(1)
}
