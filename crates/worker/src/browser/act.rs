//! Acts on the element that was judged, and on no other.
//!
//! What changes a field or submits a form happens in the same step of the page's script in which
//! the element is compared. A click and a key are real input, which a page can lead elsewhere; our
//! script listens before the page and stops what would reach another element than the judged one,
//! or that one after a change.

use countersign_core::Action;
use countersign_core::action::UiOp;
use countersign_wire::work::{Ended, WorkItem, WorkResult};
use serde_json::{Value, json};

use super::failed::Failed;
use super::page::{Named, World};
use super::session::{Browser, STEP};

impl Browser {
    /// Clicks, types, chooses…
    pub(super) fn act(&self, item: &WorkItem) -> Result<WorkResult, Failed> {
        let Action::Ui { op, text, .. } = &item.action else {
            return Err(Failed::refused("OtherAction", "this is not an action on a page"));
        };
        let text = text.as_deref().unwrap_or_default();
        let Some(judged) = &item.element else {
            return match op {
                UiOp::Scroll => self.scroll(text),
                _ => Err(Failed::refused("NoElement", "the action names no element by reference")),
            };
        };
        let named = self.find(&judged.reference)?;
        if named.element.fingerprint != judged.fingerprint {
            return Err(Failed::element_changed("the element is not the one that was judged"));
        }
        match op {
            UiOp::Click => self.click(&named)?,
            UiOp::Hover => self.hover(&named)?,
            UiOp::Press => self.press(&named, text)?,
            UiOp::Type | UiOp::Select => self.in_page(&named, "set", Some(text))?,
            UiOp::Submit => self.in_page(&named, "submit", None)?,
            UiOp::Scroll => self.in_page(&named, "show", None)?,
        }
        self.settle()?;
        Ok(WorkResult::of(Ended::Done))
    }

    /// Waits until the page has nothing more to do.
    pub(super) fn settle(&self) -> Result<(), Failed> {
        self.shared.settle(STEP, || self.is_gone())
    }

    fn scroll(&self, text: &str) -> Result<WorkResult, Failed> {
        self.script(&self.top()?, "scroll", &[json!(text == "up")])?;
        Ok(WorkResult::of(Ended::Done))
    }

    /// Calls a function that compares the element and acts on it in one step.
    fn in_page(&self, named: &Named, name: &str, text: Option<&str>) -> Result<(), Failed> {
        let mut words = vec![json!(named.number), json!(named.read.text)];
        words.extend(text.map(|text| json!(text)));
        outcome(&self.script(&named.world, name, &words)?)
    }

    pub(super) fn click(&self, named: &Named) -> Result<(), Failed> {
        let at = self.point(named)?;
        // Before the guard, which then sees what the page makes of it.
        self.mouse("mouseMoved", at)?;
        let others = self.arm(named)?;
        let input = self.mouse("mousePressed", at).and_then(|()| self.mouse("mouseReleased", at));
        self.disarm(named, &others, input)
    }

    fn hover(&self, named: &Named) -> Result<(), Failed> {
        let at = self.point(named)?;
        self.mouse("mouseMoved", at)
    }

    fn press(&self, named: &Named, key: &str) -> Result<(), Failed> {
        let (code, text) = key_code(key)
            .ok_or_else(|| Failed::refused("UnknownKey", format!("`{key}` is not a known key")))?;
        self.in_page(named, "focus", None)?;
        let others = self.arm(named)?;
        let page = self.page()?;
        let send = |kind: &str| {
            let mut params = json!({
                "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code,
            });
            if let (Some(text), "keyDown", Some(fields)) = (text, kind, params.as_object_mut()) {
                fields.insert("text".to_owned(), Value::from(text));
            }
            self.call(Some(&page), "Input.dispatchKeyEvent", &params).map(drop)
        };
        let input = send("keyDown").and_then(|()| send("keyUp"));
        self.disarm(named, &others, input)
    }

    /// Lets input through to this element only, in every frame.
    fn arm(&self, named: &Named) -> Result<Vec<World>, Failed> {
        let mut others = Vec::new();
        for frame in self.frames()? {
            if frame.id == named.world.frame.id {
                continue;
            }
            let world = self.world(&frame)?;
            self.script(&world, "arm", &[Value::Null])?;
            others.push(world);
        }
        let words = [json!(named.number), json!(named.read.text)];
        let armed = self.script(&named.world, "arm", &words)?;
        if armed == Value::Bool(true) {
            Ok(others)
        } else {
            self.release(&others);
            Err(Failed::element_changed("the element has changed since it was judged"))
        }
    }

