//! Texts in memory that can be read as files and changed by nobody.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;

/// A sealed file in memory with this content.
#[cfg(target_os = "linux")]
pub(crate) fn file(content: &[u8]) -> io::Result<OwnedFd> {
    use rustix::fs::{MemfdFlags, SealFlags};

    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let mut file = File::from(rustix::fs::memfd_create("countersign-script", flags)?);
    file.write_all(content)?;
    let seals = SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE;
    rustix::fs::fcntl_add_seals(&file, seals)?;
    Ok(file.into())
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn file(_: &[u8]) -> io::Result<OwnedFd> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "this needs Linux"))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::{Read as _, Seek as _};

    use super::*;

    #[test]
    fn a_sealed_file_can_be_read_and_not_be_changed() {
        let mut file = File::from(file(b"echo").unwrap());
        assert!(file.write_all(b"x").is_err() && file.set_len(0).is_err());
        let mut text = String::new();
        file.rewind().unwrap();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "echo");
        let again = std::fs::OpenOptions::new()
            .write(true)
            .open(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file)));
        assert!(again.is_err() || again.unwrap().write_all(b"x").is_err());
    }
}
