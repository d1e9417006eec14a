//! `audit` and `receipt`, on a data folder that a real gate has filled.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use countersign_core::{Action, Policy};
use countersign_gate::approval::{Answer, Outcome};
use countersign_gate::clock::System;
use countersign_gate::gate::PersonAnswer;
use countersign_gate::id::ApprovalId;
use countersign_gate::keyring::Keyring;
use countersign_gate::store::{self, StoreUrl};
use countersign_gate::{Config, Gate, Parts, Person, Proposal, Submitted, process};
use pollster::block_on;

use crate::sandbox::Sandbox;

/// The data folder that a gate has filled.
pub(crate) struct Left {
    pub(crate) sandbox: Sandbox,
    approved: ApprovalId,
    waiting: ApprovalId,
    owner: Person,
    /// Kept open, as a server would.
    gate: Gate,
}

impl Left {
    pub(crate) fn new(name: &str) -> Self {
        let sandbox = Sandbox::new(name);
        let folder = sandbox.home().join(".local/share/countersign");
        fs::create_dir_all(&folder).unwrap();
        close(&folder);
        let keyring = Arc::new(Keyring::open(&folder, &System).unwrap());
        let gate = block_on(Gate::open(Parts {
            store: store::open(&StoreUrl::in_folder(&folder), keyring.clone()).unwrap(),
            keyring,
            clock: Arc::new(System),
            processes: Arc::new(process::System),
            policy: Policy::default(),
            config: Config::default(),
        }))
        .unwrap();
        let (_, link) = block_on(gate.first_start("Ann")).unwrap().unwrap();
        let owner = block_on(gate.sign_in(&block_on(gate.accept(&link, "x")).unwrap())).unwrap();
        let workspace = owner.user().workspaces.keys().next().unwrap();
        let agent = owner.assistant(workspace).unwrap();
        let ask = |command: &str| match block_on(gate.submit(&agent, &proposal(command))).unwrap() {
            Submitted::Waiting(waiting) => waiting.approval,
            other => panic!("{other:?}"),
        };
        let approved = ask("git push --force origin main");
        let waiting = ask("git push --force origin other");
        let yes = PersonAnswer::plain(approved.clone(), Answer::Approve);
        block_on(gate.answer(&owner, yes)).unwrap();
        let permit =
            block_on(gate.spend(&agent, &approved, &proposal("git push --force origin main")));
        let id = permit.unwrap().id().clone();
        block_on(gate.report(&agent, &id, None, Outcome::Done, None)).unwrap();
        Self { sandbox, approved, waiting, owner, gate }
    }

    /// Submits an action, which leaves a record.
    pub(crate) fn do_something(&self) {
        let workspace = self.owner.user().workspaces.keys().next().unwrap();
        let agent = self.owner.assistant(workspace).unwrap();
        drop(block_on(self.gate.submit(&agent, &proposal("ls"))).unwrap());
    }

    fn database(&self) -> PathBuf {
        store::file_in(&self.sandbox.home().join(".local/share/countersign"))
    }
}

/// Makes a folder private.
fn close(folder: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
}

fn proposal(command: &str) -> Proposal {
    Proposal::of(Action::Shell { command: command.into(), cwd: Some("/work".into()) })
}

