//! Commands and code: what was judged is what runs, and nothing of it is left when it is over.
//!
//! Where a test says what happens without a protection, it was seen to fail without it.

use std::fs::File;
use std::os::fd::AsFd as _;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::{Bench, EndsWith, done, executable, runs, until, why, write};
use countersign_core::Action;
use countersign_core::action::Language;
use countersign_wire::work::{Ended, WorkLimits};
use countersign_worker::Places;

#[test]
fn a_command_runs_as_it_was_judged() {
    let bench = Bench::new("plain");
    std::fs::create_dir(bench.workspace().join("sub")).unwrap();
    let ended = bench.run("echo out; echo err >&2; pwd; exit 7");
    assert_eq!((ended.ended, ended.code), (Ended::Failed, Some(7)));
    assert_eq!(ended.output.head, format!("out\n{}\n", bench.workspace().display()));
    assert_eq!(ended.errors.head, "err\n");
    assert!(bench.server.pieces.lock().unwrap().contains("out\n"));
    let command = "basename \"$PWD\"; cat; tty".to_owned();
    let ended = bench.act(Action::Shell { command, cwd: Some("sub".to_owned()) });
    assert_eq!(ended.output.head, "sub\nnot a tty\n", "{ended:?}");
    let ended = bench.run("kill -KILL $$");
    assert_eq!((ended.code, why(&ended)), (Some(137), "Signal"));
}

#[test]
fn a_folder_outside_of_the_workspace_is_refused() {
    let mut bench = Bench::new("folder");
    std::os::unix::fs::symlink(bench.outside(), bench.workspace().join("link")).unwrap();
    let at = |cwd: &str| {
        let action = Action::Shell { command: "pwd".to_owned(), cwd: Some(cwd.to_owned()) };
        let ended = bench.act(action);
        assert_eq!(ended.ended, Ended::Refused, "{ended:?}");
        why(&ended).to_owned()
    };
    assert_eq!(at(".."), "OutsideWorkspace");
    assert_eq!(at("/"), "OutsideWorkspace");
    assert_eq!(at("link"), "PathSwapped");
    bench.context.workspace = Some("/".to_owned());
    assert_eq!(why(&bench.run("pwd")), "OtherWorkspace");
}

#[test]
fn code_runs_under_its_interpreter_and_without_the_modules_of_its_folder() {
    let bench = Bench::new("code");
    bench.write("json.py", "print('from the folder')\n");
    let python = bench.code(Language::Python, "import json, sys\nprint(json.dumps([1]))\n");
    assert_eq!(done(&python), "[1]\n", "PYTHONSAFEPATH");
    assert_eq!(done(&bench.code(Language::Perl, "print 'two'")), "two");
    if Command::new("node").arg("--version").output().is_ok() {
        let node = bench.code(Language::Javascript, "console.log(1 + 1, typeof require)");
        assert_eq!(done(&node), "2 function\n");
    }
    let sql = bench.code(Language::Sql, "select 1");
    assert_eq!((sql.ended, why(&sql)), (Ended::Refused, "NotSupported"));
}

#[test]
fn nothing_of_our_own_environment_loads_code() {
    let mut bench = Bench::new("environment");
    let start_up = write(&bench.outside().join("start-up"), "echo from-a-file\n");
    bench.set("LD_PRELOAD", "/nowhere/evil.so");
    bench.set("BASH_ENV", start_up.clone());
    bench.set("ENV", start_up);
    bench.set("GIT_SSH_COMMAND", "evil");
    bench.set("A_TOKEN", "told");
    bench.set("BASH_FUNC_ls%%", "() { echo from-a-function; }");
    // Without `environment::for_work`, the loader complains and every name is here.
    let ended = bench.run("env; ls /");
    assert!(ended.errors.is_empty(), "{ended:?}");
    for bad in ["LD_PRELOAD", "BASH_ENV", "GIT_SSH", "A_TOKEN", "from-a"] {
        assert!(!done(&ended).contains(bad), "{bad}: {ended:?}");
    }
}

