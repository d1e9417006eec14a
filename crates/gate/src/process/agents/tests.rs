use super::*;
use crate::process::Fake;

const NOW: Timestamp = Timestamp(1_000_000);

/// A machine on which 1 starts two terminals, 5 and 6, before the agent 10, which 5 starts. The
/// agent starts 20, which starts 30.
fn machine() -> (Fake, Agents) {
    let fake = Fake::default();
    for (pid, parent, started) in
        [(1, 0, 1), (5, 1, 50), (6, 1, 60), (10, 5, 100), (20, 10, 200), (30, 20, 300)]
    {
        fake.start(Process { pid, started }, parent, 1_000);
    }
    let agents = Agents::default();
    agents.note(AGENT, &fake);
    (fake, agents)
}

const AGENT: Process = Process { pid: 10, started: 100 };

fn standing(agents: &Agents, fake: &Fake, pid: Pid) -> Ancestry {
    agents.standing(pid, fake.started(pid), fake)
}

fn within() -> Ancestry {
    Ancestry::Within(vec![AGENT])
}

#[test]
fn descendants_belong_to_their_agent_and_others_do_not() {
    let (fake, agents) = machine();
    for pid in [10, 20, 30] {
        assert_eq!(standing(&agents, &fake, pid), within(), "{pid}");
    }
    fake.start(Process { pid: 60, started: 600 }, 6, 1_000);
    fake.start(Process { pid: 50, started: 500 }, 5, 1_000);
    for pid in [1, 5, 6, 60, 50] {
        assert_eq!(standing(&agents, &fake, pid), Ancestry::Outside, "{pid}");
    }
}

#[test]
fn what_is_left_behind_belongs_to_its_agent_even_after_that_has_ended() {
    let (fake, agents) = machine();
    fake.end(20);
    assert_eq!(standing(&agents, &fake, 30), within(), "handed to 1");
    fake.start(Process { pid: 31, started: 310 }, 30, 1_000);
    assert_eq!(standing(&agents, &fake, 31), within(), "and so are its own children");
    fake.end(10);
    agents.sweep(NOW, &fake);
    assert_eq!(standing(&agents, &fake, 31), within());
    agents.sweep(NOW.after(REMEMBERED_FOR), &fake);
    assert_eq!(standing(&agents, &fake, 31), Ancestry::Outside, "forgotten");
}

#[test]
fn a_younger_process_in_another_place_is_nobodys() {
    let (fake, agents) = machine();
    let place =
        |cgroup: &str, login| InheritedTraits { cgroup: cgroup.to_owned(), session: 40, login };
    fake.start(Process { pid: 40, started: 400 }, 1, 1_000);
    for (traits, belongs) in [
        (place("/", u32::MAX), true),
        (place("/user.slice/session-4.scope", u32::MAX), false),
        (place("/", 4), false),
    ] {
        fake.mark(40, traits.clone());
        let expected = if belongs { within() } else { Ancestry::Outside };
        assert_eq!(standing(&agents, &fake, 40), expected, "{traits:?}");
    }
}

#[test]
fn a_session_that_the_agent_or_its_descendant_leads_gives_an_orphan_away() {
    let (fake, agents) = machine();
    fake.start(Process { pid: 40, started: 400 }, 1, 1_000);
    for (leader, belongs) in [(10, true), (20, true), (30, true), (5, false), (6, false)] {
        let cgroup = "/elsewhere".to_owned();
        fake.mark(40, InheritedTraits { cgroup, session: leader, login: u32::MAX });
        let expected = if belongs { within() } else { Ancestry::Outside };
        assert_eq!(standing(&agents, &fake, 40), expected, "{leader}");
    }
}

#[test]
fn where_nobody_tells_doubt_is_an_agents_once_there_is_one() {
    let (fake, agents) = machine();
    assert_eq!(standing(&agents, &fake, 99), Ancestry::Unknown, "no such process");
    assert_eq!(agents.standing(6, Some(61), &fake), Ancestry::Unknown, "another with its number");
    assert_eq!(agents.standing(6, None, &fake), Ancestry::Unknown);
    for pid in 1_000..4_000 {
        let parent = if pid == 1_000 { 6 } else { pid - 1 };
        fake.start(Process { pid, started: 700 }, parent, 0);
    }
    assert_eq!(standing(&agents, &fake, 3_999), Ancestry::Unknown, "too deep");
    // With 6 and 1 above it, 2021 is the last whose line is not too long.
    assert_eq!(MOST_GENERATIONS, 1_024);
    assert_eq!(standing(&agents, &fake, 2_021), Ancestry::Outside);
    assert_eq!(standing(&agents, &fake, 2_022), Ancestry::Unknown);
    assert_eq!(standing(&Agents::default(), &fake, 99), Ancestry::Outside);
}

#[test]
fn an_agent_of_an_earlier_start_of_the_machine_says_nothing_about_what_is_younger() {
    let (fake, agents) = machine();
    let another = |ticks: u64| (1 << 50) | ticks;
    fake.start(Process { pid: 40, started: another(400) }, 1, 1_000);
    assert_eq!(standing(&agents, &fake, 40), Ancestry::Outside);
}