#[test]
fn a_chain_verifies_while_the_gate_is_open_and_fails_once_it_was_touched() {
    let left = Left::new("audit-verify");
    let ended = left.sandbox.run(&["audit", "verify"]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{ended:?}");
    assert!(ended.out.starts_with("intact: "), "{}", ended.out);
    let noted = ended.out.lines().last().unwrap().strip_prefix("end: ").unwrap().to_owned();
    assert_eq!(left.sandbox.run(&["audit", "verify", "--expect", &noted]).code, Some(0));
    let later = noted.replacen(':', "9:", 1);
    assert_eq!(left.sandbox.run(&["audit", "verify", "--expect", &later]).code, Some(1));
    assert_eq!(left.sandbox.run(&["audit", "verify", "--expect", "x"]).code, Some(2));

    let database = rusqlite::Connection::open(left.database()).unwrap();
    database.execute("UPDATE records SET event = 'approval' WHERE number = 3", []).unwrap();
    let ended = left.sandbox.run(&["audit", "verify", "--json"]);
    assert_eq!(ended.code, Some(1));
    let report: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(report["damage"][0], "record 3 was changed");
}

#[test]
fn an_export_has_one_line_for_each_record_and_an_erased_one_says_so() {
    let left = Left::new("audit-export");
    let user = left.owner.user().id.to_string();
    let lines = |ended: &str| -> Vec<serde_json::Value> {
        ended.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let all = lines(&left.sandbox.run(&["audit", "export"]).out);
    let events: Vec<_> = all.iter().filter_map(|record| record["event"].as_str()).collect();
    for event in ["action_planned", "critical_point", "approval", "action_executed"] {
        assert!(events.contains(&event), "{events:?}");
    }
    let own = lines(&left.sandbox.run(&["audit", "export", "--user", &user]).out);
    assert!(!own.is_empty() && own.iter().all(|record| record["user"] == user.as_str()));

    // Nobody can be asked, and nothing is erased without an answer.
    let ended = left.sandbox.run(&["audit", "erase", "--user", "usr_x"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let ended = left.sandbox.run(&["audit", "erase", "--user", &user, "--yes"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(left.sandbox.run(&["audit", "verify"]).code, Some(0));
    assert!(left.sandbox.run(&["audit", "export", "--user", &user]).out.is_empty());
    let all = lines(&left.sandbox.run(&["audit", "export"]).out);
    assert!(all.iter().any(|record| record["erased"] == true));
}

#[test]
fn a_receipt_is_written_and_checked_and_a_changed_one_proves_nothing() {
    let left = Left::new("receipt");
    let id = left.approved.to_string();
    let shown = left.sandbox.run(&["receipt", "show", &id]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    left.sandbox.write("receipt.json", &shown.out);
    let action = r#"{"kind":"shell","command":"git push --force origin main","cwd":"/work"}"#;
    left.sandbox.write("action.json", action);
    left.sandbox.write("other.json", &action.replace("main", "prod"));

    let key = left.sandbox.run(&["receipt", "key"]).out.trim().to_owned();
    let verify = ["receipt", "verify", "receipt.json", "--key", &key];
    let ended = left.sandbox.run(&[&verify[..], &["--action", "action.json"]].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.out.contains("was approved by usr_"), "{}", ended.out);
    let ended = left.sandbox.run(&[&verify[..], &["--action", "other.json"]].concat());
    assert_eq!(
        (ended.code, ended.out.as_str()),
        (Some(1), "proves nothing: it is about another action\n")
    );

    let forged = shown.out.replace("\"say\": \"approve\"", "\"say\": \"reject\"");
    left.sandbox.write("forged.json", &forged);
    let ended = left.sandbox.run(&["receipt", "verify", "forged.json"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");

    let open = left.sandbox.run(&["receipt", "show", left.waiting.as_str()]);
    assert_eq!(open.code, Some(2));
    assert!(open.err.contains("it is pending"), "{}", open.err);
}

#[test]
fn a_record_that_is_gone_is_damage_while_its_key_is_there() {
    let Left { sandbox, gate, .. } = Left::new("audit-gone");
    drop(gate);
    let folder = sandbox.home().join(".local/share/countersign");
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() && !path.ends_with(Keyring::FILE) {
            fs::remove_file(path).unwrap();
        }
    }
    let ended = sandbox.run(&["audit", "verify"]);
    assert!(ended.code == Some(2) && ended.err.contains("the record is gone"), "{ended:?}");
    let ended = sandbox.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert!(ended.code != Some(0) && ended.err.contains("is damaged"), "{ended:?}");
    assert!(!store::file_in(&folder).exists(), "nothing was made");
    assert_eq!(sandbox.run(&["audit", "begin-anew"]).code, Some(2));
    let anew = ["audit", "begin-anew", "--danger-leave-damage"];
    assert_eq!(sandbox.run(&anew).code, Some(0));
    let ended = sandbox.run(&["audit", "verify"]);
    assert!(ended.code == Some(0) && ended.out.contains("started anew after damage"), "{ended:?}");
}

#[test]
fn a_folder_without_records_is_told_and_left_as_it_is() {
    let sandbox = Sandbox::new("audit-empty");
    for args in [["audit", "verify"], ["receipt", "key"], ["audit", "export"]] {
        let ended = sandbox.run(&args);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.err.contains("nothing has been gated there yet"), "{}", ended.err);
    }
    assert!(!sandbox.home().join(".local").exists());
}