#[test]
fn a_command_inherits_no_descriptor() {
    let bench = Bench::new("descriptors");
    let path = write(&bench.outside().join("held-open"), "");
    let file = File::open(path).unwrap();
    // As left open by a library that does not know better. Without `set_fds_cloexec` in the
    // supervisor, the command has it.
    rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty()).unwrap();
    let ended = bench.run("ls -l /proc/self/fd");
    assert!(!done(&ended).contains("held-open"), "{ended:?}");
    assert!(!done(&ended).contains("socket:"), "{ended:?}");
}

#[test]
fn programs_are_not_taken_from_the_workspace() {
    let mut bench = Bench::new("path");
    executable(&bench.write("bash", "#!/bin/sh\necho another bash\n"));
    executable(&bench.write("ls", "#!/bin/sh\necho another ls\n"));
    let path = std::env::var("PATH").unwrap();
    bench.set("PATH", format!("{}:.:{path}", bench.workspace().display()));
    let ended = bench.run("ls /proc/self/status");
    assert_eq!(done(&ended), "/proc/self/status\n");
}

#[test]
fn a_program_that_is_swapped_after_it_was_found_is_not_run() {
    let bench = Bench::new("swap");
    let tool = bench.outside().join("tool");
    let found = |name: &str| {
        let search = std::env::var_os("PATH").unwrap();
        let folder = File::open("/").unwrap();
        Places { search: &search, folder: folder.as_fd() }.find(name.as_ref()).unwrap()
    };
    std::fs::copy(found("true").path(), &tool).unwrap();
    let opened = found(tool.to_str().unwrap());
    let other = bench.outside().join("other");
    std::fs::copy(found("false").path(), &other).unwrap();
    std::fs::rename(&other, &tool).unwrap();
    // By its name, another program would run.
    assert!(!Command::new(&tool).status().unwrap().success());
    assert!(Command::new(opened.by_descriptor()).status().unwrap().success());
}

#[test]
fn a_script_that_has_changed_is_refused() {
    let mut bench = Bench::new("changed");
    let path = bench.judged_script("deploy.sh", "#!/bin/sh\necho judged \"$1\"\n");
    assert_eq!(done(&bench.run("sh deploy.sh now")), "judged now\n");
    executable(&path);
    assert_eq!(done(&bench.run("./deploy.sh now")), "judged now\n");
    write(&path, "#!/bin/sh\necho another\n");
    let ended = bench.run("sh deploy.sh now");
    assert_eq!((ended.ended, why(&ended)), (Ended::Refused, "ScriptChanged"));
    std::fs::remove_file(&path).unwrap();
    assert_eq!(why(&bench.run("sh deploy.sh now")), "ScriptChanged");
}

#[test]
fn a_script_that_is_swapped_all_the_time_never_runs_changed() {
    let mut bench = Bench::new("swapped");
    let judged = "#!/bin/sh\necho judged\n";
    let path = bench.judged_script("deploy.sh", judged);
    let (good, bad) = (bench.outside().join("good"), bench.outside().join("bad"));
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _end = EndsWith(&stop);
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                write(&bad, "#!/bin/sh\ntouch escaped\n");
                std::fs::rename(&bad, &path).unwrap();
                write(&good, judged);
                std::fs::rename(&good, &path).unwrap();
            }
        });
        // Without the sealed copy (`Scripts::stand_in`), a few of these run what was put there.
        for _ in 0..60 {
            let ended = bench.run("sh deploy.sh");
            let ran = ended.ended == Ended::Done && ended.output.head == "judged\n";
            assert!(ran || why(&ended) == "ScriptChanged", "{ended:?}");
        }
    });
    assert!(!bench.workspace().join("escaped").exists());
}

