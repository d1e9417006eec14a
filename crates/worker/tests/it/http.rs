//! Requests to servers on loopback: judged addresses only, and redirects that are judged again.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use crate::support::{Bench, done, until, why};
use countersign_core::{Action, Verdict};
use countersign_wire::work::{Ended, WorkResult};

/// A server that answers each request with the same text, and notes the requests.
struct Server {
    port: u16,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn answers(answer: impl Fn(&str) -> String + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut bytes = vec![0; 8_192];
                let read = stream.read(&mut bytes).unwrap();
                let request = String::from_utf8_lossy(&bytes[..read]).into_owned();
                noted.lock().unwrap().push(request.clone());
                let _ = stream.write_all(answer(&request).as_bytes());
            }
        });
        Self { port, requests }
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    fn count(&self) -> usize {
        self.requests.lock().unwrap().len()
    }
}

fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nset-cookie: a=b\r\n\r\n{body}", body.len())
}

fn redirect(status: u16, location: &str) -> String {
    format!("HTTP/1.1 {status} Elsewhere\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n")
}

fn bench(name: &str) -> Bench {
    let mut bench = Bench::new(name);
    bench.context.allowed_origins = Some(vec!["127.0.0.1".to_owned()]);
    // A person was asked about the first address.
    bench.agreed = Verdict::Confirm;
    bench
}

fn get(bench: &Bench, url: &str) -> WorkResult {
    let (method, url) = ("GET".to_owned(), url.to_owned());
    bench.act(Action::HttpRequest { method, url, body: None })
}

fn post(bench: &Bench, url: &str, body: &str) -> WorkResult {
    let (method, url) = ("POST".to_owned(), url.to_owned());
    bench.act(Action::HttpRequest { method, url, body: Some(body.to_owned()) })
}

#[test]
fn a_request_is_sent_as_it_was_judged_and_answered() {
    let server = Server::answers(|_| ok("hello"));
    let bench = bench("http");
    let ended = post(&bench, &server.url("/a?b=c"), "{\"x\":1}");
    assert_eq!(done(&ended), "hello");
    assert_eq!((ended.code, ended.value["whole"].as_bool()), (Some(200), Some(true)));
    assert!(ended.value["headers"].get("set-cookie").is_none(), "{ended:?}");
    let request = server.requests.lock().unwrap().concat();
    assert!(request.starts_with("POST /a?b=c HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("content-type: application/json"), "{request}");
}

#[test]
fn an_address_inside_is_refused_before_anything_is_sent() {
    let server = Server::answers(|_| ok("hello"));
    let bench = Bench::new("inside");
    let ended = get(&bench, &server.url("/"));
    assert_eq!((ended.ended, why(&ended)), (Ended::Refused, "AddressRefused"), "{ended:?}");
    assert_eq!(server.count(), 0);
}

#[test]
fn a_redirect_to_a_clouds_metadata_is_never_followed() {
    let server = Server::answers(|_| redirect(302, "http://169.254.169.254/latest/meta-data/"));
    let mut bench = bench("metadata");
    bench.server.permits = true;
    let ended = get(&bench, &server.url("/"));
    assert_eq!((ended.ended, why(&ended)), (Ended::Refused, "RedirectRefused"), "{ended:?}");
}

#[test]
fn a_redirect_to_another_origin_is_asked_about_where_its_judgement_says_so() {
    let other = Server::answers(|_| ok("other"));
    let target = other.url("/").replace("127.0.0.1", "127.0.0.2");
    let server = Server::answers(move |_| redirect(302, &target));
    let bench = bench("redirect");
    let ended = get(&bench, &server.url("/"));
    assert_eq!((ended.ended, why(&ended)), (Ended::Refused, "RedirectRefused"), "{ended:?}");
    assert_eq!(other.count(), 0);
}

#[test]
fn a_redirect_within_the_origin_is_followed_with_the_right_method() {
    let server = Server::answers(|request| match request.split(' ').nth(1) {
        Some("/end") => ok("end"),
        _ => redirect(303, "/end"),
    });
    let bench = bench("within");
    let ended = post(&bench, &server.url("/"), "x");
    assert_eq!(done(&ended), "end");
    assert!(server.requests.lock().unwrap()[1].starts_with("GET /end "));
    let endless = Server::answers(|_| redirect(302, "/again"));
    assert_eq!(why(&get(&bench, &endless.url("/"))), "TooManyRedirects");
}

#[test]
fn a_server_that_never_ends_is_given_up() {
    let mut bench = bench("slow");
    // Nobody accepts: the connection is made by the kernel and never answered.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", silent.local_addr().unwrap());
    bench.limits.seconds = 1;
    assert_eq!(get(&bench, &url).ended, Ended::TimedOut);
    bench.limits.seconds = 600;
    let ended = std::thread::scope(|scope| {
        scope.spawn(|| {
            until(|| silent.accept().is_ok());
            bench.stop.give("stopped");
        });
        get(&bench, &url)
    });
    assert_eq!(ended.ended, Ended::Stopped, "{ended:?}");
}

#[test]
fn what_is_not_a_web_request_is_refused() {
    let bench = bench("odd");
    for url in ["ftp://127.0.0.1/", "file:///etc/passwd", "http://a:b@127.0.0.1/", "nonsense"] {
        assert_eq!(get(&bench, url).ended, Ended::Refused, "{url}");
    }
    let (method, url) = ("CONNECT".to_owned(), "http://127.0.0.1/".to_owned());
    assert_eq!(bench.act(Action::HttpRequest { method, url, body: None }).ended, Ended::Refused);
}
