//! One page: its address, its content, and the problems that the browser reports.

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{PATIENCE, Wire};

/// One page of the browser, in a context of its own.
pub(in super::super) struct Page {
    wire: Rc<RefCell<Wire>>,
    session: String,
    origin: String,
    downloads: PathBuf,
    complaints: RefCell<Vec<String>>,
    /// Words of problems that are expected here.
    forgiven: RefCell<Vec<String>>,
}

impl Drop for Page {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_eq!(self.complaints(), Vec::<String>::new(), "the browser complains");
        }
    }
}

impl Page {
    pub(super) fn new(
        wire: Rc<RefCell<Wire>>,
        session: String,
        downloads: PathBuf,
        origin: &str,
    ) -> Self {
        let page = Self {
            wire,
            session,
            origin: origin.to_owned(),
            downloads,
            complaints: RefCell::default(),
            forgiven: RefCell::default(),
        };
        for domain in ["Page", "Runtime", "Log", "Network", "Audits", "DOM"] {
            page.call(&format!("{domain}.enable"), &json!({}));
        }
        page.before_each(CHANGES);
        // Foreground and background pages both emulate focus.
        page.call("Emulation.setFocusEmulationEnabled", &json!({"enabled": true}));
        page
    }

    pub(super) fn try_call(&self, method: &str, params: &Value) -> Result<Value, String> {
        self.wire.borrow_mut().call(Some(&self.session), method, params)
    }

    #[track_caller]
    pub(super) fn call(&self, method: &str, params: &Value) -> Value {
        self.try_call(method, params).unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    /// Opens an address of the server, and waits until it is loaded.
    #[track_caller]
    pub(in super::super) fn go(&self, path: &str) {
        let url = format!("{}{path}", self.origin);
        let until = Instant::now() + PATIENCE;
        loop {
            let went = self.call("Page.navigate", &json!({"url": url}));
            // A navigation that the page started by itself came first.
            if went["errorText"] != "net::ERR_ABORTED" || Instant::now() > until {
                assert_eq!(went["errorText"], Value::Null, "{url}");
                break;
            }
        }
        self.wait(LOADED);
    }

    #[track_caller]
    pub(in super::super) fn reload(&self) {
        self.leaving(|| {
            self.call("Page.reload", &json!({}));
        });
    }

    /// Does something that leads to another page, and waits until that is loaded.
    #[track_caller]
    pub(super) fn leaving(&self, what: impl FnOnce()) {
        self.eval("window.left = true");
        what();
        self.wait(&format!("!window.left && {LOADED}"));
    }

    /// Evaluates an expression, and awaits its promise if it is one.
    pub(super) fn try_eval(&self, expression: &str) -> Result<Value, String> {
        let params = json!({
            "expression": expression,
            "returnByValue": true,
            "awaitPromise": true,
            "userGesture": true,
        });
        let mut answer = self.try_call("Runtime.evaluate", &params)?;
        match answer.get("exceptionDetails") {
            Some(error) => Err(error.to_string()),
            None => Ok(answer["result"]["value"].take()),
        }
    }

    #[track_caller]
    pub(in super::super) fn eval(&self, expression: &str) -> Value {
        self.try_eval(expression).unwrap_or_else(|error| panic!("{expression}: {error}"))
    }

    /// Polls until an expression is true.
    #[track_caller]
    pub(in super::super) fn wait(&self, expression: &str) {
        let until = Instant::now() + PATIENCE;
        let mut last = Ok(Value::Null);
        while Instant::now() < until {
            // A page that is being left does not answer.
            last = self.try_eval(&format!("Boolean({expression})"));
            if last == Ok(json!(true)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(15));
        }
        let kept = self.keep_failure();
        let (text, complaints) = (self.visible(), self.complaints());
        panic!("never: {expression} ({last:?}); {kept}; {complaints:?}; on the page:\n{text}");
    }

    #[track_caller]
    pub(in super::super) fn wait_for(&self, selector: &str) {
        self.wait(&format!("document.querySelector({})", quoted(selector)));
    }

    #[track_caller]
    pub(in super::super) fn wait_gone(&self, selector: &str) {
        self.wait(&format!("!document.querySelector({})", quoted(selector)));
    }

    /// Returns the number of elements that match.
    pub(in super::super) fn count(&self, selector: &str) -> u64 {
        let found = format!("document.querySelectorAll({}).length", quoted(selector));
        self.eval(&found).as_u64().expect("a number")
    }

    pub(in super::super) fn has(&self, selector: &str) -> bool {
        self.count(selector) > 0
    }

    /// Returns the text of the first match, as the document has it.
    #[track_caller]
    pub(in super::super) fn text(&self, selector: &str) -> String {
        let found =
            self.eval(&format!("document.querySelector({})?.textContent", quoted(selector)));
        let found = found.as_str().unwrap_or_else(|| panic!("no `{selector}`"));
        found.trim().to_owned()
    }

    /// Returns an attribute of the first match.
    #[track_caller]
    pub(in super::super) fn attribute(&self, selector: &str, name: &str) -> String {
        let (found, name) = (quoted(selector), quoted(name));
        let found = self.eval(&format!("document.querySelector({found})?.getAttribute({name})"));
        found.as_str().unwrap_or_else(|| panic!("no {name} of `{selector}`")).to_owned()
    }

    /// Returns all visible text of the page.
    pub(in super::super) fn visible(&self) -> String {
        let text = self.try_eval("document.documentElement.innerText").unwrap_or_default();
        text.as_str().unwrap_or_default().to_owned()
    }

    /// Returns the path, without the server's address.
    pub(in super::super) fn path(&self) -> String {
        let path = self.eval("location.pathname + location.search");
        path.as_str().unwrap_or_default().to_owned()
    }

    /// Runs a script before each of the following pages.
    pub(in super::super) fn before_each(&self, script: &str) {
        self.call("Page.addScriptToEvaluateOnNewDocument", &json!({"source": script}));
    }

    /// Disables scripts from here on.
    pub(super) fn without_script(&self) {
        self.call("Emulation.setScriptExecutionDisabled", &json!({"value": true}));
    }

    pub(in super::super) fn network(&self, network: Network) {
        let offline = network == Network::Gone;
        let conditions = json!({
            "offline": offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1,
        });
        self.call("Network.emulateNetworkConditions", &conditions);
    }

    /// Returns the file downloaded from this page, once there is one.
    #[track_caller]
    pub(in super::super) fn downloaded(&self, ending: &str) -> String {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            let files = std::fs::read_dir(&self.downloads).expect("a folder");
            let mut paths = files.map_while(Result::ok).map(|entry| entry.path());
            let done = |path: &PathBuf| path.extension().is_some_and(|found| found == ending);
            if let Some(path) = paths.find(done) {
                let text = std::fs::read_to_string(&path).expect("text");
                std::fs::remove_file(&path).expect("a file");
                return text;
            }
            // Evaluating something keeps the browser active.
            self.eval("1");
            std::thread::sleep(Duration::from_millis(15));
        }
        panic!("nothing that ends in `{ending}` was saved")
    }

