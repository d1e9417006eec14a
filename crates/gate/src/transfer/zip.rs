//! All files of a session as one ZIP archive, generated while it is read.
//!
//! ```text
//! header, bytes   for each file      stored, not packed: what agents hand in mostly is already
//! directory entry for each file
//! end of directory
//! ```
//!
//! Sizes and checksums were computed when each file arrived, so the length of the archive is known
//! before its first byte. If 32 bits do not suffice, 64-bit fields are added. One file is open at a
//! time, and it is not held in memory.

use std::fs::File;
use std::io::{self, Cursor, Read, Take};
use std::sync::Arc;

use crate::clock::Timestamp;
use crate::id::{FileId, SessionId};
use crate::transfer::{FileMeta, FileName, FileState, Folder};

/// An archive, to be read once from its beginning to its end.
#[derive(Debug)]
pub struct Zip {
    folder: Arc<Folder>,
    entries: Vec<Entry>,
    directory_at: u64,
    length: u64,
    next: Part,
    small: Cursor<Vec<u8>>,
    large: Option<Take<File>>,
}

/// The metadata of one entry.
#[derive(Debug)]
struct Entry {
    id: FileId,
    session: SessionId,
    name: FileName,
    at: Timestamp,
    bytes: u64,
    crc32: u32,
    /// The offset of its header.
    offset: u64,
}

/// The part that comes next.
#[derive(Debug, Clone, Copy)]
enum Part {
    Header(usize),
    Bytes(usize),
    Directory(usize),
    End,
    Nothing,
}

/// The values from which on 64-bit fields are needed.
const WIDE: u64 = 0xffff_ffff;
const WIDE_COUNT: u64 = 0xffff;

/// The version that a reader must support: 2.0, or 4.5 for 64-bit fields.
const PLAIN: u16 = 20;
const ZIP64: u16 = 45;

/// Made on Unix, so that the mode of a file counts.
const MADE_BY: u16 = 3 << 8 | ZIP64;

/// The flag for names in UTF-8.
const UTF8: u16 = 1 << 11;

/// A regular file that its owner may read and write.
const ATTRIBUTES: u32 = 0o100_600 << 16;

impl Zip {
    /// The archive of these files; incomplete ones are left out.
    pub(crate) fn new(folder: Arc<Folder>, files: Vec<FileMeta>) -> Self {
        let mut offset = 0_u64;
        let mut entries = Vec::with_capacity(files.len());
        for FileMeta { id, session, name, state, .. } in files {
            let FileState::Complete { at, bytes, crc32, .. } = state else { continue };
            let entry = Entry { id, session, name, at, bytes, crc32, offset };
            offset = offset.saturating_add(entry.header().len() as u64).saturating_add(bytes);
            entries.push(entry);
        }
        let directory: usize = entries.iter().map(|entry| entry.directory().len()).sum();
        let mut zip = Self {
            folder,
            entries,
            directory_at: offset,
            length: offset.saturating_add(directory as u64),
            next: Part::Header(0),
            small: Cursor::default(),
            large: None,
        };
        zip.length = zip.length.saturating_add(zip.end().len() as u64);
        zip
    }

    /// The exact length of the archive in bytes.
    #[must_use]
    pub const fn length(&self) -> u64 {
        self.length
    }

    /// The number of files in it.
    #[must_use]
    pub const fn files(&self) -> usize {
        self.entries.len()
    }

    /// Prepares the next part for reading.
    fn advance(&mut self) -> io::Result<()> {
        self.large = None;
        let mut small = Vec::new();
        self.next = match self.next {
            Part::Header(number) => match self.entries.get(number) {
                Some(entry) => {
                    small = entry.header();
                    Part::Bytes(number)
                }
                None => Part::Directory(0),
            },
            Part::Bytes(number) => {
                self.large =
                    self.entries.get(number).map(|it| it.open(&self.folder)).transpose()?;
                Part::Header(number.saturating_add(1))
            }
            Part::Directory(number) => match self.entries.get(number) {
                Some(entry) => {
                    small = entry.directory();
                    Part::Directory(number.saturating_add(1))
                }
                None => Part::End,
            },
            Part::End => {
                small = self.end();
                Part::Nothing
            }
            Part::Nothing => Part::Nothing,
        };
        self.small = Cursor::new(small);
        Ok(())
    }

