//! Files: handed in chunk by chunk, within their limits, and only by and to authorised callers.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;
use std::thread;

use countersign_gate::bytes::Hash;
use countersign_gate::id::{FileId, SessionId};
use countersign_gate::key::Access;
use countersign_gate::preferences::{Logging, Preferences};
use countersign_gate::session::Plan;
use countersign_gate::store::{Kind, Query};
use countersign_gate::transfer::{
    FileMeta, FileName, FileState, Limits, NewFile, Reader, TransferError, Upload,
};
use countersign_gate::user::Membership;
use countersign_gate::{Caller, Config};
use pollster::block_on;
use proptest::prelude::*;
use sha2::{Digest as _, Sha256};

use crate::world::{Setup, World, world};

fn small() -> Limits {
    Limits { file_bytes: 100, session_bytes: 250, files: 5, chunk_bytes: 40 }
}

fn setup(files: Limits) -> Setup {
    let config = Config { files, ..Config::default() };
    Setup { config, on_disk: true, files: true, ..Setup::default() }
}

fn new(name: &str) -> NewFile {
    NewFile { name: FileName::of(name), bytes: None, sha256: None }
}

fn sized(name: &str, bytes: u64) -> NewFile {
    NewFile { bytes: Some(bytes), ..new(name) }
}

fn sha(bytes: &[u8]) -> Hash {
    Hash(Sha256::digest(bytes).into())
}

impl World {
    fn begin(&self, session: &SessionId, new: NewFile) -> Result<Upload, TransferError> {
        block_on(self.gate.begin_upload(&self.agent, session, new))
    }

    fn chunk(&self, id: &FileId, offset: u64, bytes: &[u8]) -> Result<Upload, TransferError> {
        block_on(self.gate.write_chunk(&self.agent, id, offset, bytes))
    }

    fn finish(&self, id: &FileId) -> Result<FileMeta, TransferError> {
        block_on(self.gate.finish_upload(&self.agent, id))
    }

    fn hand_in(&self, session: &SessionId, name: &str, bytes: &[u8]) -> FileMeta {
        let upload = self.begin(session, new(name)).unwrap();
        let mut at = 0;
        for piece in bytes.chunks(usize::try_from(upload.chunk_bytes).unwrap()) {
            at = self.chunk(&upload.id, at, piece).unwrap().offset;
        }
        self.finish(&upload.id).unwrap()
    }

    fn listed(&self, session: &SessionId) -> Vec<String> {
        let reader = Reader::Caller(&self.agent);
        let files = block_on(self.gate.files(reader, session, None, 100)).unwrap();
        files.into_iter().map(|file| file.name.to_string()).collect()
    }

    fn read(&self, id: &FileId) -> Vec<u8> {
        let mut open = block_on(self.gate.open_file(Reader::Person(&self.owner), id)).unwrap();
        let mut bytes = Vec::new();
        open.file.read_to_end(&mut bytes).unwrap();
        assert_eq!(open.bytes, bytes.len() as u64);
        bytes
    }

    fn used(&self, session: &SessionId) -> (u64, u64) {
        let counter = |what| {
            block_on(self.gate.store().counter(&format!("session:{session}:{what}"))).unwrap()
        };
        (counter("uploads"), counter("upload_bytes"))
    }

