//! The real client against real servers on loopback, with TLS and without.

use std::io::Write as _;
use std::net::TcpListener;
use std::sync::Mutex;
use std::thread;

use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, StreamOwned};

use super::*;
use crate::channel::testing::{accept, dead, ok, read, response, serve};

/// Resolves to each answer once, then repeats the last.
struct Changing(Mutex<Vec<&'static str>>);

impl Resolve for Changing {
    fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        let mut answers = self.0.lock().unwrap();
        let answer = if answers.len() > 1 { answers.remove(0) } else { answers[0] };
        Ok(answer.split(' ').map(|address| address.parse().unwrap()).collect())
    }
}

fn named(base: &str, reach: Reach, answers: &[&'static str]) -> Client {
    let resolver = Box::new(Changing(Mutex::new(answers.to_vec())));
    Client::with(base, reach, resolver, mozilla_roots()).unwrap()
}

fn post(client: &Client) -> Result<Response, SendError> {
    client.post(&Request::json(b"{}"))
}

fn plain(base: &str) -> Client {
    Client::new(base, Reach::DangerAnywhere).unwrap()
}

#[test]
fn a_name_that_leads_inside_is_refused() {
    for answers in [["10.0.0.7"], ["127.0.0.1"], ["93.184.216.34 192.168.0.1"], ["::1"]] {
        let sent = post(&named("https://hooks.example/x", Reach::Public, &answers));
        assert_eq!(sent, Err(SendError::Never(OUT_OF_REACH.to_owned())), "{answers:?}");
    }
    // The service that hands out a cloud's credentials cannot be reached even with danger.
    let sent = post(&named("http://hooks.example/x", Reach::DangerAnywhere, &["169.254.169.254"]));
    assert_eq!(sent, Err(SendError::Never(OUT_OF_REACH.to_owned())));
    for base in ["https://10.0.0.7/", "https://127.0.0.1/", "https://[::1]/", "https://localhost/"]
    {
        let sent = post(&Client::new(base, Reach::Public).unwrap());
        assert_eq!(sent, Err(SendError::Never(OUT_OF_REACH.to_owned())), "{base}");
    }
}

#[test]
fn a_name_is_asked_once_and_the_connection_goes_to_that_answer() {
    let server = serve(|_| ok());
    let port = server.url.rsplit_once(':').unwrap().1.to_owned();
    let base = format!("http://hooks.internal:{port}/x");
    // No server listens on 127.0.0.2, the second answer.
    let client = named(&base, Reach::DangerAnywhere, &["127.0.0.1", "127.0.0.2"]);
    assert_eq!(post(&client).unwrap().status, 200);
    assert_eq!(server.next().header("host"), format!("hooks.internal:{port}"));
    assert_eq!(post(&client), Err(SendError::Later(None)));
}

#[test]
fn a_body_is_read_however_it_is_framed_and_never_too_much_of_it() {
    let chunked = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n\
                   4\r\nabcd\r\n2;x=y\r\nef\r\n0\r\n\r\n";
    for (answer, body) in [
        (response(200, "", "abcdef"), "abcdef"),
        ("HTTP/1.1 200 OK\r\n\r\nabcdef".to_owned(), "abcdef"),
        (chunked.to_owned(), "abcdef"),
        ("HTTP/1.1 204 No\r\n\r\n".to_owned(), ""),
    ] {
        let server = serve(move |_| answer.clone());
        assert_eq!(post(&plain(&server.url)).unwrap().body, body.as_bytes());
    }
    for head in ["content-length: 9999999", "x: y", "transfer-encoding: chunked"] {
        let size = if head.contains("chunked") { "98967f\r\n" } else { "" };
        let answer = format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{size}{}", "x".repeat(300_000));
        let server = serve(move |_| answer.clone());
        assert_eq!(post(&plain(&server.url)).unwrap().body.len(), MOST_BYTES, "{head}");
    }
}

#[test]
fn what_is_no_answer_is_tried_again_later() {
    for answer in [
        "",
        "SSH-2.0-x\r\n\r\n",
        "HTTP/1.1 200",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
    ] {
        let server = serve(move |_| answer.to_owned());
        assert_eq!(post(&plain(&server.url)), Err(SendError::Later(None)), "{answer:?}");
    }
    let endless = format!("HTTP/1.1 200 OK\r\nx: {}", "x".repeat(100_000));
    let server = serve(move |_| endless.clone());
    assert_eq!(post(&plain(&server.url)), Err(SendError::Later(None)));
    assert_eq!(post(&plain(&dead())), Err(SendError::Later(None)));
}

#[test]
fn a_server_that_says_nothing_is_left_in_time() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = plain(&format!("http://{}", listener.local_addr().unwrap()));
    let request = Request { timeout: Duration::from_millis(20), ..Request::json(b"{}") };
    assert_eq!(client.post(&request), Err(SendError::Later(None)));
}

#[test]
fn a_line_break_in_a_header_sends_nothing() {
    let server = serve(|_| ok());
    let request = Request { headers: &[("x", "a\r\ny: b")], ..Request::json(b"{}") };
    assert!(matches!(plain(&server.url).post(&request), Err(SendError::Never(_))));
}

/// A TLS server with a self-signed certificate for `localhost`.
fn tls_server() -> (String, CertificateDer<'static>) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let certificate = made.cert.der().clone();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        loop {
            let connection = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = StreamOwned::new(connection, accept(&listener));
            if read(&mut stream).is_some() {
                let _ = stream.write_all(ok().as_bytes());
                stream.conn.send_close_notify();
                let _ = stream.flush();
            }
        }
    });
    (format!("https://localhost:{port}/"), certificate)
}

#[test]
fn a_certificate_is_checked_against_the_roots_and_the_name() {
    let (base, certificate) = tls_server();
    let trusting = |base: &str| {
        let mut roots = RootCertStore::empty();
        roots.add(certificate.clone()).unwrap();
        let resolver = Box::new(Changing(Mutex::new(vec!["127.0.0.1"])));
        Client::with(base, Reach::DangerAnywhere, resolver, roots).unwrap()
    };
    assert_eq!(post(&trusting(&base)).unwrap().status, 200);
    let refused = Err(SendError::Never("the server's certificate is not trusted".to_owned()));
    assert_eq!(post(&trusting(&base.replace("localhost", "hooks.internal"))), refused);
    // Danger loosens the address, never the certificate.
    assert_eq!(post(&Client::new(&base, Reach::DangerAnywhere).unwrap()), refused);
}
