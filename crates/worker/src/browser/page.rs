//! The frames of the current page, and the script that reads them.

use countersign_core::action::Field;
use countersign_wire::work::Element;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::events::{SCRIPT, WORLD, text};
use super::failed::Failed;
use super::session::Browser;

/// The most frames that are read.
const MOST_FRAMES: usize = 50;

/// A frame of the current page.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    /// The session of its target.
    pub(super) session: String,
    pub(super) id: String,
    pub(super) url: String,
    /// The start of its references: nothing for the top frame.
    pub(super) prefix: String,
}

/// A frame, and the world of our script in it.
#[derive(Debug, Clone)]
pub(super) struct World {
    pub(super) frame: Frame,
    context: u64,
}

/// An element, as the script reads it.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Read {
    /// Everything that was read, which must be the same when it is acted on.
    pub(super) text: String,
    role: Option<String>,
    label: Option<String>,
    field: Option<Field>,
    form_target: Option<String>,
}

/// An element that a reference names.
#[derive(Debug, Clone)]
pub(super) struct Named {
    pub(super) world: World,
    pub(super) number: u64,
    pub(super) read: Read,
    pub(super) element: Element,
}

impl Browser {
    /// Returns the session of the current page.
    pub(super) fn page(&self) -> Result<String, Failed> {
        let page = self.shared.state().page();
        page.map(|(session, _)| session).ok_or_else(|| Failed::because("NoPage", "no page is open"))
    }

    /// Returns the frames of the current page, the top frame first.
    pub(super) fn frames(&self) -> Result<Vec<Frame>, Failed> {
        let page = self.page()?;
        let sessions = self.shared.state().below(&page);
        let mut frames = Vec::new();
        for session in sessions {
            let tree = match self.call(Some(&session), "Page.getFrameTree", &json!({})) {
                Ok(tree) => tree,
                // A frame may be gone by now; the page itself may not.
                Err(error) if session == page => return Err(error),
                Err(_) => continue,
            };
            let root = tree.get("frameTree").cloned().unwrap_or_default();
            self.add_frames(&session, &root, &mut frames);
        }
        Ok(frames)
    }

    fn add_frames(&self, session: &str, tree: &Value, frames: &mut Vec<Frame>) {
        if frames.len() >= MOST_FRAMES {
            return;
        }
        let id = text(tree, "/frame/id").to_owned();
        let prefix = if frames.is_empty() { String::new() } else { self.prefix(&id) };
        let url = text(tree, "/frame/url").to_owned();
        frames.push(Frame { session: session.to_owned(), id, url, prefix });
        for child in tree.get("childFrames").and_then(Value::as_array).into_iter().flatten() {
            self.add_frames(session, child, frames);
        }
    }

    fn prefix(&self, frame: &str) -> String {
        self.shared.change(|state| {
            let next = state.frame_numbers.len().saturating_add(1);
            let number = state.frame_numbers.entry(frame.to_owned()).or_insert(next);
            format!("f{number}")
        })
    }

    /// Returns the world of our script in a frame.
    pub(super) fn world(&self, frame: &Frame) -> Result<World, Failed> {
        let session = Some(frame.session.as_str());
        let params = json!({"frameId": frame.id, "worldName": WORLD});
        let made = self.call(session, "Page.createIsolatedWorld", &params)?;
        let context = made.get("executionContextId").and_then(Value::as_u64);
        let context =
            context.ok_or_else(|| Failed::because("BrowserError", "the frame has no world"))?;
        let load = json!({"expression": format!("{SCRIPT};0"), "contextId": context});
        self.call(session, "Runtime.evaluate", &load)?;
        Ok(World { frame: frame.clone(), context })
    }

    /// Returns the world of the top frame.
    pub(super) fn top(&self) -> Result<World, Failed> {
        let frame = self.frames()?.into_iter().next();
        self.world(&frame.ok_or_else(|| Failed::because("NoPage", "no page is open"))?)
    }

    /// Calls a function of our script.
    pub(super) fn script(
        &self,
        world: &World,
        name: &str,
        words: &[Value],
    ) -> Result<Value, Failed> {
        let answer = self.run(world, name, words, "returnByValue")?;
        Ok(answer.pointer("/result/value").cloned().unwrap_or_default())
    }

    /// Returns the object id of an element.
    pub(super) fn object(&self, world: &World, number: u64) -> Result<String, Failed> {
        let answer = self.run(world, "element", &[json!(number)], "silent")?;
        match text(&answer, "/result/objectId") {
            "" => Err(Failed::element_changed("the element is gone")),
            id => Ok(id.to_owned()),
        }
    }

    fn run(&self, world: &World, name: &str, words: &[Value], with: &str) -> Result<Value, Failed> {
        let params = world.call(name, words, with);
        let session = Some(world.frame.session.as_str());
        let answer = self.call(session, "Runtime.callFunctionOn", &params)?;
        script_failed(&answer, name).map_or(Ok(answer), Err)
    }

    /// Returns the address of the top frame.
    pub(super) fn address(&self) -> Result<String, Failed> {
        let top = self.frames()?.into_iter().next();
        Ok(top.map(|frame| frame.url).unwrap_or_default())
    }

    /// Finds the element that a reference names, and reads it.
    pub(super) fn find(&self, reference: &str) -> Result<Named, Failed> {
        let unknown =
            || Failed::refused("NoSuchElement", format!("no `{reference}` is on the page"));
        let frames = self.frames()?;
        let url = frames.first().map(|frame| frame.url.clone()).unwrap_or_default();
        let (prefix, number) = reference.rsplit_once('e').ok_or_else(unknown)?;
        let number: u64 = number.parse().map_err(|_| unknown())?;
        let frame = frames.iter().find(|frame| frame.prefix == prefix).ok_or_else(unknown)?;
        let world = self.world(frame)?;
        let answer = self.script(&world, "describe", &[json!(number)])?;
        let read: Option<Read> = serde_json::from_value(answer)
            .map_err(|error| Failed::because("BrowserError", error.to_string()))?;
        let read = read.ok_or_else(unknown)?;
        let element = Element {
            reference: reference.to_owned(),
            fingerprint: fingerprint(&url, &read.text),
            url,
            role: read.role.clone(),
            label: read.label.clone(),
            field: read.field.clone(),
            form_target: read.form_target.clone(),
        };
        Ok(Named { world, number, read, element })
    }
}

impl World {
    /// The parameters that call a function of our script.
    pub(super) fn call(&self, name: &str, words: &[Value], with: &str) -> Value {
        let words: Vec<_> = words.iter().map(|word| json!({"value": word})).collect();
        json!({
            "functionDeclaration": format!("(...words) => countersign.{name}(...words)"),
            "executionContextId": self.context,
            "arguments": words,
            with: true,
        })
    }
}

/// Returns the failure of a script, if it failed.
pub(super) fn script_failed(answer: &Value, name: &str) -> Option<Failed> {
    answer.get("exceptionDetails").map(|details| {
        let why = text(details, "/exception/description");
        Failed::because("ScriptError", format!("{name}: {why}"))
    })
}

/// The digest of an element and the page that it is on.
fn fingerprint(url: &str, text: &str) -> String {
    let digest = Sha256::digest(format!("{url}\n{text}"));
    base64::Engine::encode(&base64::engine::general_purpose::URL_SAFE_NO_PAD, digest)
}