    fn on_disk(&self, session: &SessionId) -> Vec<PathBuf> {
        let folder = self.folder().join("files").join(session.as_str());
        let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    fn documents(&self) -> usize {
        let count = |kind| block_on(self.gate.store().count(&Query::of(kind))).unwrap();
        usize::try_from(count(Kind::File) + count(Kind::FileName)).unwrap()
    }
}

#[test]
fn a_file_comes_in_pieces_and_goes_out_whole() {
    let world = World::new(setup(small()));
    let session = world.session(Plan::default());
    let bytes: Vec<u8> = (0..95).collect();
    let file = NewFile { sha256: Some(sha(&bytes)), ..sized("../a.bin", 95) };
    let upload = world.begin(&session, file).unwrap();
    assert_eq!((upload.offset, upload.chunk_bytes, upload.name.as_str()), (0, 40, "a.bin"));
    assert_eq!(world.used(&session), (1, 95));
    for (at, piece) in (0..).step_by(40).zip(bytes.chunks(40)) {
        world.chunk(&upload.id, at, piece).unwrap();
    }
    let meta = world.finish(&upload.id).unwrap();
    let FileState::Complete { bytes: length, sha256, .. } = meta.state else { panic!() };
    assert_eq!((length, sha256), (95, sha(&bytes)));
    assert_eq!(world.read(&meta.id), bytes);
    // Calling it again changes nothing: the first answer may have been lost.
    assert_eq!(world.finish(&upload.id).unwrap(), meta);
    assert_eq!(world.recorded("file_received").len(), 1);
    // From the middle.
    let mut open = block_on(world.gate.open_file(Reader::Caller(&world.agent), &meta.id)).unwrap();
    open.file.seek(SeekFrom::Start(90)).unwrap();
    let mut rest = Vec::new();
    open.file.read_to_end(&mut rest).unwrap();
    assert_eq!(rest, [90, 91, 92, 93, 94]);
    world.verify();
}

#[test]
fn a_server_may_move_all_of_it_between_threads() {
    fn moves<T: Send>(value: T) -> T {
        value
    }
    let world = World::new(setup(small()));
    let session = world.session(Plan::default());
    let (gate, agent) = (&world.gate, &world.agent);
    let id = block_on(moves(gate.begin_upload(agent, &session, new("a")))).unwrap().id;
    let incoming = moves(block_on(moves(gate.receive(agent, &id, 0, None))).unwrap());
    block_on(moves(gate.keep(agent, incoming))).unwrap();
    block_on(moves(gate.write_chunk(agent, &id, 0, b"x"))).unwrap();
    block_on(moves(gate.finish_upload(agent, &id))).unwrap();
    let reader = Reader::Caller(agent);
    drop(block_on(moves(gate.files(reader, &session, None, 1))).unwrap());
    drop(moves(block_on(moves(gate.open_file(reader, &id))).unwrap()));
    drop(moves(block_on(moves(gate.zip(reader, &session))).unwrap()));
    block_on(moves(gate.sweep())).unwrap();
    block_on(moves(gate.retain())).unwrap();
}

#[test]
fn without_a_folder_there_are_no_files() {
    let world = world();
    let session = world.session(Plan::default());
    assert!(matches!(world.begin(&session, new("a")), Err(TransferError::Off)));
}

#[test]
fn a_name_that_is_taken_gets_a_number() {
    let world = World::new(setup(small()));
    let session = world.session(Plan::default());
    assert_eq!(world.hand_in(&session, "Report.pdf", b"1").name.as_str(), "Report.pdf");
    let second = world.begin(&session, new("report.PDF")).unwrap();
    assert_eq!(second.name.as_str(), "report (2).PDF");
    assert_eq!(world.begin(&session, new("REPORT.pdf")).unwrap().name.as_str(), "REPORT (3).pdf");
    block_on(world.gate.abort_upload(&world.agent, &second.id)).unwrap();
    assert_eq!(world.begin(&session, new("report.pdf")).unwrap().name.as_str(), "report (2).pdf");
    let other = world.session(Plan::default());
    assert_eq!(world.begin(&other, new("report.pdf")).unwrap().name.as_str(), "report.pdf");
}

#[test]
fn limits_hold_and_say_which_one_it_was() {
    let world = World::new(setup(small()));
    let session = world.session(Plan::default());
    let error = |done: Result<Upload, TransferError>| done.unwrap_err().to_string();
    assert!(error(world.begin(&session, sized("a", 101))).contains("at most 100 bytes"));
    let a = world.begin(&session, sized("a", 100)).unwrap().id;
    world.begin(&session, sized("b", 100)).unwrap();
    assert!(error(world.begin(&session, sized("c", 51))).contains("at most 250 bytes together"));
    let c = world.begin(&session, sized("c", 50)).unwrap().id;
    assert_eq!(world.used(&session), (3, 250));
    // Beyond the chunk limit, the declared size, at a wrong offset, and without space.
    assert!(error(world.chunk(&a, 0, &[0; 41])).contains("at most 40 bytes are taken"));
    world.chunk(&c, 0, &[0; 40]).unwrap();
    assert!(error(world.chunk(&c, 40, &[0; 11])).contains("said to have 50"));
    assert!(error(world.chunk(&c, 0, &[0; 1])).contains("continues at byte 40"));
    assert!(world.finish(&c).unwrap_err().to_string().contains("said to have 50"));
    let d = world.begin(&session, new("d")).unwrap().id;
    assert!(error(world.chunk(&d, 0, &[0; 1])).contains("at most 250 bytes together"));
    world.begin(&session, new("e")).unwrap();
    assert!(error(world.begin(&session, new("f"))).contains("at most 5 files"));
    // Space that is released can be reserved again.
    block_on(world.gate.abort_upload(&world.agent, &a)).unwrap();
    assert_eq!(world.used(&session), (4, 150));
    for at in [0, 40] {
        world.chunk(&d, at, &[0; 40]).unwrap();
    }
    world.chunk(&d, 80, &[0; 20]).unwrap();
    assert!(error(world.chunk(&d, 100, &[0; 1])).contains("a file may have at most 100"));
    assert_eq!(world.used(&session), (4, 250));
    assert!(matches!(block_on(world.gate.upload(&world.agent, &a)), Err(TransferError::NotFound)));
}

#[test]
fn a_piece_of_unknown_length_takes_what_room_there_is_and_gives_the_rest_back() {
    let world = World::new(setup(Limits { session_bytes: 60, ..small() }));
    let session = world.session(Plan::default());
    let id = world.begin(&session, new("a")).unwrap().id;
    let receive = |at| block_on(world.gate.receive(&world.agent, &id, at, None)).unwrap();
    let mut incoming = receive(0);
    assert_eq!((incoming.room(), world.used(&session)), (40, (1, 40)));
    incoming.write(&[1; 10]).unwrap();
    assert!(matches!(incoming.write(&[1; 31]), Err(TransferError::ChunkTooLarge { most: 40 })));
    incoming.write(&[1; 20]).unwrap();
    assert_eq!(block_on(world.gate.keep(&world.agent, incoming)).unwrap().offset, 30);
    assert_eq!(world.used(&session), (1, 30));
    let mut incoming = receive(30);
    assert_eq!(incoming.room(), 30);
    assert!(matches!(incoming.write(&[1; 31]), Err(TransferError::SessionFull { most: 60 })));
    drop(incoming);
    // Bytes that were never committed leave no trace.
    assert_eq!(block_on(world.gate.upload(&world.agent, &id)).unwrap().offset, 30);
    let meta = world.finish(&id).unwrap();
    assert_eq!((world.read(&meta.id), world.used(&session)), (vec![1; 30], (1, 30)));
}

#[test]
fn one_writes_at_a_time() {
    let world = World::new(setup(small()));
    let session = world.session(Plan::default());
    let id = world.begin(&session, new("a")).unwrap().id;
    let mut incoming = block_on(world.gate.receive(&world.agent, &id, 0, None)).unwrap();
    incoming.write(b"first").unwrap();
    assert!(matches!(world.chunk(&id, 0, b"other"), Err(TransferError::Writing)));
    assert!(matches!(world.finish(&id), Err(TransferError::Writing)));
    block_on(world.gate.keep(&world.agent, incoming)).unwrap();
    assert!(matches!(world.chunk(&id, 0, b"other"), Err(TransferError::Offset { expected: 5 })));
    // An upload that is aborted during a write is gone all the same.
    let incoming = block_on(world.gate.receive(&world.agent, &id, 5, None)).unwrap();
    block_on(world.gate.abort_upload(&world.agent, &id)).unwrap();
    let kept = block_on(world.gate.keep(&world.agent, incoming));
    assert!(matches!(kept, Err(TransferError::NotFound)));
    assert_eq!((world.used(&session), world.on_disk(&session).len()), ((0, 0), 0));
    assert_eq!(world.documents(), 0);
}

#[test]
fn what_is_not_what_was_said_is_dropped() {
    let world = World::new(setup(small()));
    let session = world.session(Plan::default());
    let file = NewFile { sha256: Some(sha(b"good")), ..new("a") };
    let id = world.begin(&session, file).unwrap().id;
    world.chunk(&id, 0, b"evil").unwrap();
    assert!(matches!(world.finish(&id), Err(TransferError::Differs)));
    assert!(world.listed(&session).is_empty() && world.on_disk(&session).is_empty());
    assert_eq!((world.used(&session), world.documents()), ((0, 0), 0));
    assert!(world.recorded("file_received").is_empty());
}

#[test]
fn an_upload_goes_on_after_a_restart_and_hashes_the_whole() {
    let world = World::new(setup(small()));
    let session = world.session(Plan::default());
    let id = world.begin(&session, sized("a", 60)).unwrap().id;
    world.chunk(&id, 0, &[1; 25]).unwrap();
    // Bytes that were written and not committed before a power failure.
    let mut incoming = block_on(world.gate.receive(&world.agent, &id, 25, None)).unwrap();
    incoming.write(&[9; 15]).unwrap();
    drop(incoming);
    let world = world.restart(setup(small()));
    let upload = block_on(world.gate.upload(&world.agent, &id)).unwrap();
    assert_eq!((upload.offset, upload.bytes), (25, Some(60)));
    world.chunk(&id, 25, &[2; 35]).unwrap();
    let world = world.restart(setup(small()));
    let meta = world.finish(&id).unwrap();
    let whole = [vec![1; 25], vec![2; 35]].concat();
    let FileState::Complete { sha256, .. } = meta.state else { panic!() };
    assert_eq!((world.read(&id), sha256), (whole.clone(), sha(&whole)));
    assert_eq!(world.used(&session), (1, 60));
    let world = world.restart(setup(small()));
    assert_eq!(world.listed(&session), ["a"]);
    assert!(matches!(
        world.begin(&session, sized("b", 191)),
        Err(TransferError::FileTooLarge { .. })
    ));
    for name in ["b", "c"] {
        world.begin(&session, sized(name, 95)).unwrap();
    }
    let full = world.begin(&session, sized("d", 1));
    assert!(matches!(full, Err(TransferError::SessionFull { most: 250 })));
}

#[test]
fn bytes_that_were_lost_are_noticed() {
    let world = World::new(setup(small()));
    let session = world.session(Plan::default());
    let id = world.begin(&session, new("a")).unwrap().id;
    world.chunk(&id, 0, &[1; 30]).unwrap();
    let path = world.on_disk(&session).pop().unwrap();
    let cut = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    cut.set_len(10).unwrap();
    assert!(matches!(world.chunk(&id, 30, &[1; 5]), Err(TransferError::Lost)));
    assert!(matches!(world.finish(&id), Err(TransferError::Lost)));
    let whole = world.hand_in(&session, "b", &[1; 30]);
    let path = path.with_file_name(whole.id.as_str());
    std::fs::write(&path, "short").unwrap();
    let open = || block_on(world.gate.open_file(Reader::Caller(&world.agent), &whole.id));
    assert!(matches!(open(), Err(TransferError::Lost)));
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(open(), Err(TransferError::Lost)));
}

