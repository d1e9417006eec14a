//! Tests with a resolver that changes its answers, and real servers on loopback.

use std::cell::RefCell;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;

use super::*;

/// Answers once with each address, then always with the last.
struct Changing(RefCell<Vec<&'static str>>);

impl Changing {
    fn new(answers: &[&'static str]) -> Self {
        Self(RefCell::new(answers.iter().rev().copied().collect()))
    }
}

impl Resolve for Changing {
    fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        let mut answers = self.0.borrow_mut();
        let answer = if answers.len() > 1 { answers.pop() } else { answers.last().copied() };
        Ok(answer
            .into_iter()
            .flat_map(|list| list.split(' '))
            .map(|a| a.parse().unwrap())
            .collect())
    }
}

fn refused(result: Result<Destination, RefusedError>) -> String {
    match result {
        Err(RefusedError::Judged(judgement)) => judgement.findings[0].rule.clone(),
        other => panic!("{other:?}"),
    }
}

fn strict<'a>(policy: &'a Policy, context: &'a Context) -> JudgeWith<'a> {
    JudgeWith { policy, context, agreed: Verdict::Warn }
}

#[test]
fn a_name_that_leads_inside_is_refused_even_among_others() {
    let (policy, context) = (Policy::default(), Context::default());
    let to = |answers| {
        Destination::new("https://example.com/", strict(&policy, &context), &Changing::new(answers))
    };
    assert!(to(&["93.184.216.34"]).is_ok());
    assert_eq!(refused(to(&["127.0.0.1"])), "web.url.resolves-inside");
    assert_eq!(refused(to(&["93.184.216.34 10.0.0.7"])), "web.url.resolves-inside");
    assert_eq!(refused(to(&["::ffff:169.254.169.254"])), "web.url.metadata");
}

#[test]
fn what_the_url_says_is_refused_before_anybody_is_asked() {
    struct Never;
    impl Resolve for Never {
        fn resolve(&self, domain: &str) -> io::Result<Vec<IpAddr>> {
            panic!("asked for {domain}");
        }
    }
    let (policy, context) = (Policy::default(), Context::default());
    for url in ["http://127.0.0.1/", "file:///etc/passwd", "http://x.nip.io/", "http://0x7f.1/"] {
        assert!(Destination::new(url, strict(&policy, &context), &Never).is_err(), "{url}");
    }
}

#[test]
fn a_second_answer_is_never_asked_for() {
    let (policy, context) = (Policy::default(), Context::default());
    let resolver = Changing::new(&["93.184.216.34", "127.0.0.1"]);
    let judge_with = strict(&policy, &context);
    let destination = Destination::new("https://example.com/", judge_with, &resolver).unwrap();
    assert_eq!(destination.addresses(), ["93.184.216.34:443".parse().unwrap()]);
    // The redirect is resolved again, and by then the answer has changed.
    assert_eq!(
        refused(destination.redirect("/next", judge_with, &resolver)),
        "web.url.resolves-inside"
    );
}

#[test]
fn a_connection_goes_to_the_judged_address_whatever_the_name_says_by_then() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"judged").unwrap();
    });
    let policy = Policy::default();
    let context =
        Context { allowed_origins: Some(vec!["app.internal".to_owned()]), ..Context::default() };
    // No server listens on 127.0.0.2: had the name been resolved again, nothing would answer.
    let resolver = Changing::new(&["127.0.0.1", "127.0.0.2"]);
    let url = format!("http://app.internal:{port}/");
    let destination = Destination::new(&url, strict(&policy, &context), &resolver).unwrap();
    let mut stream = destination.connect(Duration::from_secs(10)).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    server.join().unwrap();
    assert_eq!(text, "judged");
}

#[test]
fn redirects_are_judged_and_counted() {
    let policy = Policy::default();
    let context =
        Context { allowed_origins: Some(vec!["example.com".to_owned()]), ..Context::default() };
    let resolver = Changing::new(&["93.184.216.34"]);
    let judge_with = strict(&policy, &context);
    let mut at = Destination::new("https://example.com/", judge_with, &resolver).unwrap();
    assert_eq!(
        refused(at.redirect("javascript:alert(1)", judge_with, &resolver)),
        "web.url.forbidden-scheme"
    );
    assert_eq!(
        refused(at.redirect("https://example.org/", judge_with, &resolver)),
        "web.url.foreign-origin"
    );
    assert_eq!(
        refused(at.redirect("//169.254.169.254/", judge_with, &resolver)),
        "web.url.metadata"
    );
    for _ in 0..MOST_REDIRECTS {
        at = at.redirect("/on", judge_with, &resolver).unwrap();
    }
    assert!(matches!(at.redirect("/on", judge_with, &resolver), Err(RefusedError::Redirects)));
}

#[test]
fn what_somebody_agreed_to_may_be_reached() {
    let (policy, context) = (Policy::default(), Context::default());
    let agreed = JudgeWith { policy: &policy, context: &context, agreed: Verdict::Confirm };
    let resolver = Changing::new(&["127.0.0.1"]);
    assert!(Destination::new("http://localhost:8080/", agreed, &resolver).is_ok());
    assert!(Destination::new("http://127.0.0.1:8080/", agreed, &resolver).is_ok());
    assert!(Destination::new("https://example.com/", agreed, &resolver).is_err());
    assert!(Destination::new("http://169.254.169.254/", agreed, &resolver).is_err());
}

#[test]
fn this_machine_knows_its_own_name() {
    let addresses = System.resolve("localhost").unwrap();
    assert!(!addresses.is_empty() && addresses.iter().all(IpAddr::is_loopback));
    assert!(System.resolve("no-such-name.invalid").is_err());
}

#[test]
fn a_name_without_an_address_is_an_error() {
    struct Nothing;
    impl Resolve for Nothing {
        fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
            Ok(Vec::new())
        }
    }
    let (policy, context) = (Policy::default(), Context::default());
    let result = Destination::new("https://example.com/", strict(&policy, &context), &Nothing);
    assert!(matches!(result, Err(RefusedError::Unresolved { .. })));
}
