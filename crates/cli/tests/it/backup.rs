//! `backup` and `restore`, on a data folder that a real gate has filled and still uses.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use crate::audit::Left;
use crate::sandbox::{Ended, binary};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn restore(left: &Left, from: &Path, key: &Path, to: &Path) -> Ended {
    left.sandbox.run(&["restore", text(from), "--key", text(key), "--data", text(to)])
}

#[test]
fn a_backup_is_proved_whole_and_restored_with_its_key_alone() {
    let left = Left::new("backup");
    let home = left.sandbox.home();
    let (copy, key, new) = (home.join("copy"), home.join("server.key"), home.join("new"));
    let files = left.sandbox.data().join("files/ses_x");
    fs::create_dir_all(&files).unwrap();
    fs::write(files.join("fil_x"), "bytes").unwrap();
    let ended = left.sandbox.run(&["backup", text(&copy), "--key", text(&key)]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{ended:?}");
    assert!(ended.out.contains(" records, 1 file; verified"), "{}", ended.out);
    let end = ended.out.lines().last().unwrap().strip_prefix("end: ").unwrap().to_owned();
    let names = fs::read_dir(&copy).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["backup.json", "files", "gate.db", "gate.noted"], "no key among them");
    let again = left.sandbox.run(&["backup", text(&copy)]);
    assert_eq!(again.code, Some(2), "nothing is overwritten: {again:?}");
    let inside =
        left.sandbox.run(&["backup", text(&home.join("b")), "--key", text(&home.join("b/k"))]);
    assert_eq!(inside.code, Some(2), "{inside:?}");

    // The server continues; the restored record ends where the copy did.
    let ended = restore(&left, &copy, &key, &new);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{ended:?}");
    let verified = left.sandbox.run(&["audit", "verify", "--data", text(&new), "--expect", &end]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
    assert_eq!(fs::read_to_string(new.join("files/ses_x/fil_x")).unwrap(), "bytes");
    let shown = left.sandbox.run(&["audit", "export", "--data", text(&new)]);
    assert!(shown.out.contains("action_planned"), "{shown:?}");
    // A folder that is in use is not a target for a restore.
    assert_eq!(restore(&left, &copy, &key, &new).code, Some(2));
}

#[test]
fn a_backup_that_was_changed_or_comes_with_another_key_is_not_restored() {
    let left = Left::new("backup-changed");
    let home = left.sandbox.home();
    let (copy, key) = (home.join("copy"), home.join("server.key"));
    assert_eq!(left.sandbox.run(&["backup", text(&copy), "--key", text(&key)]).code, Some(0));
    let another = home.join("other.key");
    let elsewhere = Left::new("backup-another");
    fs::copy(elsewhere.sandbox.data().join("server.key"), &another).unwrap();
    let ended = restore(&left, &copy, &another, &home.join("new"));
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.contains("is not the key of this backup"), "{}", ended.err);

    let database = rusqlite::Connection::open(copy.join("gate.db")).unwrap();
    database.execute("UPDATE records SET event = 'approval' WHERE number = 3", []).unwrap();
    drop(database);
    let ended = restore(&left, &copy, &key, &home.join("new"));
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(!home.join("new/gate.db").exists(), "nothing was restored");
    // Not even with a matching digest.
    let about = fs::read_to_string(copy.join("backup.json")).unwrap();
    let digest = hash_of(&copy.join("gate.db"));
    let mut about: serde_json::Value = serde_json::from_str(&about).unwrap();
    about["database"] = digest.into();
    fs::write(copy.join("backup.json"), about.to_string()).unwrap();
    let ended = restore(&left, &copy, &key, &home.join("new"));
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.err.contains("record 3"), "{}", ended.err);
}

fn hash_of(path: &Path) -> String {
    use base64::Engine as _;
    use sha2::Digest as _;
    let digest = sha2::Sha256::digest(fs::read(path).unwrap());
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(digest)
}

#[test]
fn a_damaged_record_is_not_copied_as_if_it_were_whole() {
    let left = Left::new("backup-damaged");
    let database = rusqlite::Connection::open(left.sandbox.data().join("gate.db")).unwrap();
    database.execute("UPDATE records SET event = 'approval' WHERE number = 3", []).unwrap();
    let ended = left.sandbox.run(&["backup", text(&left.sandbox.home().join("copy"))]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.err.contains("damaged"), "{}", ended.err);
}

#[test]
fn an_export_begins_where_it_is_told_to_and_follows_what_happens() {
    use std::io::{BufRead as _, BufReader};
    let left = Left::new("export-follow");
    let all = left.sandbox.run(&["audit", "export"]);
    let lines: Vec<_> = all.out.lines().collect();
    let last: serde_json::Value = serde_json::from_str(lines[lines.len() - 1]).unwrap();
    let number = last["number"].as_u64().unwrap();
    let at = last["at"].as_str().unwrap();
    let since = left.sandbox.run(&["audit", "export", "--since", at]);
    assert!(
        since.out.lines().count() >= 1
            && since.out.ends_with(&format!("{}\n", lines[lines.len() - 1]))
    );
    assert!(left.sandbox.run(&["audit", "export", "--since", "2999-01-01"]).out.is_empty());
    assert_eq!(left.sandbox.run(&["audit", "export", "--since", "soon"]).code, Some(2));

    let mut command = left.sandbox.command(binary());
    command.args(["audit", "export", "--follow", "--after", &(number - 1).to_string()]);
    let mut child = command.stdout(Stdio::piped()).stdin(Stdio::null()).spawn().unwrap();
    let mut told = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(told.next().unwrap().unwrap(), lines[lines.len() - 1]);
    left.do_something();
    let next: serde_json::Value = serde_json::from_str(&told.next().unwrap().unwrap()).unwrap();
    assert_eq!(next["number"], number + 1);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn the_unit_for_systemd_leaves_little_exposed() {
    use std::process::Command;
    let unit = crate::start::package().join("../../docs/systemd/countersign.service");
    let mut analyze = Command::new("systemd-analyze");
    // Exits with an error above the threshold, which is ten times the level.
    analyze.args(["security", "--offline=true", "--no-pager", "--threshold=30"]).arg(unit);
    match analyze.output() {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
        }
        Err(error) => println!("skipped: no systemd-analyze ({error})"),
    }
}