#[test]
fn only_into_a_running_session_and_not_while_everything_is_halted() {
    let world = World::new(setup(small()));
    let session = world.session(Plan::default());
    let done = world.hand_in(&session, "done", b"x").id;
    let id = world.begin(&session, new("a")).unwrap().id;
    let late = block_on(world.gate.receive(&world.agent, &id, 0, None)).unwrap();
    block_on(world.gate.halt(&world.owner)).unwrap();
    let stopped = |error: &TransferError| matches!(error, TransferError::Halted);
    assert!(stopped(&world.begin(&session, new("b")).unwrap_err()));
    assert!(stopped(&world.chunk(&id, 0, b"x").unwrap_err()));
    assert!(stopped(&world.finish(&id).unwrap_err()));
    assert!(stopped(&block_on(world.gate.keep(&world.agent, late)).unwrap_err()));
    block_on(world.gate.resume(&world.owner)).unwrap();
    world.chunk(&id, 0, b"x").unwrap();
    let late = block_on(world.gate.receive(&world.agent, &id, 1, None)).unwrap();
    block_on(world.gate.stop(&world.owner, &session)).unwrap();
    let over = |error: &TransferError| matches!(error, TransferError::NotRunning("over"));
    assert!(over(&world.begin(&session, new("b")).unwrap_err()));
    assert!(over(&world.chunk(&id, 1, b"x").unwrap_err()));
    assert!(over(&world.finish(&id).unwrap_err()));
    assert!(over(&block_on(world.gate.keep(&world.agent, late)).unwrap_err()));
    // Complete files can still be read, and incomplete ones aborted.
    assert_eq!((world.listed(&session), world.read(&done)), (vec!["done".into()], b"x".to_vec()));
    block_on(world.gate.abort_upload(&world.agent, &id)).unwrap();
    assert_eq!(world.on_disk(&session).len(), 1);
    assert_eq!(world.used(&session), (0, 0));
}

