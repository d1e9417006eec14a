//! Files that an agent made in its session, as the hook knows them: a real repository, real files,
//! and the ways to make an older file look like one of the session's.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::host::hook;
use crate::sandbox::Sandbox;

/// A repository with `kept.txt` in git, `old.txt` outside of it, and a session that has begun.
struct Work {
    sandbox: Sandbox,
}

impl Work {
    /// `None` where git is missing, or the file system lacks creation times.
    fn new(name: &str) -> Option<Self> {
        let work = Self { sandbox: Sandbox::new(name) };
        let project = work.sandbox.project();
        fs::remove_dir_all(project.join(".git")).unwrap();
        let git = |args: &[&str]| {
            work.sandbox.command("git").args(args).status().is_ok_and(|status| status.success())
        };
        let old = work.sandbox.write("old.txt", "the user's\n");
        work.sandbox.write("kept.txt", "in git\n");
        if !git(&["init", "--quiet"]) || !git(&["add", "kept.txt"]) {
            println!("skipped: no git here");
            return None;
        }
        if fs::metadata(old).unwrap().created().is_err() {
            println!("skipped: files here do not tell when they came to be");
            return None;
        }
        work.age();
        assert!(!work.asks("one", "ls"));
        Some(work)
    }

    /// Creates files until one is younger than these by more than a step of any clock.
    fn age(&self) {
        let born = |path: &str| {
            let path = self.sandbox.write(path, "x");
            let born = fs::metadata(&path).unwrap().created().unwrap();
            fs::remove_file(path).unwrap();
            born
        };
        let first = born("tick");
        while born("tick") < first + std::time::Duration::from_millis(50) {}
    }

    fn path(&self, path: &str) -> PathBuf {
        self.sandbox.project().join(path)
    }

    fn call(&self, session: &str, tool: &str, input: &Value) -> String {
        let event = json!({
            "session_id": session, "hook_event_name": "PreToolUse", "tool_name": tool,
            "tool_input": input, "tool_use_id": "1", "cwd": self.sandbox.project(),
        });
        hook(&self.sandbox, "claude-code", &event.to_string()).out
    }

    /// Reports whether a command of this session is asked about or refused.
    fn asks(&self, session: &str, command: &str) -> bool {
        let said = self.call(session, "Bash", &json!({"command": command}));
        let said: Value = serde_json::from_str(&said).unwrap_or_default();
        let decision = said["hookSpecificOutput"]["permissionDecision"].as_str().unwrap_or("");
        matches!(decision, "ask" | "deny")
    }

    /// Lets a command through and then has its effect.
    fn does(&self, session: &str, command: &str, doing: impl FnOnce(&Self)) {
        self.asks(session, command);
        doing(self);
    }

    fn makes(&self, session: &str, path: &str) {
        self.does(session, &format!("echo x > {path}"), |work| {
            work.sandbox.write(path, "x\n");
        });
    }
}

#[test]
fn what_the_session_made_is_not_asked_about() {
    let Some(work) = Work::new("made-own") else { return };
    work.makes("one", "try.py");
    assert!(!work.asks("one", "rm try.py"));
    work.does("one", "mkdir -p tries/deep", |work| {
        fs::create_dir_all(work.path("tries/deep")).unwrap();
        work.sandbox.write("tries/deep/a.txt", "a");
    });
    assert!(!work.asks("one", "rm -rf tries"));
    assert!(!work.asks("one", "rm tries/deep/a.txt"));
    let path = work.path("notes/new.md");
    work.call("one", "Write", &json!({"file_path": path, "content": "x"}));
    work.sandbox.write("notes/new.md", "x");
    assert!(!work.asks("one", "rm -r notes"));
    assert!(!work.asks("one", "rmdir no-such-folder"));
}

#[test]
fn what_was_there_before_is() {
    let Some(work) = Work::new("made-before") else { return };
    for command in ["rm old.txt", "rm kept.txt", "rm -rf .", "rm *", "rm \"$UNKNOWN\""] {
        assert!(work.asks("one", command), "{command}");
    }
    // Written again in any way, it is still the user's.
    work.makes("one", "old.txt");
    fs::remove_file(work.path("old.txt")).unwrap();
    work.sandbox.write("old.txt", "another inode\n");
    assert!(work.asks("one", "rm old.txt"));
}

