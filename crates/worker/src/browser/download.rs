//! Downloads: those that were asked for, and those that a page starts by itself.

use std::fs::{self, File};
use std::io::{self, Read};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use countersign_core::action::DownloadFile;
use countersign_wire::work::{Ended, WorkFile, WorkItem, WorkResult};
use serde_json::{Value, json};
use url::Url;

use super::capture::absolute;
use super::events::text;
use super::failed::Failed;
use super::session::Browser;
use super::state::LandingEnd;
use crate::executor::Running;

impl Browser {
    /// Fetches files as the page would, with its cookies, and hands them in.
    pub(super) fn download(
        &self,
        item: &WorkItem,
        files: &[DownloadFile],
        running: Running<'_>,
    ) -> Result<WorkResult, Failed> {
        let mut handed_in = Vec::new();
        for file in files {
            let url = absolute(item, &file.url)?;
            self.shared.network.admit(&url).map_err(|why| Failed::refused("NotAllowed", why))?;
            let name = file.name.clone().unwrap_or_else(|| last_segment(&url));
            handed_in.push(self.fetch(&url, &name, running)?);
        }
        Ok(WorkResult { files: handed_in, ..WorkResult::of(Ended::Done) })
    }

    fn fetch(&self, url: &str, name: &str, running: Running<'_>) -> Result<WorkFile, Failed> {
        let failed = |why: &str| Failed::because("NotDownloaded", format!("{url}: {why}"));
        let frame = self.frames()?.into_iter().next().ok_or_else(|| failed("no page is open"))?;
        let params = json!({
            "frameId": frame.id,
            "url": url,
            "options": {"disableCache": true, "includeCredentials": true},
        });
        let loaded = self.call(Some(&frame.session), "Network.loadNetworkResource", &params)?;
        let status = loaded.pointer("/resource/httpStatusCode").and_then(Value::as_f64);
        if !status.is_some_and(|status| (200.0..300.0).contains(&status)) {
            let error = text(&loaded, "/resource/netErrorName");
            let status = status.map_or_else(|| error.to_owned(), |it| format!("status {it}"));
            return Err(failed(&status));
        }
        let handle = text(&loaded, "/resource/stream").to_owned();
        let mut stream = Stream::new(self, frame.session, handle);
        running.controller.hand_in(name, &mut stream).map_err(|error| failed(&error.0))
    }

    /// Hands in what the page has downloaded by itself, as far as that was permitted, and removes
    /// everything else.
    pub(super) fn landed(&self, running: Running<'_>) -> Result<Vec<WorkFile>, Failed> {
        let landings = self.shared.change(|state| std::mem::take(&mut state.landings));
        let mut files = Vec::new();
        for (guid, landing) in landings {
            let path = self.downloads.join(&guid);
            let complete = landing.ended == Some(LandingEnd::Complete);
            if landing.permitted && complete {
                let failed = |why: String| {
                    Failed::because("NotHandedIn", format!("{}: {why}", landing.name))
                };
                let mut file = File::open(&path).map_err(|error| failed(error.to_string()))?;
                let file = running.controller.hand_in(&landing.name, &mut file);
                files.push(file.map_err(|error| failed(error.0))?);
            } else if !complete {
                self.cdp.tell(None, "Browser.cancelDownload", &json!({"guid": guid}));
            }
            // The rest goes with the profile.
            let _ = fs::remove_file(&path);
        }
        Ok(files)
    }
}

fn last_segment(url: &str) -> String {
    let url = Url::parse(url).ok();
    let last = url.as_ref().and_then(|url| url.path_segments()?.next_back());
    last.filter(|name| !name.is_empty()).unwrap_or("download").to_owned()
}

/// The content that the browser holds under a handle.
pub(super) struct Stream<'a> {
    browser: &'a Browser,
    session: String,
    handle: String,
    piece: io::Cursor<Vec<u8>>,
    is_over: bool,
}

impl<'a> Stream<'a> {
    pub(super) fn new(browser: &'a Browser, session: String, handle: String) -> Self {
        Self { browser, session, handle, piece: io::Cursor::default(), is_over: false }
    }

    fn next(&mut self) -> io::Result<()> {
        let params = json!({"handle": self.handle, "size": 1024 * 1024});
        let answer = self.browser.call(Some(&self.session), "IO.read", &params);
        let answer = answer.map_err(io::Error::other)?;
        let data = text(&answer, "/data");
        let encoded = answer.get("base64Encoded").and_then(Value::as_bool) == Some(true);
        let bytes = if encoded {
            STANDARD.decode(data).map_err(io::Error::other)?
        } else {
            data.as_bytes().to_vec()
        };
        self.is_over = answer.get("eof").and_then(Value::as_bool) != Some(false);
        self.piece = io::Cursor::new(bytes);
        Ok(())
    }
}

impl Read for Stream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.piece.read(buffer)?;
            if read > 0 || self.is_over {
                return Ok(read);
            }
            self.next()?;
        }
    }
}

impl Drop for Stream<'_> {
    fn drop(&mut self) {
        self.browser.cdp.tell(Some(&self.session), "IO.close", &json!({"handle": self.handle}));
    }
}