#[test]
fn others_see_nothing_and_write_nothing() {
    let world = World::new(setup(small()));
    let bob = world.person("Bob", Membership::Member);
    let admin = world.person("Eve", Membership::Admin);
    let elsewhere = block_on(world.gate.add_workspace(&world.owner, "other")).unwrap();
    let stranger = world.person_in("Sam", &elsewhere, Membership::Admin);
    let bobs = world.key(&bob, Access::Agent, "*");
    let owner = block_on(world.gate.by_channel(world.user())).unwrap();
    let other_workspace = owner.assistant(&elsewhere).unwrap();
    let session = world.session(Plan::default());
    let file = world.hand_in(&session, "a", b"x").id;
    let open = world.begin(&session, new("b")).unwrap().id;
    let not_found =
        |error: TransferError| assert!(matches!(error, TransferError::NotFound), "{error}");
    let gate = &world.gate;
    for caller in [&bobs, &other_workspace] {
        not_found(block_on(gate.begin_upload(caller, &session, new("c"))).unwrap_err());
        not_found(block_on(gate.upload(caller, &open)).unwrap_err());
        not_found(block_on(gate.write_chunk(caller, &open, 0, b"x")).unwrap_err());
        not_found(block_on(gate.finish_upload(caller, &open)).unwrap_err());
        not_found(block_on(gate.finish_upload(caller, &file)).unwrap_err());
        not_found(block_on(gate.abort_upload(caller, &open)).unwrap_err());
    }
    let readers = |reader: Reader<'_>| {
        let listed = block_on(gate.files(reader, &session, None, 9)).map(|files| files.len());
        let opened = block_on(gate.open_file(reader, &file)).map(|_| 1);
        let packed = block_on(gate.zip(reader, &session)).map(|zip| zip.files());
        [listed, opened, packed]
    };
    for reader in [
        Reader::Caller(&bobs),
        Reader::Caller(&other_workspace),
        Reader::Person(&bob),
        Reader::Person(&stranger),
    ] {
        for read in readers(reader) {
            not_found(read.unwrap_err());
        }
    }
    let assistant = world.assistant();
    for reader in [
        Reader::Caller(&world.agent),
        Reader::Caller(&assistant),
        Reader::Person(&world.owner),
        Reader::Person(&admin),
    ] {
        assert_eq!(readers(reader).map(Result::unwrap), [1, 1, 1]);
    }
    // An incomplete file cannot be read by anyone.
    not_found(block_on(gate.open_file(Reader::Person(&world.owner), &open)).unwrap_err());
}

