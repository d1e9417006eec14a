//! The view of a person: the size of the window, its colours, a screenshot of it.

use std::fs;
use std::path::PathBuf;

use serde_json::json;

use super::{Page, target, text};

/// The preferred colour scheme.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Colours {
    Light,
    Dark,
}

impl Colours {
    pub(in super::super) const ALL: [Self; 2] = [Self::Light, Self::Dark];

    pub(in super::super) const fn name(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }
}

impl Page {
    /// Sets the size of the window.
    pub(in super::super) fn resize(&self, width: u32, height: u32) {
        let size = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600,
        });
        self.call("Emulation.setDeviceMetricsOverride", &size);
    }

    /// Sets the preferred colour scheme. Motion is reduced, so that a screenshot is stable.
    pub(in super::super) fn prefer(&self, colours: Colours) {
        let features = json!([
            {"name": "prefers-color-scheme", "value": colours.name()},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]);
        self.call("Emulation.setEmulatedMedia", &json!({"features": features}));
    }

    /// Sets the preferred language, from the next page on.
    pub(in super::super) fn speaks(&self, language: &str) {
        let headers = json!({"headers": {"Accept-Language": language}});
        self.call("Network.setExtraHTTPHeaders", &headers);
    }

    /// Returns the reasons for which the page cannot be installed.
    pub(in super::super) fn not_installable(&self) -> Vec<String> {
        let found = self.call("Page.getInstallabilityErrors", &json!({}));
        let errors = found["installabilityErrors"].as_array().expect("a list").clone();
        let errors = errors.iter().map(|error| text(&error["errorId"]));
        // Our contexts are incognito, and so cannot install anything.
        errors.filter(|error| error != "in-incognito").collect()
    }

    /// Takes a screenshot of the window.
    pub(in super::super) fn picture(&self) -> Vec<u8> {
        let taken = self.call("Page.captureScreenshot", &json!({"format": "png"}));
        decode(&text(&taken["data"]))
    }

    /// Saves a screenshot under `target/screenshots`.
    pub(in super::super) fn keep_picture(&self, name: &str) -> PathBuf {
        let folder = target().join("screenshots");
        fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join(format!("{name}.png"));
        fs::write(&path, self.picture()).expect("a file");
        path
    }

    /// Saves a screenshot of a page that is not as it should be, and returns its path.
    pub(super) fn keep_failure(&self) -> String {
        let name = std::thread::current().name().unwrap_or("test").replace("::", "-");
        let path = self.keep_picture(&format!("failed-{name}"));
        format!("seen in {}", path.display())
    }

    /// Asserts that everything fits into the window's width.
    #[track_caller]
    pub(in super::super) fn assert_fits(&self, what: &str) {
        let over = self.eval(
            "(() => {
                const root = document.documentElement;
                if (root.scrollWidth <= root.clientWidth) return [];
                // What scrolls by itself does not widen the page.
                const scrolls = element => element.parentElement?.closest('*') &&
                    (getComputedStyle(element.parentElement).overflowX !== 'visible' ||
                        scrolls(element.parentElement));
                const wide = [...document.body.querySelectorAll('*')].filter(element =>
                    element.getBoundingClientRect().right > root.clientWidth + 1 &&
                    !scrolls(element));
                return [root.scrollWidth, ...wide.slice(0, 5).map(element =>
                    element.tagName + ' ' + element.className + ' ' +
                    element.getBoundingClientRect().right + ' ' + element.outerHTML.slice(0, 120))];
            })()",
        );
        let fits = over == json!([]);
        assert!(fits, "{what} is wider than its window: {over:#}; {}", self.keep_failure());
    }
}

/// Decodes base64.
fn decode(text: &str) -> Vec<u8> {
    let value = |letter: u8| match letter {
        b'A'..=b'Z' => Some(letter - b'A'),
        b'a'..=b'z' => Some(letter - b'a' + 26),
        b'0'..=b'9' => Some(letter - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let (mut bytes, mut held, mut bits) = (Vec::with_capacity(text.len()), 0_u32, 0);
    for value in text.bytes().map_while(value) {
        held = (held << 6 | u32::from(value)) & 0xFFFF;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(held >> bits & 0xFF).expect("a byte"));
        }
    }
    bytes
}
