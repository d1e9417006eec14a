//! The events of a browser. Nothing here waits: it runs on the thread that reads.

use std::sync::Arc;

use countersign_core::Action;
use countersign_core::action::DownloadFile;
use serde_json::{Value, json};

use super::cdp::{Cdp, Event};
use super::request;
use super::state::{Held, Landing, LandingEnd, Shared, Target};

/// The script that reads a page, in a world of its own.
pub(super) const SCRIPT: &str = include_str!("page.js");
/// The name of that world.
pub(super) const WORLD: &str = "countersign";

/// Returns a text of an event.
pub(super) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The parameters by which a target attaches all others, before their first request.
fn attach(exclude: &[&str]) -> Value {
    let mut filter: Vec<_> =
        exclude.iter().map(|kind| json!({"type": kind, "exclude": true})).collect();
    filter.push(json!({}));
    json!({"autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true, "filter": filter})
}

/// The parameters by which the browser itself attaches every target, before its first request.
pub(super) fn attach_all() -> Value {
    attach(&["browser", "browser_ui", "tab"])
}

pub(super) fn handle(cdp: &Arc<Cdp>, shared: &Arc<Shared>, event: &Event) {
    let Event { session, method, params } = event;
    match (method.as_str(), session) {
        ("Target.attachedToTarget", _) => attached(cdp, shared, session.as_deref(), params),
        ("Target.detachedFromTarget", _) => detached(shared, text(params, "/sessionId")),
        ("Fetch.requestPaused", Some(session)) => request::paused(cdp, shared, session, params),
        ("Network.loadingFinished" | "Network.loadingFailed", _) => {
            let id = text(params, "/requestId");
            shared.change(|state| state.in_flight.remove(id));
        }
        ("Page.frameStartedLoading", _) => {
            let frame = text(params, "/frameId").to_owned();
            shared.change(|state| state.loading.insert(frame));
        }
        ("Page.frameStoppedLoading" | "Page.frameDetached", _) => {
            let frame = text(params, "/frameId");
            shared.change(|state| state.loading.remove(frame));
        }
        ("Page.frameNavigated", Some(session)) => navigated(cdp, shared, session, params),
        ("Page.javascriptDialogOpening", Some(session)) => dialog(cdp, shared, session, params),
        ("Browser.downloadWillBegin", None) => download_begins(cdp, shared, params),
        ("Browser.downloadProgress", None) => download_goes_on(cdp, shared, params),
        _ => {}
    }
}

fn attached(cdp: &Cdp, shared: &Shared, parent: Option<&str>, params: &Value) {
    let (session, kind) = (text(params, "/sessionId"), text(params, "/targetInfo/type"));
    let frame = text(params, "/targetInfo/targetId").to_owned();
    let tell = |method: &str, params: Value| cdp.tell(Some(session), method, &params);
    tell("Fetch.enable", json!({"patterns": [{"urlPattern": "*"}]}));
    tell("Network.enable", json!({}));
    // Workers that several pages share are attached by the browser itself.
    tell("Target.setAutoAttach", attach(&["service_worker", "shared_worker"]));
    if matches!(kind, "page" | "iframe") {
        tell("Page.enable", json!({}));
        let script = json!({"source": SCRIPT, "worldName": WORLD, "runImmediately": true});
        tell("Page.addScriptToEvaluateOnNewDocument", script);
    }
    tell("Runtime.runIfWaitingForDebugger", json!({}));
    shared.change(|state| {
        state.last_order = state.last_order.saturating_add(1);
        let target = Target {
            kind: kind.to_owned(),
            parent: parent.map(str::to_owned),
            frame,
            order: state.last_order,
        };
        state.targets.insert(session.to_owned(), target);
    });
}

fn detached(shared: &Shared, session: &str) {
    shared.change(|state| {
        if let Some(target) = state.targets.remove(session) {
            // A frame that has gone does not report that it has stopped.
            state.loading.remove(&target.frame);
        }
        if state.targets.values().all(|target| target.kind != "page") {
            state.loading.clear();
        }
    });
}

/// Leaves a page that is not on the web: it was made by another page, and no address of it was
/// ever judged.
fn navigated(cdp: &Cdp, shared: &Shared, session: &str, params: &Value) {
    if params.pointer("/frame/parentId").is_some() {
        return;
    }
    let url = text(params, "/frame/url");
    let scheme = url.split(':').next().unwrap_or_default();
    // A failed request shows a page of the browser's own.
    if matches!(scheme, "http" | "https" | "chrome-error") || matches!(url, "" | "about:blank") {
        shared.change(|_| ());
        return;
    }
    let shown: String = url.chars().take(200).collect();
    shared.note(&format!("the page went to {shown}"));
    cdp.tell(Some(session), "Page.navigate", &json!({"url": "about:blank"}));
}

/// Answers a dialog with no, except the question whether to leave a page.
fn dialog(cdp: &Cdp, shared: &Shared, session: &str, params: &Value) {
    let (kind, message) = (text(params, "/type"), text(params, "/message"));
    let shown: String = message.chars().take(500).collect();
    let shown = shared.secrets.mask(&format!("{kind}: {shown}"));
    shared.change(|state| {
        if state.dialogs.len() < 20 {
            state.dialogs.push(shown);
        }
    });
    let accept = json!({"accept": matches!(kind, "beforeunload" | "alert")});
    cdp.tell(Some(session), "Page.handleJavaScriptDialog", &accept);
}

fn download_begins(cdp: &Cdp, shared: &Shared, params: &Value) {
    let guid = text(params, "/guid").to_owned();
    let landing = Landing {
        url: text(params, "/url").to_owned(),
        name: text(params, "/suggestedFilename").to_owned(),
        asked: false,
        permitted: false,
        ended: None,
    };
    if shared.state().asker.is_some() {
        shared.change(|state| state.landings.insert(guid, landing));
    } else {
        shared.note(&format!("the download of {}: nothing was running", landing.url));
        cdp.tell(None, "Browser.cancelDownload", &json!({"guid": guid}));
    }
}

/// Asks about a download as soon as its size is known, and notes its end.
fn download_goes_on(cdp: &Arc<Cdp>, shared: &Arc<Shared>, params: &Value) {
    let guid = text(params, "/guid").to_owned();
    let bytes = params.pointer("/totalBytes").and_then(Value::as_f64).unwrap_or_default();
    let ended = match text(params, "/state") {
        "completed" => Some(LandingEnd::Complete),
        "canceled" => Some(LandingEnd::Canceled),
        _ => None,
    };
    let question = shared.change(|state| {
        let landing = state.landings.get_mut(&guid)?;
        landing.ended = landing.ended.or(ended);
        let first = !std::mem::replace(&mut landing.asked, true);
        first.then(|| landing.clone())
    });
    let Some(landing) = question else { return };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "sizes of files")]
    let bytes = (bytes >= 1.0).then_some(bytes as u64);
    let file = DownloadFile {
        url: shared.secrets.mask(&landing.url),
        name: Some(landing.name.clone()),
        bytes,
    };
    let (cdp, mine) = (Arc::clone(cdp), Arc::clone(shared));
    let details = vec![format!("the page starts the download of {}", landing.name)];
    let decide = Box::new(move |answer: Result<(), String>| match answer {
        Ok(()) => mine.change(|state| {
            if let Some(landing) = state.landings.get_mut(&guid) {
                landing.permitted = true;
            }
        }),
        Err(why) => {
            mine.note(&format!("the download of {}: {why}", landing.url));
            cdp.tell(None, "Browser.cancelDownload", &json!({"guid": guid}));
        }
    });
    shared.ask(Held { action: Action::Download { files: vec![file] }, details, decide });
}