    /// Expects problems with these words from here on.
    pub(in super::super) fn forgive(&self, words: &str) {
        self.forgiven.borrow_mut().push(words.to_owned());
    }

    /// Returns the problems that the browser reported so far.
    pub(in super::super) fn complaints(&self) -> Vec<String> {
        // All its events arrive before this answer.
        let _ = self.try_call("Page.getNavigationHistory", &json!({}));
        let told = self.wire.borrow_mut().told(&self.session);
        let forgiven = self.forgiven.borrow();
        let is_new = |complaint: &String| !forgiven.iter().any(|words| complaint.contains(words));
        let mut complaints = self.complaints.borrow_mut();
        complaints.extend(told.iter().filter_map(complaint).filter(is_new));
        complaints.clone()
    }
}

/// The connection of the page to its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Network {
    There,
    Gone,
}

/// Records the time of the last change, and whether the page has ignored the last click; a ticking
/// clock is not a change.
const CHANGES: &str = "
    window.changed = 0;
    new MutationObserver(changes => {
        if (changes.some(change => !change.target.closest?.('time'))) changed = performance.now();
    }).observe(document, {childList: true, subtree: true});
    window.ignored = false;
    addEventListener('click', () => ignored = true, true);
    addEventListener('click', () => ignored = false);
";

const LOADED: &str = "document.readyState === 'complete'";

/// Returns the problem that an event reports, if any.
fn complaint(event: &Value) -> Option<String> {
    let params = &event["params"];
    match event["method"].as_str()? {
        "Runtime.exceptionThrown" => Some(params["exceptionDetails"].to_string()),
        "Runtime.consoleAPICalled"
            if ["error", "assert"].iter().any(|kind| params["type"] == *kind) =>
        {
            Some(params["args"].to_string())
        }
        "Log.entryAdded" if params["entry"]["level"] == "error" => {
            let entry = &params["entry"];
            Some(format!("{} ({})", entry["text"], entry["url"]))
        }
        "Audits.issueAdded" if params["issue"]["code"] == "ContentSecurityPolicyIssue" => {
            Some(params["issue"]["details"].to_string())
        }
        "Inspector.targetCrashed" => Some("the page crashed".to_owned()),
        _ => None,
    }
}

/// Returns a text as a string literal of a script.
pub(super) fn quoted(text: &str) -> String {
    json!(text).to_string()
}