    fn end(&self) -> Vec<u8> {
        let count = self.entries.len() as u64;
        let size: usize = self.entries.iter().map(|entry| entry.directory().len()).sum();
        let (size, at) = (size as u64, self.directory_at);
        let mut out = Bytes::default();
        if count >= WIDE_COUNT || size >= WIDE || at >= WIDE {
            out.u32(0x0606_4b50).u64(44).u16(MADE_BY).u16(ZIP64).u32(0).u32(0);
            out.u64(count).u64(count).u64(size).u64(at);
            out.u32(0x0706_4b50).u32(0).u64(at.saturating_add(size)).u32(1);
        }
        let few = u16::try_from(count).unwrap_or(u16::MAX);
        out.u32(0x0605_4b50).u16(0).u16(0).u16(few).u16(few).narrow(size).narrow(at).u16(0);
        out.0
    }
}

impl Read for Zip {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if to.is_empty() {
            return Ok(0);
        }
        loop {
            let read = match &mut self.large {
                Some(bytes) => {
                    let read = bytes.read(to)?;
                    if read == 0 && bytes.limit() > 0 {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                    read
                }
                None => self.small.read(to)?,
            };
            if read > 0 || matches!(self.next, Part::Nothing) {
                return Ok(read);
            }
            self.advance()?;
        }
    }
}

impl Entry {
    /// The header before the bytes.
    fn header(&self) -> Vec<u8> {
        let mut out = Bytes::default();
        let sizes = if self.bytes >= WIDE { vec![self.bytes, self.bytes] } else { Vec::new() };
        out.u32(0x0403_4b50).u16(needed(&sizes));
        self.common(&mut out, &sizes);
        out.text(self.name.as_str());
        self.extra(&mut out, &sizes);
        out.0
    }

    /// The entry in the directory at the end.
    fn directory(&self) -> Vec<u8> {
        let mut out = Bytes::default();
        let mut wide = if self.bytes >= WIDE { vec![self.bytes, self.bytes] } else { Vec::new() };
        if self.offset >= WIDE {
            wide.push(self.offset);
        }
        out.u32(0x0201_4b50).u16(MADE_BY).u16(needed(&wide));
        self.common(&mut out, &wide);
        out.u16(0).u16(0).u16(0).u32(ATTRIBUTES).narrow(self.offset);
        out.text(self.name.as_str());
        self.extra(&mut out, &wide);
        out.0
    }

    fn common(&self, out: &mut Bytes, wide: &[u64]) {
        let (time, day) = dos(self.at);
        out.u16(UTF8).u16(0).u16(time).u16(day).u32(self.crc32);
        out.narrow(self.bytes).narrow(self.bytes);
        let extra = 9 + if wide.is_empty() { 0 } else { 4 + 8 * wide.len() };
        out.short(self.name.as_str().len()).short(extra);
    }

    /// The time in UTC, which the old field cannot express, and the values that exceed 32 bits.
    fn extra(&self, out: &mut Bytes, wide: &[u64]) {
        let seconds = u32::try_from(self.at.0.div_euclid(1_000)).unwrap_or_default();
        out.u16(0x5455).u16(5).u8(1).u32(seconds);
        if !wide.is_empty() {
            out.u16(1).short(8 * wide.len());
            for value in wide {
                out.u64(*value);
            }
        }
    }

    fn open(&self, folder: &Folder) -> io::Result<Take<File>> {
        Ok(folder.read(&self.session, &self.id)?.take(self.bytes))
    }
}

fn needed(wide: &[u64]) -> u16 {
    if wide.is_empty() { PLAIN } else { ZIP64 }
}

/// A time in the DOS format: with a resolution of two seconds, from 1980 to 2107.
fn dos(at: Timestamp) -> (u16, u16) {
    let at = Timestamp(at.0.clamp(315_532_800_000, 4_354_819_198_000)).date_time();
    let narrow = |number: i8| u16::try_from(number).unwrap_or_default();
    let time = narrow(at.hour()) << 11 | narrow(at.minute()) << 5 | narrow(at.second() / 2);
    let year = u16::try_from(at.year().saturating_sub(1980)).unwrap_or_default();
    let day = year << 9 | narrow(at.month()) << 5 | narrow(at.day());
    (time, day)
}

/// A buffer of little-endian numbers.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn u8(&mut self, value: u8) -> &mut Self {
        self.0.push(value);
        self
    }

    fn u16(&mut self, value: u16) -> &mut Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    fn u32(&mut self, value: u32) -> &mut Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    fn u64(&mut self, value: u64) -> &mut Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    /// A length in 16 bits: names and extras are short.
    fn short(&mut self, value: usize) -> &mut Self {
        self.u16(u16::try_from(value).unwrap_or(u16::MAX))
    }

    /// A number in 32 bits, or the mark that it is in a 64-bit field.
    fn narrow(&mut self, value: u64) -> &mut Self {
        self.u32(u32::try_from(value).unwrap_or(u32::MAX))
    }

    fn text(&mut self, text: &str) {
        self.0.extend(text.as_bytes());
    }
}

#[cfg(test)]
mod tests;
