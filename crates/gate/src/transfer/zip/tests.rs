use std::io::{Seek as _, Write as _};
use std::path::Path;
use std::process::Command;

use super::*;
use crate::clock::Fake;
use crate::id::{UserId, WorkspaceId};
use crate::testing;
use crate::transfer::Running;

/// 2026-01-01T12:34:56Z.
const AT: Timestamp = Timestamp(1_767_270_896_000);

struct Stage {
    outer: testing::Folder,
    folder: Arc<Folder>,
    clock: Fake,
    session: SessionId,
}

impl Stage {
    fn new() -> Self {
        let (outer, clock) = (testing::folder(), Fake::at(AT));
        let folder = Arc::new(Folder::open(&outer.path().join("files")).unwrap());
        let session = SessionId::draw(&clock).unwrap();
        Self { outer, folder, clock, session }
    }

    fn file(&self, name: &str, bytes: &[u8]) -> FileMeta {
        let mut running = Running::new();
        running.update(bytes);
        let meta = self.meta(name, bytes.len() as u64, running);
        self.folder.write(&self.session, &meta.id).unwrap().write_all(bytes).unwrap();
        meta
    }

    /// A file of zeros, which takes no space on the disk.
    fn sparse(&self, name: &str, bytes: u64) -> FileMeta {
        let meta = self.meta(name, bytes, Running::new());
        self.folder.write(&self.session, &meta.id).unwrap().set_len(bytes).unwrap();
        meta
    }

    fn meta(&self, name: &str, bytes: u64, running: Running) -> FileMeta {
        let (sha256, crc32) = running.finish();
        FileMeta {
            id: FileId::draw(&self.clock).unwrap(),
            user: UserId::draw(&self.clock).unwrap(),
            workspace: WorkspaceId::draw(&self.clock).unwrap(),
            session: self.session.clone(),
            key: None,
            name: FileName::of(name),
            declared_bytes: None,
            declared_sha256: None,
            created_at: AT,
            state: FileState::Complete { at: AT, bytes, sha256, crc32 },
        }
    }

    fn zip(&self, files: &[FileMeta]) -> Zip {
        Zip::new(self.folder.clone(), files.to_vec())
    }

    /// Writes an archive to the disk, and returns its length. Huge files consist of zeros, and
    /// become holes.
    fn written(&self, mut zip: Zip) -> (std::path::PathBuf, u64) {
        let path = self.outer.path().join("all.zip");
        let mut file = File::create(&path).unwrap();
        while !matches!(zip.next, Part::Nothing) {
            zip.advance().unwrap();
            match &mut zip.large {
                Some(huge) if huge.limit() > 1 << 20 => {
                    file.seek_relative(i64::try_from(huge.limit()).unwrap()).unwrap();
                }
                Some(bytes) => drop(io::copy(bytes, &mut file).unwrap()),
                None => file.write_all(zip.small.get_ref()).unwrap(),
            }
        }
        let length = file.stream_position().unwrap();
        (path, length)
    }
}

/// The output of Python's `zipfile` for an archive; `None` if Python is not installed.
fn python(path: &Path, script: &str) -> Option<String> {
    let read = format!(
        "import sys, zipfile\narchive = zipfile.ZipFile(sys.argv[1])\nfiles = archive.infolist()\n{script}"
    );
    match Command::new("python3").arg("-c").arg(read).arg(path).output() {
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            Some(String::from_utf8(output.stdout).unwrap().trim().to_owned())
        }
        Err(error) => {
            eprintln!("skipped: python3 does not run ({error})");
            None
        }
    }
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap())
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

#[test]
fn an_archive_is_as_long_as_it_said_and_holds_every_file() {
    let stage = Stage::new();
    let contents: Vec<(String, Vec<u8>)> = (0_u8..9)
        .map(|number| (format!("größe {number}.bin"), vec![number; usize::from(number) * 7_001]))
        .collect();
    let files: Vec<_> = contents.iter().map(|(name, bytes)| stage.file(name, bytes)).collect();
    let mut zip = stage.zip(&files);
    let length = zip.length();
    let mut whole = Vec::new();
    zip.read_to_end(&mut whole).unwrap();
    assert_eq!((whole.len() as u64, zip.files()), (length, 9));
    // The end record has the offset of the directory, the directory that of each file.
    let end = whole.len() - 22;
    assert_eq!((u32_at(&whole, end), u16_at(&whole, end + 10)), (0x0605_4b50, 9));
    let mut at = u32_at(&whole, end + 16) as usize;
    for (name, bytes) in &contents {
        assert_eq!((u32_at(&whole, at), u16_at(&whole, at + 8) & UTF8), (0x0201_4b50, UTF8));
        assert_eq!(u32_at(&whole, at + 24) as usize, bytes.len());
        let header = u32_at(&whole, at + 42) as usize;
        assert_eq!(&whole[at + 46..at + 46 + name.len()], name.as_bytes());
        assert_eq!(u32_at(&whole, header), 0x0403_4b50);
        assert_eq!(whole[header + 14..header + 26], whole[at + 16..at + 28]);
        let extra = usize::from(u16_at(&whole, header + 28));
        let start = header + 30 + name.len() + extra;
        assert_eq!(&whole[start..start + bytes.len()], bytes);
        at += 46 + name.len() + usize::from(u16_at(&whole, at + 30));
    }
    assert_eq!(at, end);
}

