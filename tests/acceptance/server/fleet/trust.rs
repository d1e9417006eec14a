//! Hooks and commands trust the company's own certificate authority.

use std::fs;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustix::process::Signal;
use serde_json::Value;

use super::{Machine, PUSH, end, write};
use crate::server::{Server, Setup, text, until};

/// A certificate authority that nobody else knows.
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::<String>::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        Self { issuer: CertifiedIssuer::self_signed(params, key).expect("a certificate") }
    }

    /// Its certificate, as a file of this machine.
    pub(crate) fn file(&self, setup: &Setup) -> String {
        write(setup, "authority.pem", &self.issuer.pem())
    }

    /// Writes a certificate for a server here, and its key.
    pub(crate) fn issue(&self, setup: &Setup) -> (String, String) {
        let names = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
        let params = CertificateParams::new(names).expect("names");
        let key = KeyPair::generate().expect("a key");
        let made = params.signed_by(&key, &self.issuer).expect("a certificate");
        let certificate = write(setup, "server.pem", &made.pem());
        (certificate, write(setup, "server-key.pem", &key.serialize_pem()))
    }

    fn serve(&self) -> Server {
        let setup = Setup::new().config("profile: coding-agent\n");
        let (certificate, key) = self.issue(&setup);
        let setup = setup.word("--tls-certificate").word(&certificate);
        setup.word("--tls-key").word(&key).start()
    }
}

/// Returns a person at their own terminal, signed in by the link that the server printed.
fn person(server: &Server, authority: &Authority) -> Machine {
    let machine = Machine::new("profile: coding-agent\n");
    let file = authority.file(&machine.setup);
    let link = format!("{}/sign-in?link={}", server.url, server.link.as_deref().expect("a link"));
    let refused = machine.run(&["sign-in", &link]);
    assert!(!refused.status.success(), "nobody vouches for it here: {refused:?}");
    let machine = machine.with("SSL_CERT_FILE", &file);
    let signed_in = machine.run(&["sign-in", &link]);
    let said = String::from_utf8_lossy(&signed_in.stdout).into_owned();
    let device = said.lines().find_map(|line| line.strip_prefix("export COUNTERSIGN_DEVICE="));
    let device = device.unwrap_or_else(|| panic!("{signed_in:?}"));
    machine.with("COUNTERSIGN_DEVICE", device).with("COUNTERSIGN_SERVER", &server.url)
}

fn json(person: &Machine, words: &[&str]) -> Value {
    let output = person.run(words);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

#[test]
fn a_hook_asks_a_server_whose_authority_the_configuration_or_the_system_names() {
    let authority = Authority::new();
    let server = authority.serve();
    let person = person(&server, &authority);
    let made = json(&person, &["keys", "create", "hook", "--hook", "--any-device", "--json"]);
    assert_eq!(made["key"]["writes"], serde_json::json!({"uses": 600, "seconds": 60}));
    let key = text(&made["secret"]);
    let untrusting = Machine::of(&server, "").with("COUNTERSIGN_KEY", &key).impatient("10");
    let (decision, reason) = untrusting.call(PUSH);
    assert_eq!(decision, "deny", "{reason}");
    assert!(reason.contains("hook.tls_ca"), "{reason}");
    let (code, found) = untrusting.doctor();
    assert_eq!(code, 1, "{found}");
    let file = authority.file(&server.setup);
    let by_setting = Machine::of(&server, &format!(", tls_ca: \"{file}\""));
    let by_variable = Machine::of(&server, "").with("SSL_CERT_FILE", &file);
    for machine in [by_setting, by_variable] {
        let machine = machine.with("COUNTERSIGN_KEY", &key);
        let call = machine.begin(PUSH);
        let question = until("a question waits", || {
            json(&person, &["approvals", "list", "--json"]).get(0).cloned()
        });
        let id = text(&question["approval_id"]);
        let answered = person.run(&["approvals", "approve", &id]);
        assert!(answered.status.success(), "{answered:?}");
        assert_eq!(end(call).0, "allow");
        let (code, found) = machine.doctor();
        assert_eq!(code, 0, "{found}");
    }
}

#[test]
fn with_an_authority_of_its_own_a_hook_trusts_no_other() {
    let (ours, theirs) = (Authority::new(), Authority::new());
    let server = theirs.serve();
    let machine = Machine::new("profile: coding-agent\n");
    let (ours, theirs) = (ours.file(&server.setup), write_other(&machine, &theirs));
    let config = format!("hook: {{server: \"{}\", tls_ca: \"{ours}\"}}\n", server.url);
    // Regardless of the environment that a project's settings define.
    let machine = machine.reconfigured(&config).with("SSL_CERT_FILE", &theirs);
    let machine = machine.with("COUNTERSIGN_KEY", &some_key()).impatient("10");
    let (decision, reason) = machine.call(PUSH);
    assert_eq!(decision, "deny");
    assert!(reason.contains("not trusted"), "{reason}");
}

fn write_other(machine: &Machine, authority: &Authority) -> String {
    write(&machine.setup, "other.pem", &authority.issuer.pem())
}

/// Returns a key that no server knows, assembled here.
fn some_key() -> String {
    use countersign_gate::secret::{Secret, SecretKind};
    Secret::from_bytes(SecretKind::Key, &[7; 32]).expose().to_owned()
}

#[test]
fn a_certificate_is_read_again_and_a_wrong_one_changes_nothing() {
    let (old, new) = (Authority::new(), Authority::new());
    let server = old.serve();
    let trusts = |authority: &Authority| {
        let machine = Machine::new("profile: coding-agent\n");
        let file = authority.file(&machine.setup);
        let machine = machine.with("COUNTERSIGN_KEY", &some_key());
        let config = format!("hook: {{server: \"{}\", tls_ca: \"{file}\"}}\n", server.url);
        let (_, found) = machine.reconfigured(&config).doctor();
        let checks = found["rollout"]["checks"].as_array().expect("checks").clone();
        checks.iter().any(|check| check["name"] == "server" && check["ok"] == true)
    };
    assert!(trusts(&old) && !trusts(&new));
    new.issue(&server.setup);
    assert!(trusts(&old), "nothing is read by itself");
    server.signal(Signal::HUP);
    let is_told = |words: &str| server.log().contains(words).then_some(());
    until("it is read again", || is_told("the certificate was reloaded"));
    assert!(trusts(&new) && !trusts(&old));
    // An invalid file leaves the current one in place, with a message.
    fs::write(server.setup.home.0.join("server.pem"), "no certificate").expect("a file");
    server.signal(Signal::HUP);
    until("it says so", || is_told("the old certificate stays in use"));
    assert!(trusts(&new));
}