#[test]
fn a_name_is_on_record_only_where_more_is_wanted_and_redacted() {
    let world = World::new(setup(small()));
    let session = world.session(Plan::default());
    let key = format!("AKIA{}", "Z7KQ2M5XW3T9B4HD");
    let name = format!("{key}.txt");
    world.hand_in(&session, &name, b"x");
    let minimal = world.recorded("file_received").pop().unwrap();
    assert_eq!(minimal["bytes"], 1);
    assert!(minimal["sha256"].is_string() && minimal["id"].is_string());
    assert!(minimal.get("name").is_none(), "{minimal}");
    let settings = |settings: &mut Preferences| settings.logging = Logging::Enhanced;
    block_on(world.gate.change_settings(&world.owner, settings)).unwrap();
    world.hand_in(&session, &name, b"x");
    let enhanced = world.recorded("file_received").pop().unwrap();
    let told = enhanced["name"].as_str().unwrap();
    assert!(told.contains("txt") && !told.contains(&key), "{told}");
}

#[test]
fn lists_come_in_pages_and_archives_whole() {
    let world = World::new(setup(Limits { files: 30, session_bytes: 10_000, ..small() }));
    let session = world.session(Plan::default());
    let names: Vec<_> = (0..25).map(|number| format!("{number}.txt")).collect();
    for name in &names {
        world.hand_in(&session, name, name.as_bytes());
        world.pass(1);
    }
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let reader = Reader::Person(&world.owner);
        let page = block_on(world.gate.files(reader, &session, after.as_ref(), 10)).unwrap();
        let Some(last) = page.last() else { break };
        after = Some(last.id.clone());
        seen.extend(page.into_iter().map(|file| file.name.to_string()));
    }
    assert_eq!(seen, names);
    let mut zip = block_on(world.gate.zip(Reader::Person(&world.owner), &session)).unwrap();
    let mut whole = Vec::new();
    zip.read_to_end(&mut whole).unwrap();
    assert_eq!((zip.files(), zip.length()), (25, whole.len() as u64));
}