#[test]
fn others_read_it() {
    let stage = Stage::new();
    let files = [
        stage.file("a.txt", b"one"),
        stage.file("empty", b""),
        stage.file("日本 (2).bin", &vec![7; 100_000]),
    ];
    let (path, length) = stage.written(stage.zip(&files));
    assert_eq!(length, stage.zip(&files).length());
    let script = "assert archive.testzip() is None\n\
        print([(f.filename, f.file_size, f.date_time, oct(f.external_attr >> 16)) for f in files])";
    let time = "(2026, 1, 1, 12, 34, 56), '0o100600'";
    if let Some(said) = python(&path, script) {
        let all = format!(
            "[('a.txt', 3, {time}), ('empty', 0, {time}), ('日本 (2).bin', 100000, {time})]"
        );
        assert_eq!(said, all);
    }
}

#[test]
fn nothing_at_all_is_an_archive_too() {
    let stage = Stage::new();
    let (path, length) = stage.written(stage.zip(&[]));
    assert_eq!((length, stage.zip(&[]).length()), (22, 22));
    if let Some(said) = python(&path, "print(len(files))") {
        assert_eq!(said, "0");
    }
}

#[test]
fn what_32_bits_do_not_hold_stands_in_64() {
    let stage = Stage::new();
    let files = [
        stage.file("first", b"1"),
        stage.sparse("huge", (5 << 30) + 1),
        stage.file("after", b"after"),
        // A size equal to the marker value has to be in a 64-bit field itself.
        stage.sparse("edge", WIDE),
        stage.sparse("below", WIDE - 1),
        stage.file("last", b"last"),
    ];
    let zip = stage.zip(&files);
    let said = zip.length();
    let (path, length) = stage.written(zip);
    assert_eq!(length, said);
    let script = "print([f.file_size for f in files], [archive.read(f) for f in (files[0], files[2], files[5])], archive.open(files[1]).read(4))";
    if let Some(said) = python(&path, script) {
        let sizes = format!("[1, {}, 5, {}, {}, 4]", (5_u64 << 30) + 1, WIDE, WIDE - 1);
        let texts = r"[b'1', b'after', b'last'] b'\x00\x00\x00\x00'";
        assert_eq!(said, format!("{sizes} {texts}"));
    }
}

#[test]
fn more_files_than_16_bits_count_are_counted_in_64() {
    let stage = Stage::new();
    let one = stage.file("x", b"x");
    let files: Vec<_> = (0..65_536)
        .map(|number| FileMeta { name: FileName::of(&number.to_string()), ..one.clone() })
        .collect();
    let zip = stage.zip(&files);
    let said = zip.length();
    let (path, length) = stage.written(zip);
    assert_eq!(length, said);
    if let Some(said) =
        python(&path, "print(len(files), files[-1].filename, archive.read('65535'))")
    {
        assert_eq!(said, "65536 65535 b'x'");
    }
}

#[test]
fn a_file_that_shrank_or_went_away_breaks_the_archive_off() {
    let stage = Stage::new();
    let files = [stage.file("a", b"abc")];
    stage.folder.write(&stage.session, &files[0].id).unwrap().set_len(2).unwrap();
    let error = stage.zip(&files).read_to_end(&mut Vec::new()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    stage.folder.remove(&stage.session, &files[0].id).unwrap();
    let error = stage.zip(&files).read_to_end(&mut Vec::new()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
}

#[test]
fn uploads_are_left_out() {
    let stage = Stage::new();
    let whole = stage.file("a", b"abc");
    let part = FileMeta {
        state: FileState::Uploading { received: 3, reserved: 3, expires_at: AT },
        ..whole.clone()
    };
    assert_eq!(stage.zip(&[whole, part]).files(), 1);
}