#[test]
fn another_sessions_files_are() {
    let Some(work) = Work::new("made-others") else { return };
    work.makes("one", "try.py");
    assert!(work.asks("two", "rm try.py"));
    work.sandbox.write("by-nobody.txt", "x");
    assert!(work.asks("one", "rm by-nobody.txt"));
}

#[test]
fn no_time_that_a_file_is_given_makes_it_younger() {
    let Some(work) = Work::new("made-touch") else { return };
    work.does("one", "touch -d tomorrow old.txt", |work| {
        let tomorrow = std::time::SystemTime::now() + std::time::Duration::from_hours(24);
        fs::File::open(work.path("old.txt")).unwrap().set_modified(tomorrow).unwrap();
    });
    assert!(work.asks("one", "rm old.txt"));
}

#[test]
fn an_older_file_under_a_new_name_is_no_newer() {
    let Some(work) = Work::new("made-moved") else { return };
    work.makes("one", "new.txt");
    assert!(work.asks("one", "mv old.txt new.txt && rm new.txt"));
    work.does("one", "mv old.txt new.txt", |work| {
        fs::rename(work.path("old.txt"), work.path("new.txt")).unwrap();
    });
    assert!(work.asks("one", "rm new.txt"));
    // Not even as a new file with the same content.
    fs::remove_file(work.path("new.txt")).unwrap();
    work.sandbox.write("new.txt", "the user's\n");
    assert!(work.asks("one", "rm new.txt"));
}

#[test]
fn an_older_file_in_a_new_folder_keeps_the_folder() {
    let Some(work) = Work::new("made-inside") else { return };
    work.does("one", "mkdir box", |work| fs::create_dir(work.path("box")).unwrap());
    assert!(!work.asks("one", "rm -r box"));
    // By a move that the hook did not see.
    fs::rename(work.path("old.txt"), work.path("box/old.txt")).unwrap();
    assert!(work.asks("one", "rm -r box"));
    fs::rename(work.path("box/old.txt"), work.path("old.txt")).unwrap();
    assert!(!work.asks("one", "rm -r box"));
    work.does("one", "mv old.txt box/", |_| {});
    assert!(work.asks("one", "rm -r box"));
}

#[test]
fn links_lead_nowhere() {
    let Some(work) = Work::new("made-links") else { return };
    work.does("one", "ln old.txt hard.txt", |work| {
        fs::hard_link(work.path("old.txt"), work.path("hard.txt")).unwrap();
    });
    assert!(work.asks("one", "rm hard.txt"));
    work.does("one", "mkdir box", |work| fs::create_dir(work.path("box")).unwrap());
    fs::hard_link(work.path("old.txt"), work.path("box/hard.txt")).unwrap();
    assert!(work.asks("one", "rm -r box"));
    work.does("one", "mkdir outside", |work| {
        symlink(work.sandbox.home(), work.path("outside")).unwrap();
    });
    fs::write(work.sandbox.home().join("notes.txt"), "x").unwrap();
    for command in ["rm outside/notes.txt", "rm -rf outside/", "rm -rf outside/*"] {
        assert!(work.asks("one", command), "{command}");
    }
}

#[test]
fn what_git_knows_and_what_is_guarded_is_asked_about() {
    let Some(work) = Work::new("made-tracked") else { return };
    work.makes("one", "new.txt");
    assert!(work.sandbox.command("git").args(["add", "new.txt"]).status().unwrap().success());
    assert!(work.asks("one", "rm new.txt"));
    for path in [".env", ".mcp.json", ".claude/settings.json", ".envrc"] {
        work.makes("one", path);
        assert!(work.asks("one", &format!("rm {path}")), "{path}");
    }
    work.makes("one", "plain.txt");
    assert!(!work.asks("one", "rm plain.txt"));
    assert!(work.asks("one", "rm plain.txt && git push --force"));
}

#[test]
fn a_record_that_is_not_ours_says_nothing() {
    let Some(work) = Work::new("made-record") else { return };
    work.makes("one", "try.py");
    assert!(!work.asks("one", "rm try.py"));
    let folder = work.sandbox.data().join("made");
    let record = fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    let text = fs::read_to_string(&record).unwrap();
    assert!(!text.contains("try.py"));
    fs::write(&record, format!("{text}something else\n")).unwrap();
    assert!(work.asks("one", "rm try.py"));
}