#[test]
fn an_upload_that_is_never_finished_goes_away_after_a_day() {
    let world = World::new(setup(small()));
    let session = world.session(Plan::default());
    let done = world.hand_in(&session, "done", b"x").id;
    let id = world.begin(&session, sized("a", 50)).unwrap().id;
    world.chunk(&id, 0, b"some").unwrap();
    world.pass(24 * 3_600 - 1);
    world.sweep();
    assert_eq!(block_on(world.gate.upload(&world.agent, &id)).unwrap().offset, 4);
    world.pass(1);
    world.sweep();
    assert!(matches!(block_on(world.gate.upload(&world.agent, &id)), Err(TransferError::NotFound)));
    assert_eq!(world.read(&done), b"x");
    assert_eq!((world.used(&session), world.on_disk(&session).len()), ((1, 1), 1));
}

#[test]
fn files_go_with_retention_and_not_before() {
    let world = World::new(setup(small()));
    let [old, alive] = [0, 1].map(|_| world.session(Plan::default()));
    world.hand_in(&old, "a", b"x");
    world.hand_in(&alive, "a", b"x");
    block_on(world.gate.stop(&world.owner, &old)).unwrap();
    world.pass(29 * 86_400);
    block_on(world.gate.retain()).unwrap();
    assert_eq!(world.listed(&old), ["a"]);
    world.pass(2 * 86_400);
    // Left by a crash: bytes without a document.
    std::fs::write(world.folder().join("files").join(old.as_str()).join("stray"), "x").unwrap();
    block_on(world.gate.retain()).unwrap();
    assert!(!world.folder().join("files").join(old.as_str()).exists());
    assert_eq!((world.listed(&alive), world.documents()), (vec!["a".to_owned()], 2));
}

#[test]
fn who_wants_their_records_gone_sooner_gets_their_files_gone_sooner() {
    let world = World::new(setup(small()));
    let session = world.session(Plan::default());
    world.hand_in(&session, "a", b"x");
    block_on(world.gate.stop(&world.owner, &session)).unwrap();
    let settings = |settings: &mut Preferences| settings.retention_days = Some(3);
    block_on(world.gate.change_settings(&world.owner, settings)).unwrap();
    for (days, left) in [(2, 1), (2, 0)] {
        world.pass(days * 86_400);
        block_on(world.gate.retain()).unwrap();
        assert_eq!(world.on_disk(&session).len(), left);
    }
    assert_eq!(world.documents(), 0);
}

#[test]
fn erasing_somebody_erases_their_files_and_nobody_elses() {
    let world = World::new(setup(small()));
    let bob = world.person("Bob", Membership::Member);
    let bobs = bob.assistant(&world.workspace).unwrap();
    let started =
        world.gate.start(&bobs, Plan::default(), countersign_gate::gate::Consent::Given, vec![]);
    let session = block_on(started).unwrap().id;
    let mine = world.session(Plan::default());
    let kept = world.hand_in(&mine, "mine", b"x").id;
    let upload = |caller: &Caller, name| {
        let begun = block_on(world.gate.begin_upload(caller, &session, new(name))).unwrap();
        block_on(world.gate.write_chunk(caller, &begun.id, 0, b"theirs")).unwrap();
        begun.id
    };
    let whole = upload(&bobs, "whole");
    block_on(world.gate.finish_upload(&bobs, &whole)).unwrap();
    upload(&bobs, "part");
    assert_eq!(world.on_disk(&session).len(), 2);
    block_on(world.gate.erase(&bob, &bob.user().id)).unwrap();
    assert_eq!((world.on_disk(&session).len(), world.used(&session)), (0, (0, 0)));
    assert_eq!((world.read(&kept), world.documents()), (b"x".to_vec(), 2));
    // The session runs on.
    upload(&bobs, "whole");
}

