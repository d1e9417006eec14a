//! The site: every request is recorded, every page is a text of the test.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// A request that has arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Arrived {
    pub(crate) line: String,
    pub(crate) body: String,
}

/// A page: its type, further header lines, its content.
#[derive(Clone)]
pub(crate) struct Page {
    status: &'static str,
    kind: &'static str,
    headers: String,
    content: String,
}

/// A server on loopback.
#[derive(Clone)]
pub(crate) struct Site {
    pub(crate) port: u16,
    pages: Arc<Mutex<BTreeMap<String, Page>>>,
    arrived: Arc<Mutex<Vec<Arrived>>>,
}

impl Site {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let site = Self {
            port: listener.local_addr().unwrap().port(),
            pages: Arc::default(),
            arrived: Arc::default(),
        };
        let server = site.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let server = server.clone();
                thread::spawn(move || server.serve(stream));
            }
        });
        site
    }

    pub(crate) fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub(crate) fn html(&self, path: &str, content: &str) {
        self.page(path, "200 OK", "text/html; charset=utf-8", "", content);
    }

    pub(crate) fn page(
        &self,
        path: &str,
        status: &'static str,
        kind: &'static str,
        headers: &str,
        content: &str,
    ) {
        let headers = headers.to_owned();
        let page = Page { status, kind, headers, content: content.to_owned() };
        self.pages.lock().unwrap().insert(path.to_owned(), page);
    }

    /// The requests that have arrived and change something.
    pub(crate) fn changes(&self) -> Vec<Arrived> {
        let arrived = self.arrived.lock().unwrap();
        arrived.iter().filter(|it| !it.line.starts_with("GET ")).cloned().collect()
    }

    pub(crate) fn has(&self, line: &str) -> bool {
        self.arrived.lock().unwrap().iter().any(|it| it.line == line)
    }

    pub(crate) fn is_untouched(&self) -> bool {
        self.arrived.lock().unwrap().is_empty()
    }

    fn serve(&self, mut stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut first = String::new();
        if reader.read_line(&mut first).unwrap_or(0) == 0 {
            return;
        }
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) <= 2 {
                break;
            }
            if let Some(it) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = it.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let mut words = first.split(' ');
        let (method, path) = (words.next().unwrap_or(""), words.next().unwrap_or("").to_owned());
        let line = format!("{method} {path}");
        let body = String::from_utf8_lossy(&body).into_owned();
        self.arrived.lock().unwrap().push(Arrived { line: line.clone(), body });
        let pages = self.pages.lock().unwrap();
        let missing = Page {
            status: "404 Not Found",
            kind: "text/html",
            headers: String::new(),
            content: "<p>nothing here".to_owned(),
        };
        let page = pages.get(&line).or_else(|| pages.get(&path)).cloned().unwrap_or(missing);
        drop(pages);
        let Page { status, kind, headers, content } = page;
        let length = content.len();
        let _ = write!(
            stream,
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{headers}\
             Connection: close\r\n\r\n{content}"
        );
    }
}
