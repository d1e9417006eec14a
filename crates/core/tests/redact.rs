//! Redaction as a whole: its quality on data that we did not write, and its properties for any
//! text.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "helpers of tests, which may panic and report"
)]

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use countersign_core::redact::{mask, redact, scan};
use serde_json::Value;

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/redact.jsonl");

/// A small random number generator with a seed, so that a failure can be repeated.
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }
}

/// Pieces that detectors look for, and pieces that break them, separated by bars.
const PIECES: &str = "password|=|:| |\n|\"|'|`|\\|token|secret key|api_key|--token|-p|-u|curl|mysql|\
    sudo -S|echo|user|@|://|https|ghp_|sk-|xoxb-|AKIA|eyJ|.|-----BEGIN PRIVATE KEY-----|-----END|\
    $1$|$2a$|AC|0123456789|4000001234567899|DE89|370400440532013000|é|여권|\u{1f511}|[redacted:|]|\
    [redacted:password]|Authorization|Bearer|Basic|c29tZSBiYXNlNjQ|abcDEF123|\
    9f86d081884c7d659a2feaa0c55ad015|/|(|)|,|{|}|<|>|value|is|hunter22!|192.168.0.1|+49 30 901820|\
    ann|acme.io|s3|.amazonaws.com|arn:aws:|::|210987654321|Q~|!|00D|1|A|x|_|-|mnemonic|word|%3D|\
    \\n|\u{2026}|=>|name|default|login|machine|passport|ssn|219-09-1234|identified by|auth=(|key|pw|\
    is|PIN|4821|code|482913|is your|into the|field|пароль|密码|是|passphrase|a b c d|creds|otp|to|\
    acme_live_|zY7-|Qm|qk7RtW3pZx90LmB2vD8s|commit|\"id\": \"|sha512-|+|api key|-> |activation key|\
    AB3DE-FGH1J-KLM5N|--with-token|?key=|string =";

fn drawn(draw: &mut Draw, length: usize) -> String {
    let pieces: Vec<&str> = PIECES.split('|').chain(["|"]).collect();
    (0..length).map(|_| pieces[draw.below(pieces.len())]).collect()
}

fn corpus() -> Option<Vec<Value>> {
    if !Path::new(DATA).exists() {
        println!("skipped: no corpus beside the workspace");
        return None;
    }
    let text = fs::read_to_string(DATA).unwrap();
    Some(text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

#[test]
fn redaction_holds_its_floor_on_foreign_data() {
    let Some(rows) = corpus() else { return };
    let (mut bad, mut caught, mut good, mut disturbed) = (0_u32, 0_u32, 0_u32, 0_u32);
    for row in rows {
        let found = u32::from(!scan(row["input"].as_str().unwrap()).is_empty());
        match row["expected"].as_str().unwrap() {
            "benign" => (good, disturbed) = (good + 1, disturbed + found),
            "secret" | "pii" => (bad, caught) = (bad + 1, caught + found),
            _ => {}
        }
    }
    let recall = f64::from(caught) / f64::from(bad);
    let disturbance = f64::from(disturbed) / f64::from(good);
    assert!(recall >= 0.93, "recall {recall:.4}");
    assert!(disturbance <= 0.03, "false positives {disturbance:.4}");
}

#[test]
fn findings_lie_on_characters_in_order_and_apart() {
    let mut draw = Draw(1);
    for _ in 0..3000 {
        let text = drawn(&mut draw, 24);
        let found = scan(&text);
        let mut from = 0;
        for found in &found {
            let [start, end] = found.span;
            assert!(from <= start && start < end && end <= text.len(), "{text:?} {found:?}");
            assert!(text.get(start..end).is_some(), "{text:?} {found:?}");
            from = end;
        }
        assert_eq!(mask(&text, &found), redact(&text).text);
    }
}

#[test]
fn redacting_twice_changes_nothing() {
    let mut draw = Draw(2);
    for _ in 0..6000 {
        let text = drawn(&mut draw, 24);
        let once = redact(&text).text;
        let twice = redact(&once);
        assert!(twice.found.is_empty(), "{text:?} {once:?} {:?}", twice.found);
        assert_eq!(once, twice.text);
    }
    for row in corpus().unwrap_or_default() {
        let once = redact(row["input"].as_str().unwrap());
        assert!(scan(&once.text).is_empty(), "{}", once.text);
    }
}

#[test]
fn any_text_is_read() {
    let mut draw = Draw(3);
    for _ in 0..2000 {
        let bytes: Vec<u8> = (0..200).map(|_| u8::try_from(draw.below(256)).unwrap()).collect();
        let _ = redact(&String::from_utf8_lossy(&bytes));
    }
}

/// Pieces that a detector might read again and again, separated by bars.
const UNITS: &str = "7|A|a-|sk-|pypi-Ag|ghp_a_|eyJ-|eyJa.|$1$|1Q~|password=|password=\"|password |\
    password is |token: |api_key |curl -u |sudo -S |mysql -p|://a:b@|a@a.|@|1@1.1.1.1 |\
    -----BEGIN PRIVATE KEY-----|-----BEGIN |arn:aws:|.amazonaws.com|s3.|1 |12-|4111 |DE89 |+1 |\
    phone 1234567 |ssn 123456788 |mnemonic |word |Authorization: Bearer |Cookie: a=|login(\"a\",|\
    auth=(\"a\", \"b\"|[redacted:x]|\n|\\|'|\"|(|é|a.b.c.|key: |AA99 |name: API_KEY\nvalue: |\
    live_1_|https://hooks.slack.com/services/|IDENTIFIED BY '|machine a login b password |\
    password=hunter22! |219-09-1234 |a:b::c:::|Private-Lines: 1\n|{\"a\":|0x|a1B2c3D4|acme_|a_b1-|\
    a1.|a1/|a1+|qk7RtW3pZx90LmB2vD8s |qk7RtW3pZx90LmB2vD8s\n|code 482913 |code 123 |is your |pw is |\
    login a/|passphrase: a b c d |passphrase |пароль |密码是|OTP 123 |codes: |--with-token |echo a |?key=";

#[test]
fn time_grows_with_the_text_and_no_faster() {
    for unit in UNITS.split('|') {
        let small = spent(unit, 4 * 1024);
        let large = spent(unit, 32 * 1024);
        // Eight times the text: a quadratic detector takes sixty-four times as long.
        let limit = small * 30 + Duration::from_millis(300);
        assert!(large < limit, "{unit:?}: {small:?} for 4 KiB, {large:?} for 32 KiB");
    }
}

fn spent(unit: &str, length: usize) -> Duration {
    let text = unit.repeat(length / unit.len());
    let once = || {
        let started = Instant::now();
        let _ = redact(&text);
        started.elapsed()
    };
    // The best of a few: a busy machine takes time that is not ours.
    (0..3).map(|_| once()).min().unwrap_or_default()
}

#[test]
fn a_megabyte_is_read_in_reasonable_time() {
    for unit in ["0123456789", "c29tZSBiYXNlNjQgdGV4dA", "password=", "the quick brown fox, "] {
        let took = spent(unit, 1_048_576);
        assert!(took < Duration::from_secs(30), "{unit:?} took {took:?}");
    }
}
