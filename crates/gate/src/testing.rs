//! Helpers that several tests share.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A temporary folder that is deleted when the test ends.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn folder() -> Folder {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name =
        format!("countersign-gate-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let path = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&path).unwrap();
    Folder(path)
}