#[test]
fn limits_hold_however_many_hand_in_at_once() {
    let limits = Limits { file_bytes: 1_000, session_bytes: 3_000, files: 40, chunk_bytes: 50 };
    let world = World::new(setup(limits));
    let session = world.session(Plan::default());
    let work = |number: u64| {
        let mut kept = (0, 0);
        for round in 0..12 {
            let size = 10 + (number * 31 + round * 17) % 90;
            let file = if round % 2 == 0 { sized("same name", size) } else { new("same name") };
            let Ok(upload) = world.begin(&session, file) else { continue };
            let bytes = vec![7; usize::try_from(size).unwrap()];
            let written = (0..)
                .step_by(50)
                .zip(bytes.chunks(50))
                .all(|(at, piece)| world.chunk(&upload.id, at, piece).is_ok());
            if written && round % 5 != 4 && world.finish(&upload.id).is_ok() {
                kept = (kept.0 + 1, kept.1 + size);
            } else {
                block_on(world.gate.abort_upload(&world.agent, &upload.id)).unwrap();
            }
            let (files, bytes) = world.used(&session);
            assert!(files <= 40 && bytes <= 3_000, "{files} {bytes}");
        }
        kept
    };
    let kept = thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = (0..8).map(|number| scope.spawn(move || work(number))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    let kept = kept.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    assert!(kept.0 > 20, "{kept:?}");
    assert_eq!(world.used(&session), kept);
    let mut names = world.listed(&session);
    assert_eq!((names.len() as u64, world.on_disk(&session).len() as u64), (kept.0, kept.0));
    names.sort();
    names.dedup();
    assert_eq!(names.len() as u64, kept.0);
    world.verify();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn slices_losses_and_restarts_end_in_the_same_bytes(
        bytes in prop::collection::vec(any::<u8>(), 0..2_000),
        steps in prop::collection::vec((1_usize..400, 1_usize..90, 0_u8..8), 1..40),
        declared: bool,
    ) {
        let limits = Limits { file_bytes: 2_000, session_bytes: 2_500, files: 2, chunk_bytes: 300 };
        let mut world = World::new(setup(limits));
        let session = world.session(Plan::default());
        let mut file = new("a");
        if declared {
            file.bytes = Some(bytes.len() as u64);
            file.sha256 = Some(sha(&bytes));
        }
        let id = world.begin(&session, file).unwrap().id;
        let mut steps = steps.into_iter().chain([(300, 300, 0); 10]);
        loop {
            let offset = block_on(world.gate.upload(&world.agent, &id)).unwrap().offset;
            let rest = &bytes[usize::try_from(offset).unwrap()..];
            let Some((length, slice, fate)) = steps.next().filter(|_| !rest.is_empty()) else {
                break;
            };
            let piece = &rest[..rest.len().min(length).min(300)];
            let said = (fate % 2 == 0).then_some(piece.len() as u64);
            let mut incoming =
                block_on(world.gate.receive(&world.agent, &id, offset, said)).unwrap();
            for slice in piece.chunks(slice) {
                incoming.write(slice).unwrap();
                if fate == 3 {
                    break;
                }
            }
            match fate {
                // The connection is lost, and the bytes that arrived are not committed.
                5 => drop(incoming),
                6 => {
                    drop(incoming);
                    world = world.restart(setup(limits));
                }
                _ => drop(block_on(world.gate.keep(&world.agent, incoming)).unwrap()),
            }
            if fate == 7 {
                world = world.restart(setup(limits));
            }
        }
        let offset = block_on(world.gate.upload(&world.agent, &id)).unwrap().offset;
        if offset == bytes.len() as u64 {
            let meta = world.finish(&id).unwrap();
            let FileState::Complete { sha256, bytes: length, .. } = meta.state else { panic!() };
            prop_assert_eq!((sha256, length), (sha(&bytes), offset));
            prop_assert_eq!(world.read(&id), bytes);
            prop_assert_eq!(world.used(&session), (1, offset));
        } else if declared {
            prop_assert!(world.finish(&id).is_err());
        }
    }
}
