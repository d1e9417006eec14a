//! Opens, reads, photographs and prints pages.

use std::io::Read;
use std::sync::PoisonError;

use countersign_wire::work::{Ended, WorkItem, WorkResult};
use serde_json::{Value, json};
use url::Url;

use super::download::Stream;
use super::events::text;
use super::failed::Failed;
use super::output::kept;
use super::page::World;
use super::session::Browser;
use crate::executor::Running;

/// The most screenshots of a session.
const MOST_SCREENSHOTS: u32 = 100;
/// The most bytes of a printed page.
const MOST_PRINTED: u64 = 100 * 1024 * 1024;

impl Browser {
    /// Opens a page.
    pub(super) fn navigate(&self, item: &WorkItem, url: &str) -> Result<WorkResult, Failed> {
        let url = absolute(item, url)?;
        self.shared.network.admit(&url).map_err(|why| Failed::refused("NotAllowed", why))?;
        let page = self.page()?;
        let opened = self.call(Some(&page), "Page.navigate", &json!({"url": url}))?;
        self.settle()?;
        let error = text(&opened, "/errorText");
        let is_download = opened.get("isDownload").and_then(Value::as_bool) == Some(true);
        if !error.is_empty() && !is_download {
            return Err(Failed::because("NotOpened", error));
        }
        Ok(WorkResult::of(Ended::Done))
    }

    /// Reads every frame of the page.
    pub(super) fn read(&self, item: &WorkItem) -> Result<WorkResult, Failed> {
        let mut parts = Vec::new();
        for frame in self.frames()? {
            let read = self.world(&frame).and_then(|world| self.script(&world, "read", &[]));
            // A frame that has gone meanwhile, or shows an error, has nothing to read.
            let Ok(mut read) = read else { continue };
            let references = format!("[{}e", frame.prefix);
            let content = text(&read, "/text");
            let content = if frame.prefix.is_empty() {
                content.to_owned()
            } else {
                content.replace("[e", &references)
            };
            let title = read.get_mut("title").map(Value::take).unwrap_or_default();
            let kind = if frame.prefix.is_empty() { "page" } else { "frame" };
            let is_whole = read.get("whole") == Some(&Value::Bool(true));
            let end = if is_whole { "" } else { "(the rest is too long to be read)\n" };
            parts.push(format!("{kind} {title} {}\n{content}\n{end}", frame.url));
        }
        let masked = self.shared.secrets.mask(&parts.concat());
        Ok(WorkResult {
            output: kept(&masked, item.limits.output_bytes),
            ..WorkResult::of(Ended::Done)
        })
    }

    /// Takes a picture of the page, with secrets painted over.
    pub(super) fn screenshot(&self) -> Result<WorkResult, Failed> {
        let count = {
            let mut taken = self.screenshots.lock().unwrap_or_else(PoisonError::into_inner);
            if *taken >= MOST_SCREENSHOTS {
                let why = format!("the session has taken {MOST_SCREENSHOTS} screenshots");
                return Err(Failed::refused("TooMany", why));
            }
            *taken = taken.saturating_add(1);
            *taken
        };
        let page = self.page()?;
        let params = json!({"format": "png"});
        let picture = self.covered(|| self.call(Some(&page), "Page.captureScreenshot", &params))?;
        let value = json!({
            "media_type": "image/png", "data": text(&picture, "/data"), "screenshots": count,
        });
        Ok(WorkResult { value, ..WorkResult::of(Ended::Done) })
    }

    /// Does something while every secret on the page is painted over.
    fn covered<R>(&self, look: impl FnOnce() -> Result<R, Failed>) -> Result<R, Failed> {
        let secrets = self.shared.secrets.texts();
        let words = [Value::from(secrets.iter().map(|secret| secret.as_str()).collect::<Vec<_>>())];
        let mut covered: Vec<World> = Vec::new();
        let mut failed = None;
        for frame in self.frames()? {
            let world = self.world(&frame);
            match world.and_then(|world| self.script(&world, "cover", &words).map(|_| world)) {
                Ok(world) => covered.push(world),
                Err(error) => failed = Some(error),
            }
        }
        // A frame in which nothing can be painted over must not be shown.
        let result = failed.map_or_else(look, Err);
        for world in &covered {
            // A frame that is gone has nothing to show again.
            let _ = self.script(world, "uncover", &[]);
        }
        result
    }

    /// Prints the page, with secrets painted over; returns the document.
    pub(super) fn print(&self) -> Result<Vec<u8>, Failed> {
        let page = self.page()?;
        let params = json!({"transferMode": "ReturnAsStream", "printBackground": true});
        let printed = self.covered(|| self.call(Some(&page), "Page.printToPDF", &params))?;
        let stream = Stream::new(self, page, text(&printed, "/stream").to_owned());
        let mut document = Vec::new();
        let read = stream.take(MOST_PRINTED).read_to_end(&mut document);
        read.map_err(|error| Failed::because("NotPrinted", error.to_string()))?;
        Ok(document)
    }

    /// Prints the page and hands it in, if it has no more pages than were judged.
    pub(super) fn export(&self, judged: u64, running: Running<'_>) -> Result<WorkResult, Failed> {
        let document = self.print()?;
        let pages = pages(&document);
        if pages > judged {
            let why = format!("the page prints on {pages} pages, and {judged} were judged");
            return Err(Failed::refused("MorePages", why));
        }
        let name = format!("{}.pdf", self.title()?);
        let file = running.controller.hand_in(&name, &mut document.as_slice());
        let file = file.map_err(|error| Failed::because("NotHandedIn", error.0))?;
        let value = json!({"pages": pages});
        Ok(WorkResult { value, files: vec![file], ..WorkResult::of(Ended::Done) })
    }

    /// Returns a name for the page that fits a file.
    fn title(&self) -> Result<String, Failed> {
        let url = self.address()?;
        let host = Url::parse(&url).ok().and_then(|url| url.host_str().map(str::to_owned));
        Ok(host.unwrap_or_else(|| "page".to_owned()))
    }
}

/// Counts the pages of a printed document.
pub(super) fn pages(document: &[u8]) -> u64 {
    const MARK: &[u8] = b"/Type /Page";
    let marks = document.windows(MARK.len().saturating_add(1));
    let marks = marks.filter(|it| it.starts_with(MARK) && it.last() != Some(&b's'));
    marks.fold(0, |count, _| count.saturating_add(1))
}

/// Returns an address of an item in full.
pub(super) fn absolute(item: &WorkItem, url: &str) -> Result<String, Failed> {
    let base = item.context.base_url.as_deref().and_then(|base| Url::parse(base).ok());
    let parsed = Url::options().base_url(base.as_ref()).parse(url);
    let parsed =
        parsed.map_err(|error| Failed::refused("NotAllowed", format!("{url}: {error}")))?;
    Ok(parsed.into())
}
