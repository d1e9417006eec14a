//! Memory for secrets: of a fixed size, kept out of swap where the system allows, wiped when
//! dropped.

use std::ops::Range;

use region::LockGuard;
use zeroize::Zeroize as _;

/// Pages of memory that contain nothing else.
///
/// Locking works on whole pages, and unlocking one secret's page must not unlock its neighbour's.
/// So one page more than needed is allocated, and the aligned part inside is used.
pub(super) struct Page {
    // Before the bytes, so that it is unlocked before it is freed.
    lock: Option<LockGuard>,
    bytes: Box<[u8]>,
    start: usize,
    length: usize,
    used: usize,
}

impl Page {
    /// Memory for `length` bytes, all zero. It never grows.
    pub(super) fn new(length: usize) -> Self {
        let page = region::page::size();
        let whole = length.div_ceil(page).saturating_mul(page);
        let bytes = vec![0; whole.saturating_add(page)].into_boxed_slice();
        let start = bytes.as_ptr().align_offset(page);
        let inside = bytes.get(start..start.saturating_add(whole));
        // Without permission to lock memory it is still wiped, and never written to a file by us.
        let lock = inside.and_then(|inside| region::lock(inside.as_ptr(), inside.len()).ok());
        let start = if inside.is_some() { start } else { 0 };
        Self { lock, bytes, start, length, used: 0 }
    }

    pub(super) const fn is_locked(&self) -> bool {
        self.lock.is_some()
    }

    /// Appends bytes, and returns their range; `None` if they do not fit.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Option<Range<usize>> {
        let end = self.used.checked_add(bytes.len()).filter(|end| *end <= self.length)?;
        let place = self.used..end;
        let room = self.bytes.get_mut(self.start.checked_add(place.start)?..)?;
        room.get_mut(..bytes.len())?.copy_from_slice(bytes);
        self.used = end;
        Some(place)
    }

    pub(super) fn read(&self, place: Range<usize>) -> Option<&[u8]> {
        let (start, end) =
            (self.start.checked_add(place.start)?, self.start.checked_add(place.end)?);
        self.bytes.get(start..end)
    }

    fn wipe(&mut self) {
        self.bytes.zeroize();
        self.used = 0;
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.wipe();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_where_it_is_and_stays_where_it_is() {
        let mut page = Page::new(100);
        let before = page.bytes.as_ptr();
        let (one, two) = (page.write(b"one").unwrap(), page.write(b"two").unwrap());
        assert_eq!(page.read(one), Some(&b"one"[..]));
        assert_eq!(page.read(two), Some(&b"two"[..]));
        assert_eq!(page.write(&[1; 95]), None);
        assert!(page.write(&[1; 94]).is_some());
        assert_eq!(page.write(b"x"), None);
        assert_eq!(page.bytes.as_ptr(), before);
    }

    #[test]
    fn two_never_share_a_page() {
        let size = region::page::size();
        let pages: Vec<Page> = (0..20).map(|_| Page::new(1)).collect();
        let mut places: Vec<usize> =
            pages.iter().map(|page| page.bytes.as_ptr().addr() + page.start).collect();
        assert!(places.iter().all(|place| place % size == 0));
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), 20);
    }

    #[test]
    fn nothing_is_left_once_it_is_wiped() {
        let mut page = Page::new(64);
        let place = page.write(b"canary").unwrap();
        page.wipe();
        assert!(page.bytes.iter().all(|byte| *byte == 0));
        assert_eq!(page.read(place), Some(&[0; 6][..]));
    }

    /// The kernel confirms that the memory is locked, where locking is allowed.
    #[cfg(target_os = "linux")]
    #[test]
    fn the_kernel_keeps_it_out_of_swap() {
        let page = Page::new(1);
        if !page.is_locked() {
            eprintln!("skipped: this machine lets us lock no memory");
            return;
        }
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmLck:")).unwrap();
        assert!(!line.trim_start().starts_with("0 "), "{line}");
    }
}
