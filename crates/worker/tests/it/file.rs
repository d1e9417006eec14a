//! Files: no path leads out of the workspace, whatever is swapped under the executor.
//!
//! Where a test says what happens without a protection, it was seen to fail without it.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::{Bench, EndsWith, done, why, write};
use countersign_core::Action;
use countersign_core::context::PathFacts;
use countersign_wire::work::{Ended, WorkResult};
use rustix::fs::{CWD, RenameFlags, renameat_with};

fn read(bench: &Bench, path: &str) -> WorkResult {
    bench.act(Action::FileRead { path: path.to_owned() })
}

fn put(bench: &Bench, path: &str, content: &str) -> WorkResult {
    let content = Some(content.to_owned());
    bench.act(Action::FileWrite { path: path.to_owned(), content })
}

fn delete(bench: &Bench, path: &str) -> WorkResult {
    bench.act(Action::FileDelete { path: path.to_owned() })
}

#[test]
fn a_file_is_written_read_listed_and_deleted() {
    let bench = Bench::new("files");
    let written = put(&bench, "new/folder/a.txt", "content");
    assert_eq!((written.ended, written.value["created"].as_bool()), (Ended::Done, Some(true)));
    assert_eq!(done(&read(&bench, "new/folder/../folder/./a.txt")), "content");
    let absolute = bench.workspace().join("new/folder/a.txt").display().to_string();
    assert_eq!(done(&read(&bench, &absolute)), "content");
    let listed = bench.act(Action::FileList { path: "new".to_owned() });
    assert_eq!(done(&listed), "folder/\n");
    assert_eq!(delete(&bench, "new/folder").ended, Ended::Failed, "it is not empty");
    assert_eq!(delete(&bench, "new/folder/a.txt").ended, Ended::Done);
    assert_eq!(delete(&bench, "new/folder").ended, Ended::Done);
    assert_eq!(read(&bench, "new/folder/a.txt").ended, Ended::Failed);
}

#[test]
fn a_file_is_replaced_as_a_whole_and_keeps_its_mode() {
    let bench = Bench::new("replace");
    let path = bench.write("a.sh", "before");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o750)).unwrap();
    let reader = std::fs::File::open(&path).unwrap();
    assert_eq!(put(&bench, "a.sh", "after").ended, Ended::Done);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o750);
    // A reader that has it open reads the old content to its end.
    assert_eq!(std::io::read_to_string(reader).unwrap(), "before");
    assert_eq!(std::fs::read_dir(bench.workspace()).unwrap().count(), 1, "no temporary file");
}

#[test]
fn what_is_not_a_file_or_not_inside_is_refused() {
    let bench = Bench::new("refused");
    write(&bench.outside().join("secret"), "outside");
    symlink(bench.outside(), bench.workspace().join("link")).unwrap();
    symlink(bench.outside().join("secret"), bench.workspace().join("file-link")).unwrap();
    let outside = bench.outside().join("secret").display().to_string();
    for (path, name) in [
        ("../outside/secret", "OutsideWorkspace"),
        (&*outside, "OutsideWorkspace"),
        ("a\0b", "NulByte"),
        ("link/secret", "PathSwapped"),
        ("file-link", "PathSwapped"),
        ("/proc/self/root/etc/passwd", "OutsideWorkspace"),
    ] {
        for ended in [read(&bench, path), put(&bench, path, "x")] {
            assert_eq!((ended.ended, why(&ended)), (Ended::Refused, name), "{path} {ended:?}");
        }
    }
    assert_eq!(std::fs::read_to_string(outside).unwrap(), "outside");
    let fifo = bench.workspace().join("fifo");
    rustix::fs::mknodat(
        CWD,
        &fifo,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    assert_eq!(why(&read(&bench, "fifo")), "NotAFile");
    assert_eq!(why(&read(&bench, ".")), "NotAFile");
}

#[test]
fn a_link_that_was_judged_is_followed_to_where_it_led_then() {
    let mut bench = Bench::new("judged");
    let target = bench.write("target", "judged").display().to_string();
    bench.write("other", "other");
    symlink("target", bench.workspace().join("link")).unwrap();
    let facts = PathFacts { resolves_to: Some(target), ..PathFacts::default() };
    bench.context.paths.insert("link".to_owned(), facts);
    assert_eq!(done(&read(&bench, "link")), "judged");
    std::fs::remove_file(bench.workspace().join("link")).unwrap();
    symlink("other", bench.workspace().join("link")).unwrap();
    assert_eq!(done(&read(&bench, "link")), "judged", "not where it leads now");
    // Deleting a link deletes the link.
    assert_eq!(delete(&bench, "link").ended, Ended::Done);
    assert!(bench.workspace().join("target").exists());
    bench.write("link", "a file now");
    assert_eq!(why(&delete(&bench, "link")), "PathSwapped");
}

#[test]
fn a_folder_that_is_swapped_for_a_link_all_the_time_leads_nowhere() {
    let bench = Bench::new("races");
    for (folder, content) in [(bench.workspace(), "inside"), (bench.outside(), "outside")] {
        std::fs::create_dir(folder.join("folder")).unwrap();
        write(&folder.join("folder/file"), content);
    }
    let link = bench.workspace().join("link");
    symlink(bench.outside().join("folder"), &link).unwrap();
    let folder = bench.workspace().join("folder");
    let executors = bench.executors();
    let stop = AtomicBool::new(false);
    let (mut inside, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        let _end = EndsWith(&stop);
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                renameat_with(CWD, &folder, CWD, &link, RenameFlags::EXCHANGE).unwrap();
            }
        });
        // Without `NO_SYMLINKS` and `BENEATH` in `Workspace::at`, some of these read and write
        // outside.
        for _ in 0..300 {
            let path = "folder/file".to_owned();
            let ended = bench.act_by(&executors, Action::FileRead { path });
            if ended.ended == Ended::Done {
                assert_eq!(ended.output.head, "inside");
                inside += 1;
            } else {
                assert_eq!(why(&ended), "PathSwapped", "{ended:?}");
                refused += 1;
            }
            let content = Some("inside".to_owned());
            let path = "folder/new".to_owned();
            bench.act_by(&executors, Action::FileWrite { path, content });
        }
    });
    assert!(inside + refused == 300);
    assert!(!bench.outside().join("folder/new").exists());
    let untouched = std::fs::read_to_string(bench.outside().join("folder/file")).unwrap();
    assert_eq!(untouched, "outside");
}

#[test]
fn a_large_file_is_read_at_both_ends() {
    let mut bench = Bench::new("large");
    bench.limits.output_bytes = 100;
    bench.write("large", &format!("start{}end", "x".repeat(1_000_000)));
    let ended = read(&bench, "large");
    assert!(ended.output.head.starts_with("startx") && ended.output.tail.ends_with("xend"));
    assert_eq!(ended.output.left_out, 1_000_008 - 100);
}