#[test]
fn a_script_that_changes_while_it_runs_is_told() {
    let mut bench = Bench::new("while");
    let path = bench.judged_script("deploy.sh", "#!/bin/sh\necho '# more' >> \"$0\"\n");
    let ended = bench.run("sh deploy.sh");
    assert_eq!(ended.value["scripts_changed_while_running"][0], "deploy.sh", "{ended:?}");
    assert!(std::fs::read_to_string(path).unwrap().ends_with("# more\n"));
}

/// Starts a process that has left its group, its session and its parent, and ignores signals.
const LEAVES: &str = "(setsid sh -c 'trap \"\" TERM HUP INT; echo $$ > left; exec sleep 1000' &)
    until [ -s left ]; do :; done\n";

#[test]
fn what_a_command_leaves_behind_ends_with_it() {
    let bench = Bench::new("behind");
    // Without `set_child_subreaper`, it lives on.
    let ended = bench.run(LEAVES);
    assert_eq!(ended.ended, Ended::Done, "{ended:?}");
    assert!(!runs(&bench.workspace().join("left")));
    assert_eq!(ended.value["left_behind"], 1, "{ended:?}");
}

#[test]
fn a_stop_ends_everything_wherever_it_has_gone() {
    let bench = Bench::new("stop");
    let left = bench.workspace().join("left");
    let ended = std::thread::scope(|scope| {
        scope.spawn(|| {
            until(|| std::fs::read_to_string(&left).is_ok_and(|id| id.ends_with('\n')));
            bench.stop.give("a person stopped it");
        });
        // Without `tree::end_all`, the process that has left lives on.
        bench.run(&format!("trap '' TERM\n{LEAVES}while :; do sleep 1000; done"))
    });
    assert_eq!((ended.ended, why(&ended)), (Ended::Stopped, "Stopped"));
    assert_eq!(ended.error.unwrap().message, "a person stopped it");
    assert!(!runs(&left));
}

#[test]
fn a_command_that_ignores_being_asked_ends_when_its_time_is_over() {
    let mut bench = Bench::new("time");
    bench.limits = WorkLimits { seconds: 1, ..WorkLimits::default() };
    // Without the second signal in `tree::end_all`, it lives on.
    let ended = bench.run("trap '' TERM; echo $$ > id; while :; do sleep 1000; done");
    assert_eq!((ended.ended, why(&ended)), (Ended::TimedOut, "TimedOut"));
    assert!(!runs(&bench.workspace().join("id")));
}

#[test]
fn a_command_may_clean_up_when_it_is_asked_to_end() {
    let mut bench = Bench::new("clean");
    bench.limits = WorkLimits { seconds: 1, ..WorkLimits::default() };
    let ended = bench.run("trap 'echo cleaned; exit 0' TERM; while :; do sleep 0.05; done");
    assert_eq!((ended.ended, &*ended.output.head), (Ended::TimedOut, "cleaned\n"));
}

#[test]
fn a_command_that_kills_its_supervisor_ends_too() {
    let bench = Bench::new("supervisor");
    let ended = bench.run("echo $$ > id; kill -KILL $PPID; sleep 1000");
    assert_eq!((ended.ended, why(&ended)), (Ended::Failed, "SupervisorLost"));
    until(|| !runs(&bench.workspace().join("id")));
}

#[test]
fn output_of_a_gigabyte_is_counted_and_not_kept() {
    let mut bench = Bench::new("output");
    bench.limits.output_bytes = 1_000;
    let size = 1_u64 << 30;
    let ended = bench.run(&format!("echo start; head -c {size} /dev/zero; echo end"));
    assert_eq!(ended.ended, Ended::Done, "{ended:?}");
    assert!(ended.output.head.starts_with("start\n") && ended.output.tail.ends_with("end\n"));
    assert_eq!(ended.output.left_out, size + 10 - 1_000);
    assert!(bench.server.pieces.lock().unwrap().len() <= 1_000);
}

#[test]
fn output_that_is_no_text_is_told_as_far_as_it_is() {
    let bench = Bench::new("bytes");
    assert_eq!(done(&bench.run("printf 'a\\xffb'")), "a\u{FFFD}b");
}