    fn release(&self, worlds: &[World]) {
        for world in worlds {
            // A frame that is gone guards nothing any more.
            let _ = self.script(world, "disarm", &[]);
        }
    }

    /// Ends the guard, and fails when the input would have reached something else.
    fn disarm(
        &self,
        named: &Named,
        worlds: &[World],
        input: Result<(), Failed>,
    ) -> Result<(), Failed> {
        self.release(worlds);
        let guard = self.script(&named.world, "disarm", &[]);
        input?;
        // The frame is gone when the input has led to another page, so it has arrived.
        let Ok(guard) = guard else { return Ok(()) };
        let is = |name: &str| guard.get(name).and_then(Value::as_bool) == Some(true);
        if guard.is_null() || (is("reached") && !is("changed")) {
            Ok(())
        } else {
            Err(Failed::element_changed("something else was where the element should be"))
        }
    }

    fn mouse(&self, kind: &str, (x, y): (f64, f64)) -> Result<(), Failed> {
        let params = json!({"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1});
        self.call(Some(&self.page()?), "Input.dispatchMouseEvent", &params).map(drop)
    }

    /// Scrolls an element into view and returns its middle, in the coordinates of the page.
    fn point(&self, named: &Named) -> Result<(f64, f64), Failed> {
        let session = Some(named.world.frame.session.as_str());
        let object = json!({"objectId": self.object(&named.world, named.number)?});
        self.call(session, "DOM.scrollIntoViewIfNeeded", &object)?;
        let quads = self.call(session, "DOM.getContentQuads", &object)?;
        let quad = quads.pointer("/quads/0").and_then(numbers);
        let quad = quad.ok_or_else(|| {
            Failed::element_changed("the element is not visible, so it has no place")
        })?;
        let (left, top) = self.offset(&named.world.frame.session)?;
        let middle = |from: usize| quad.iter().skip(from).step_by(2).sum::<f64>() / 4.0;
        Ok((left + middle(0), top + middle(1)))
    }

    /// The place of a target's frame in the page: frames in processes of their own count from
    /// their own corner.
    fn offset(&self, session: &str) -> Result<(f64, f64), Failed> {
        let (mut left, mut top) = (0.0, 0.0);
        let mut at = session.to_owned();
        loop {
            let target = self.shared.state().targets.get(&at).cloned();
            let target = target.ok_or_else(|| Failed::element_changed("its frame is gone"))?;
            let ("iframe", Some(parent)) = (target.kind.as_str(), target.parent) else {
                return Ok((left, top));
            };
            let frame = json!({"frameId": target.frame});
            let owner = self.call(Some(&parent), "DOM.getFrameOwner", &frame)?;
            let owner = json!({"backendNodeId": owner.get("backendNodeId")});
            let quads = self.call(Some(&parent), "DOM.getBoxModel", &owner)?;
            let corner = quads.pointer("/model/content").and_then(numbers).unwrap_or_default();
            left += corner.first().copied().unwrap_or_default();
            top += corner.get(1).copied().unwrap_or_default();
            at = parent;
        }
    }
}

fn numbers(value: &Value) -> Option<Vec<f64>> {
    value.as_array()?.iter().map(Value::as_f64).collect()
}

/// Turns the word that our script answers into a result.
pub(super) fn outcome(answer: &Value) -> Result<(), Failed> {
    match answer.as_str() {
        Some("done") => Ok(()),
        Some("changed") => {
            Err(Failed::element_changed("the element has changed since it was judged"))
        }
        Some("elsewhere") => {
            Err(Failed::refused("OtherOrigin", "the field is not on the page of that origin"))
        }
        _ => Err(Failed::refused("Unfit", "the element cannot take that")),
    }
}

/// The number of a key, and the text that it types.
fn key_code(key: &str) -> Option<(u32, Option<&'static str>)> {
    Some(match key {
        "Enter" => (13, Some("\r")),
        "Tab" => (9, None),
        "Escape" => (27, None),
        "Backspace" => (8, None),
        "Delete" => (46, None),
        "Space" => (32, Some(" ")),
        "PageUp" => (33, None),
        "PageDown" => (34, None),
        "End" => (35, None),
        "Home" => (36, None),
        "ArrowLeft" => (37, None),
        "ArrowUp" => (38, None),
        "ArrowRight" => (39, None),
        "ArrowDown" => (40, None),
        _ => return None,
    })
}
