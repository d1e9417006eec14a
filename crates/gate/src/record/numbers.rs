//! Numbers of records as ranges: `3-7,9`.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound;

/// A set of numbers, kept as ranges.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Numbers(
    /// The first number of each range, with its last. Ranges neither overlap nor touch.
    BTreeMap<u64, u64>,
);

impl Numbers {
    /// Adds one number.
    pub fn add(&mut self, number: u64) {
        self.add_range(number, number);
    }

    /// Adds a range, both ends included. Does nothing if it ends before it begins.
    pub fn add_range(&mut self, mut first: u64, mut last: u64) {
        if last < first {
            return;
        }
        // Every range that overlaps or touches this one becomes part of it.
        while let Some((&from, &to)) = self.0.range(..=last.saturating_add(1)).next_back() {
            if to.saturating_add(1) < first {
                break;
            }
            self.0.remove(&from);
            (first, last) = (first.min(from), last.max(to));
        }
        self.0.insert(first, last);
    }

    /// The numbers in this set that are not in the other.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        let mut left = Self::default();
        for (&first, &last) in &self.0 {
            let mut next = first;
            let before = other.0.range(..=first).next_back();
            let within = other.0.range((Bound::Excluded(first), Bound::Included(last)));
            for (&from, &to) in before.into_iter().chain(within).filter(|(_, to)| **to >= first) {
                if from > next {
                    left.add_range(next, from - 1);
                }
                next = to.saturating_add(1);
            }
            left.add_range(next, last);
        }
        left
    }

    /// The numbers in both sets.
    #[must_use]
    pub fn common(&self, other: &Self) -> Self {
        self.without(&self.without(other))
    }

    /// The ranges, smallest first.
    pub fn ranges(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter().map(|(first, last)| (*first, *last))
    }

    /// The number of elements.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.ranges().map(|(first, last)| (last - first).saturating_add(1)).sum()
    }

    /// Reports whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Parses the written form of a set.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut numbers = Self::default();
        for range in text.split(',').filter(|range| !range.is_empty()) {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            numbers.add_range(first.parse().ok()?, last.parse().ok()?);
        }
        Some(numbers)
    }

    /// The same numbers in several sets, each with at most `most` ranges.
    #[must_use]
    pub fn split(&self, most: usize) -> Vec<Self> {
        let ranges: Vec<_> = self.ranges().collect();
        ranges.chunks(most.max(1)).map(|chunk| Self(chunk.iter().copied().collect())).collect()
    }
}

impl fmt::Display for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (first, last)) in self.ranges().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            if first == last {
                write!(f, "{comma}{first}")?;
            } else {
                write!(f, "{comma}{first}-{last}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn numbers(of: &BTreeSet<u64>) -> Numbers {
        let mut numbers = Numbers::default();
        of.iter().rev().for_each(|number| numbers.add(*number));
        numbers
    }

    fn plain(numbers: &Numbers) -> BTreeSet<u64> {
        numbers.ranges().flat_map(|(first, last)| first..=last).collect()
    }

    #[test]
    fn ranges_are_written_short_and_read_again() {
        let set = numbers(&[1, 2, 3, 5, 9, 10].into());
        assert_eq!(set.to_string(), "1-3,5,9-10");
        assert_eq!(Numbers::parse("1-3,5,9-10"), Some(set.clone()));
        assert_eq!(Numbers::parse("9,10,5,1-2,2-3"), Some(set.clone()));
        assert_eq!(Numbers::parse(""), Some(Numbers::default()));
        let parts: Vec<_> = set.split(2).iter().map(ToString::to_string).collect();
        assert_eq!(parts, ["1-3,5", "9-10"]);
        for text in ["x", "1-", "-1", "1-2-3", "1;2"] {
            assert_eq!(Numbers::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn ranges_are_sets(
            one in prop::collection::btree_set(0_u64..40, 0..30),
            other in prop::collection::btree_set(0_u64..40, 0..30),
        ) {
            let (left, right) = (numbers(&one), numbers(&other));
            prop_assert_eq!(&plain(&left), &one);
            prop_assert_eq!(left.is_empty(), one.is_empty());
            prop_assert_eq!(plain(&left.without(&right)), &one - &other);
            prop_assert_eq!(plain(&left.common(&right)), &one & &other);
            prop_assert_eq!(Numbers::parse(&left.to_string()), Some(left));
        }
    }
}
