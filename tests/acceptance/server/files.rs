//! Files that a browser agent's worker uploads. Row A8.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::client::{Answer, Client, read};
use super::{Server, Setup, text, until};

const MB: usize = 1 << 20;
const BOUNDARY: &str = "a-boundary-of-this-test";
const FORM: (&str, &str) =
    ("Content-Type", "multipart/form-data; boundary=a-boundary-of-this-test");
const END: &str = "--a-boundary-of-this-test--\r\n";

/// Returns bytes in which a misplaced one is noticed.
fn bytes(length: usize) -> Vec<u8> {
    let word = |at: u64| at.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes();
    (0..).flat_map(word).take(length).collect()
}

fn part(name: &str) -> String {
    let disposition = format!("form-data; name=\"file\"; filename=\"{name}\"");
    format!("--{BOUNDARY}\r\nContent-Disposition: {disposition}\r\n\r\n")
}

/// Uploads files as one form.
fn upload(client: &Client, session: &str, files: &[(&str, &[u8])]) -> Answer {
    let mut body = Vec::new();
    for (name, content) in files {
        body.extend_from_slice(part(name).as_bytes());
        body.extend_from_slice(content);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(END.as_bytes());
    client.send("POST", &format!("/api/sessions/{session}/files"), &[FORM], &body)
}

/// Starts a server, its owner, an agent and its session.
fn begun(setup: Setup) -> (Server, Client, Client, String) {
    let server = setup.start();
    let owner = server.owner();
    let agent = owner.key("agent");
    let session = agent.session(&json!({"mode": "task"}));
    (server, owner, agent, session)
}

fn usual() -> (Server, Client, Client, String) {
    begun(Setup::new().config("profile: browser-agent\n"))
}

#[test]
fn a8_a_form_of_files_is_listed_read_in_parts_and_packed() {
    let (_server, owner, agent, session) = usual();
    let (report, page) = (bytes(300_000), b"<html>".to_vec());
    let files = [("report.pdf", report.as_slice()), ("page.html", &page), ("report.pdf", b"")];
    let made = upload(&agent, &session, &files).expect(201)["items"].clone();
    let names: Vec<_> = made.as_array().unwrap().iter().map(|file| text(&file["name"])).collect();
    assert_eq!(names, ["report.pdf", "page.html", "report (2).pdf"]);
    let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(made[2]["sha256"], empty);
    let folder = format!("/api/sessions/{session}/files");
    for who in [&owner, &agent] {
        let listed = who.get(&format!("{folder}?limit=2")).expect(200);
        assert_eq!(listed["items"].as_array().unwrap().len(), 2);
        let next = format!("{folder}?limit=2&cursor={}", text(&listed["next"]));
        assert_eq!(who.get(&next).expect(200)["items"][0]["name"], "report (2).pdf");
    }

    let path = format!("{folder}/{}", text(&made[0]["file_id"]));
    let whole = owner.get(&path);
    assert_eq!((whole.status, &whole.body), (200, &report));
    assert!(whole.header("content-disposition").unwrap().starts_with("attachment;"));
    assert_eq!(whole.header("content-type").as_deref(), Some("application/octet-stream"));
    for (range, from, to) in
        [("1000-1999", 1_000, 2_000), ("299990-", 299_990, 300_000), ("-5", 299_995, 300_000)]
    {
        let asked = format!("bytes={range}");
        let some = owner.send("GET", &path, &[("Range", &asked)], b"");
        assert_eq!((some.status, some.body.as_slice()), (206, &report[from..to]), "{range}");
        let told = format!("bytes {from}-{}/300000", to - 1);
        assert_eq!(some.header("content-range"), Some(told));
    }
    assert_eq!(owner.send("GET", &path, &[("Range", "bytes=300000-")], b"").problem(416), "range");
    zip_is_whole(
        &owner,
        &folder,
        &[("report.pdf", 300_000), ("page.html", 6), ("report (2).pdf", 0)],
    );
}

fn zip_is_whole(owner: &Client, folder: &str, files: &[(&str, usize)]) {
    let zip = owner.get(&format!("{folder}/zip"));
    assert_eq!(zip.status, 200);
    assert_eq!(&zip.body[..2], b"PK");
    let home = super::Home::new();
    let path = home.0.join("all.zip");
    std::fs::write(&path, &zip.body).unwrap();
    let python = |what: &str| {
        let mut command = Command::new("python3");
        command.args(["-m", "zipfile", what]).arg(&path).stdin(Stdio::null());
        command.output().ok().filter(|output| output.status.success())
    };
    let Some(listed) = python("-l") else {
        eprintln!("skipped: no python3 to read the archive back");
        return;
    };
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    for (name, length) in files {
        let line = listed.lines().find(|line| line.starts_with(name)).expect(name);
        assert!(line.trim_end().ends_with(&format!(" {length}")), "{listed}");
    }
    let tested = python("-t").expect("a whole archive");
    assert!(String::from_utf8_lossy(&tested.stdout).contains("Done testing"), "{tested:?}");
}

#[test]
fn a8_no_name_leaves_its_folder_hides_or_is_a_device() {
    let (server, owner, agent, session) = usual();
    for (given, kept) in [
        ("../../../../etc/cron.d/job", "job"),
        ("..\\\\..\\\\windows\\\\system.ini", "system.ini"),
        ("/etc/passwd", "passwd"),
        ("..", "file"),
        (".bashrc", "bashrc"),
        ("CON", "_CON"),
        ("nul.txt", "_nul.txt"),
        ("-rf", "_-rf"),
        ("보고서 2024.pdf", "보고서 2024.pdf"),
        ("invoice\u{202e}fdp.exe", "invoicefdp.exe"),
        ("e\u{301}te\u{301}.txt", "été.txt"),
        ("a\u{0}b.txt", "ab.txt"),
        ("trailing. . ", "trailing"),
    ] {
        let wanted = json!({"name": given.replace("\\\\", "\\")});
        let path = format!("/api/sessions/{session}/uploads");
        let begun = agent.post(&path, &wanted).expect(201);
        assert_eq!(begun["name"], kept, "{given:?}");
        let path = format!("{path}/{}", text(&begun["file_id"]));
        agent.send("PATCH", &path, &[("Upload-Offset", "0")], b"x").expect(200);
        agent.post(&format!("{path}/finish"), &json!({})).expect(200);
    }
    // The same through a form, as far as a form can express it.
    let made = upload(&agent, &session, &[("../../../../tmp/escaped.txt", b"x"), ("JOB", b"y")]);
    let made = made.expect(201)["items"].clone();
    assert_eq!(made[0]["name"], "escaped.txt");
    assert_eq!(made[1]["name"], "JOB (2)", "some systems take `JOB` and `job` for one");
    // On disk no file has a name that a client chose.
    let names = stored(&server.data().join("files"));
    assert!(names.iter().all(|name| name.starts_with("fil_")), "{names:?}");
    let names = owner.get(&format!("/api/sessions/{session}/files?limit=200")).expect(200);
    assert_eq!(names["items"].as_array().unwrap().len(), 15);
}

/// Returns the names of all files below a folder.
fn stored(folder: &std::path::Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map_while(Result::ok) {
        if entry.path().is_dir() {
            names.extend(stored(&entry.path()));
        } else {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names
}

#[test]
fn a8_an_upload_goes_on_after_a_lost_connection_and_after_a_killed_server() {
    let (server, owner, agent, session) = usual();
    let content = bytes(25 * MB);
    let wanted = json!({"name": "film.mp4", "bytes": content.len()});
    let begun = agent.post(&format!("/api/sessions/{session}/uploads"), &wanted).expect(201);
    assert_eq!(begun["chunk_bytes"], 10 * MB);
    let path = format!("/api/sessions/{session}/uploads/{}", text(&begun["file_id"]));
    let send = |agent: &Client, from: usize, to: usize| {
        let offset = from.to_string();
        agent.send("PATCH", &path, &[("Upload-Offset", &offset)], &content[from..to])
    };
    let at = |agent: &Client| {
        let shown = agent.get(&path).expect(200);
        usize::try_from(shown["offset"].as_u64().unwrap()).unwrap()
    };
    assert_eq!(send(&agent, 0, 11 * MB).problem(413), "chunk-too-large");
    assert_eq!(send(&agent, MB, 2 * MB).problem(409), "offset");

    // The connection breaks in the middle of a chunk: the received part is kept.
    let mut stream = agent.begin("PATCH", &path, &[("Upload-Offset", "0")], 10 * MB);
    stream.write_all(&content[..6 * MB]).unwrap();
    stream.flush().unwrap();
    until("some has arrived", || {
        let folder = server.data().join("files").join(&session);
        let mut sizes =
            std::fs::read_dir(folder).ok()?.filter_map(|file| file.ok()?.metadata().ok());
        sizes.any(|file| file.len() >= 5 * MB as u64).then_some(())
    });
    drop(stream);
    let kept = until("it is kept", || Some(at(&agent)).filter(|kept| *kept > 0));
    assert!((5 * MB..=6 * MB).contains(&kept), "{kept}");
    let next = kept + 10 * MB;
    assert_eq!(send(&agent, kept, next).expect(200)["offset"], next);

    // The server dies in the middle of the next one.
    let offset = next.to_string();
    let mut stream = agent.begin("PATCH", &path, &[("Upload-Offset", &offset)], 5 * MB);
    stream.write_all(&content[next..next + 3 * MB]).unwrap();
    let server = server.killed_and_started_again();
    let agent = Client { address: server.address, ..agent };
    let owner = Client { address: server.address, ..owner };
    let kept = at(&agent);
    assert!(kept >= next, "what was acknowledged is kept: {kept}");
    let early = agent.post(&format!("{path}/finish"), &json!({}));
    assert_eq!(early.problem(409), "not-as-large");
    let middle = (kept + 10 * MB).min(content.len());
    send(&agent, kept, middle).expect(200);
    if middle < content.len() {
        send(&agent, middle, content.len()).expect(200);
    }
    let file = agent.post(&format!("{path}/finish"), &json!({})).expect(200);
    assert_eq!(file["bytes"], content.len());
    let path = format!("/api/sessions/{session}/files/{}", text(&file["file_id"]));
    assert!(owner.get(&path).body == content, "every byte is where it was");
}

#[test]
fn a8_a_file_that_is_not_what_was_said_is_refused() {
    let (_server, _owner, agent, session) = usual();
    let wanted = json!({"name": "a.bin", "sha256": "0".repeat(64)});
    let begun = agent.post(&format!("/api/sessions/{session}/uploads"), &wanted).expect(201);
    let path = format!("/api/sessions/{session}/uploads/{}", text(&begun["file_id"]));
    agent.send("PATCH", &path, &[("Upload-Offset", "0")], b"abc").expect(200);
    assert_eq!(agent.post(&format!("{path}/finish"), &json!({})).problem(409), "differs");
}

#[test]
fn a8_sizes_and_numbers_have_limits_that_can_be_set() {
    let limits = "files: {file_bytes: 1000, session_bytes: 2500, files: 4, chunk_bytes: 400}";
    let setup = Setup::new().config(&format!("profile: browser-agent\ngate: {{{limits}}}\n"));
    let (_server, owner, agent, session) = begun(setup);
    let content = bytes(3_000);
    let one = |length: usize| upload(&agent, &session, &[("a", &content[..length])]);
    assert_eq!(one(1_001).problem(413), "file-too-large");
    one(1_000).expect(201);
    one(1_000).expect(201);
    assert_eq!(one(501).problem(413), "session-full");
    one(500).expect(201);
    one(0).expect(201);
    assert_eq!(one(0).problem(413), "too-many-files");
    let listed = owner.get(&format!("/api/sessions/{session}/files")).expect(200);
    let sizes: Vec<_> = listed["items"].as_array().unwrap().iter().map(|it| &it["bytes"]).collect();
    assert_eq!(sizes, [&json!(1_000), &json!(1_000), &json!(500), &json!(0)]);
    // Another session has a quota of its own; an ended session has none.
    let other = agent.session(&json!({}));
    upload(&agent, &other, &[("a", b"x")]).expect(201);
    owner.post(&format!("/api/sessions/{other}/stop"), &json!({})).expect(204);
    assert_eq!(upload(&agent, &other, &[("b", b"x")]).problem(409), "session-over");
}

#[test]
fn a8_files_are_for_their_person_and_their_agent() {
    let (server, owner, agent, session) = usual();
    let made = upload(&agent, &session, &[("a.txt", b"private")]).expect(201)["items"].clone();
    let folder = format!("/api/sessions/{session}/files");
    let path = format!("{folder}/{}", text(&made[0]["file_id"]));
    let stranger = server.person(&owner, "member");
    let strange_agent = stranger.key("agent");
    for (who, status) in [(&server.nobody(), 401), (&stranger, 404), (&strange_agent, 404)] {
        for path in [&path, &folder, &format!("{folder}/zip")] {
            assert_eq!(who.get(path).status, status, "{path}");
        }
        assert_eq!(upload(who, &session, &[("b.txt", b"planted")]).status, status);
    }
    assert_eq!(owner.get(&path).body, b"private");
    let other = agent.session(&json!({}));
    let elsewhere = path.replace(&session, &other);
    assert_eq!(owner.get(&elsewhere).problem(404), "not-found");
    // A broken form leaves nothing behind.
    let cut = format!("{}half of it", part("half.txt"));
    let broken = agent.send("POST", &folder, &[FORM], cut.as_bytes());
    assert_eq!(broken.problem(400), "bad-request");
    assert_eq!(owner.get(&folder).expect(200)["items"].as_array().unwrap().len(), 1);
}

#[cfg(target_os = "linux")]
#[test]
fn a8_two_hundred_megabytes_pass_through_without_being_held() {
    let (server, owner, agent, session) = usual();
    let folder = format!("/api/sessions/{session}/files");
    upload(&agent, &session, &[("warm.bin", &bytes(MB))]).expect(201);
    let before = server.memory("VmHWM");
    let block = bytes(MB);
    let (begin, end) = (part("large.bin"), format!("\r\n{END}"));
    let length = begin.len() + 200 * MB + end.len();
    let mut stream = agent.begin("POST", &folder, &[FORM], length);
    stream.write_all(begin.as_bytes()).unwrap();
    for _ in 0..200 {
        stream.write_all(&block).unwrap();
    }
    stream.write_all(end.as_bytes()).unwrap();
    let made = read(stream).expect(201)["items"].clone();
    assert_eq!(made[0]["bytes"], 200 * MB);
    let grown = |before: u64| (server.memory("VmHWM") - before) / 1_024;
    assert!(grown(before) < 50, "{} MB for an upload", grown(before));
    for path in [format!("{folder}/{}", text(&made[0]["file_id"])), format!("{folder}/zip")] {
        let mut stream = owner.begin("GET", &path, &[], 0);
        let (mut buffer, mut total) = (vec![0; MB], 0);
        loop {
            let read = stream.read(&mut buffer).unwrap();
            if read == 0 {
                break;
            }
            total += read;
        }
        assert!(total > 200 * MB, "{total}");
    }
    assert!(grown(before) < 50, "{} MB with downloads", grown(before));
    let _: Value = owner.get(&folder).expect(200);
}
