//! The input of a person: mouse and keyboard.

use std::time::Instant;

use serde_json::{Value, json};

use super::page::quoted;
use super::{PATIENCE, Page};

/// A script that returns the position of an element, once it is in view; or the obstacle.
const PLACE: &str = "(selector => {
    const element = document.querySelector(selector);
    if (!element) return 'missing';
    element.scrollIntoView({block: 'center', inline: 'nearest', behavior: 'instant'});
    const box = element.getClientRects()[0];
    if (!box || box.width === 0 || box.height === 0) return 'not shown';
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    const hit = document.elementFromPoint(x, y);
    if (element.contains(hit) || hit?.contains(element)) return {x, y};
    return 'under ' + (hit ? hit.outerHTML.slice(0, 200) : 'nothing');
})";

impl Page {
    /// Clicks the middle of an element, which nothing may cover. Nobody aims at a moving element,
    /// and the pages ignore a click that comes too soon after something moved: a person then clicks
    /// again.
    #[track_caller]
    pub(in super::super) fn click(&self, selector: &str) {
        let until = Instant::now() + PATIENCE;
        self.click_once(selector);
        while self.try_eval("window.ignored === true") == Ok(json!(true)) {
            assert!(Instant::now() < until, "`{selector}` is always ignored");
            self.click_once(selector);
        }
    }

    #[track_caller]
    fn click_once(&self, selector: &str) {
        self.wait_for(selector);
        self.wait("!window.changed || performance.now() - window.changed > 450");
        let place = self.eval(&format!("{PLACE}({})", quoted(selector)));
        let (Some(x), Some(y)) = (place["x"].as_f64(), place["y"].as_f64()) else {
            panic!("`{selector}` cannot be clicked: {place}; {}", self.keep_failure());
        };
        let mouse = |kind: &str, count: u8| {
            let params = json!({
                "type": kind, "x": x, "y": y, "clickCount": count,
                "button": if count == 0 { "none" } else { "left" },
            });
            // A click that closes its page gets no response.
            let _ = self.try_call("Input.dispatchMouseEvent", &params);
        };
        mouse("mouseMoved", 0);
        mouse("mousePressed", 1);
        mouse("mouseReleased", 1);
    }

    /// Clicks an element that leads to another page, and waits until that is loaded.
    #[track_caller]
    pub(in super::super) fn submit(&self, selector: &str) {
        self.leaving(|| self.click(selector));
    }

    /// Types where the focus is.
    pub(in super::super) fn write(&self, text: &str) {
        self.call("Input.insertText", &json!({"text": text}));
    }

    /// Types into a field, replacing its content.
    #[track_caller]
    pub(in super::super) fn fill(&self, selector: &str, text: &str) {
        self.click(selector);
        self.eval(&format!("document.querySelector({}).select()", quoted(selector)));
        self.write(text);
        let value = self.eval(&format!("document.querySelector({}).value", quoted(selector)));
        assert_eq!(value, text, "{selector}");
    }

    /// Selects an option.
    #[track_caller]
    pub(in super::super) fn choose(&self, selector: &str, value: &str) {
        let chosen = self.eval(&format!(
            "(select => {{
                select.value = {};
                select.dispatchEvent(new Event('input', {{bubbles: true}}));
                select.dispatchEvent(new Event('change', {{bubbles: true}}));
                return select.value;
            }})(document.querySelector({}))",
            quoted(value),
            quoted(selector),
        ));
        assert_eq!(chosen, value, "{selector}");
    }

    /// Presses a key, with an optional `Shift+` before it.
    #[track_caller]
    pub(in super::super) fn press(&self, name: &str) {
        let (shift, key) = match name.strip_prefix("Shift+") {
            Some(key) => (8, key),
            None => (0, name),
        };
        let (code, number, text) = key_of(key);
        let event = |kind: &str| {
            let mut event = json!({
                "type": kind, "key": key, "code": code, "modifiers": shift,
                "windowsVirtualKeyCode": number, "nativeVirtualKeyCode": number,
            });
            if kind == "keyDown" && !text.is_empty() {
                event["text"] = json!(text);
            }
            event
        };
        // A key may close the page it is pressed on.
        let _ = self.try_call("Input.dispatchKeyEvent", &event("keyDown"));
        let _ = self.try_call("Input.dispatchKeyEvent", &event("keyUp"));
    }

    /// Presses Tab until the focus is on such an element.
    #[track_caller]
    pub(in super::super) fn tab_to(&self, selector: &str) {
        for _ in 0..200 {
            let is_there = format!("document.activeElement.matches({})", quoted(selector));
            if self.eval(&is_there) == json!(true) {
                self.assert_focus_is_seen();
                return;
            }
            self.press("Tab");
        }
        panic!("Tab never comes to `{selector}`; {}", self.keep_failure());
    }

    /// Asserts that the focus is visible to a keyboard user.
    #[track_caller]
    fn assert_focus_is_seen(&self) {
        let seen = self.eval(
            "(element => {
                const style = getComputedStyle(element);
                const box = element.getBoundingClientRect();
                const ringed = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0;
                const inside = box.bottom > 0 && box.top < innerHeight;
                return ringed && inside ? true : [style.outline, box.top, box.bottom];
            })(document.activeElement)",
        );
        assert_eq!(seen, Value::Bool(true), "the focus is not to be seen");
    }
}

/// Returns the code, the number and the text of a key.
fn key_of(key: &str) -> (String, u32, &str) {
    let (code, number, text) = match key {
        "Enter" => ("Enter", 13, "\r"),
        "Tab" => ("Tab", 9, ""),
        "Escape" => ("Escape", 27, ""),
        " " => ("Space", 32, " "),
        "ArrowDown" => ("ArrowDown", 40, ""),
        "ArrowUp" => ("ArrowUp", 38, ""),
        "?" => ("Slash", 191, "?"),
        letter => {
            let character = letter.chars().next().expect("a key").to_ascii_uppercase();
            return (format!("Key{character}"), u32::from(character), letter);
        }
    };
    (code.to_owned(), number, text)
}