#[test]
fn an_agent_of_an_earlier_start_of_the_machine_is_forgotten_with_the_next_sweep() {
    let (fake, _) = machine();
    fake.start(Process { pid: std::process::id(), started: 600 }, 1, 1_000);
    let folder = Folder::new("boot");
    let earlier = Process { pid: 10, started: (1 << 50) + 100 };
    for agent in [earlier, Process { pid: 11, started: 110 }] {
        register(&folder.0, agent, &fake).unwrap();
    }
    let agents = Agents::registered_in(&folder.0);
    agents.sweep(NOW, &fake);
    let left: Vec<_> = fs::read_dir(folder.0.join(FOLDER)).unwrap().collect();
    assert_eq!(left.len(), 1, "the one that has ended since the machine was started");
    assert_eq!(agents.known().keys().map(|agent| agent.pid).collect::<Vec<_>>(), [11]);
}

#[test]
fn registrations_that_cannot_be_read_put_everybody_in_doubt() {
    let (fake, _) = machine();
    let folder = Folder::new("unreadable");
    fs::create_dir_all(&folder.0).unwrap();
    fs::write(folder.0.join(FOLDER), "not a folder").unwrap();
    let agents = Agents::registered_in(&folder.0);
    assert_eq!(standing(&agents, &fake, 6), Ancestry::Unknown);
    assert!(register(&folder.0, AGENT, &fake).is_err());
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("countersign-agents-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&path);
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_registration_is_written_once_found_and_swept() {
    let (fake, _) = machine();
    let folder = Folder::new("registration");
    let agents = Agents::registered_in(&folder.0);
    assert_eq!(standing(&agents, &fake, 30), Ancestry::Outside, "nobody is registered");
    register(&folder.0, AGENT, &fake).unwrap();
    register(&folder.0, AGENT, &fake).unwrap();
    let path = folder.0.join(FOLDER).join("10-100");
    assert!(path.is_file());
    assert_eq!(standing(&agents, &fake, 30), within());
    // An agent that was seen once stays known, even if its file is deleted.
    fs::remove_file(&path).unwrap();
    assert_eq!(standing(&agents, &fake, 30), within());
    register(&folder.0, AGENT, &fake).unwrap();
    fake.end(10);
    agents.sweep(NOW, &fake);
    assert!(path.is_file());
    agents.sweep(NOW.after(REMEMBERED_FOR), &fake);
    assert!(!path.exists());
    assert_eq!(standing(&agents, &fake, 30), Ancestry::Outside);
}

#[test]
fn an_agent_that_had_ended_before_anybody_looked_is_known_by_what_was_written() {
    let (fake, _) = machine();
    let folder = Folder::new("ended");
    register(&folder.0, AGENT, &fake).unwrap();
    fake.end(20);
    fake.end(10);
    let agents = Agents::registered_in(&folder.0);
    assert_eq!(standing(&agents, &fake, 30), within());
}

#[test]
fn names_that_are_no_registration_are_passed_over_and_too_many_put_everybody_in_doubt() {
    let (fake, _) = machine();
    let folder = Folder::new("names");
    let inside = folder.0.join(FOLDER);
    fs::create_dir_all(&inside).unwrap();
    for name in ["1-1", "x", "10", "-", "10-", "010-100", "10-100-1", "+10-100"] {
        fs::write(inside.join(name), "").unwrap();
    }
    let agents = Agents::registered_in(&folder.0);
    assert_eq!(standing(&agents, &fake, 30), Ancestry::Outside);
    for number in 0..MOST_REGISTRATIONS {
        fs::write(inside.join(format!("x{number}")), "").unwrap();
    }
    assert_eq!(standing(&agents, &fake, 6), Ancestry::Unknown);
}

#[cfg(target_os = "linux")]
#[test]
fn the_system_tells_what_a_process_inherits() {
    let system = crate::process::System;
    let own = system.traits(std::process::id()).unwrap();
    let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    assert_eq!(system.traits(child.id()).unwrap(), own);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(system.adopts(1) && !system.adopts(0));
    assert!(!system.adopts(std::process::id()));
}

#[cfg(target_os = "linux")]
#[test]
fn a_program_that_is_known_to_adopt_orphans_is_told_by_its_name() {
    use std::io::Read as _;
    use std::os::unix::process::CommandExt as _;
    use std::process::{Command, Stdio};
    let system = crate::process::System;
    let folder = Folder::new("reaper");
    fs::create_dir_all(&folder.0).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    let mut cats = std::env::split_paths(&path).map(|folder| folder.join("cat"));
    let cat = cats.find(|path| path.is_file()).unwrap();
    for (name, adopts) in [("tini", true), ("tiny", false)] {
        // A process is named after the path it was started from, not after its own `argv[0]`.
        let link = folder.0.join(name);
        std::os::unix::fs::symlink(&cat, &link).unwrap();
        let mut command = Command::new(link);
        command.arg0("cat").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // Once it has answered, it has its name.
        child.stdin.as_mut().unwrap().write_all(b"!").unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        assert_eq!(system.adopts(child.id()), adopts, "{name}");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
