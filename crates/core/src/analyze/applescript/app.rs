//! The app that is addressed: the same word means another thing in another app.

/// An app, as far as its vocabulary matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum App {
    /// Files and folders.
    Finder,
    /// Other apps' windows, login items, settings, files.
    SystemEvents,
    /// A terminal: text sent to it is a command.
    Terminal,
    /// Any mail client.
    Mail,
    /// Chat.
    Messages,
    /// Web pages.
    Browser,
    /// Stored passwords.
    Keychain,
    /// Text, drawings, tables: objects deleted in them are part of a document.
    Document,
    /// Sound and films.
    Player,
    /// The settings that protect the machine, inside System Events.
    Protection,
    /// Another app that is known by name.
    Other,
    Unknown,
}

/// Apps by name and by bundle id.
const NAMES: &[(App, &[&str])] = &[
    (App::Finder, &["finder", "com.apple.finder"]),
    (
        App::SystemEvents,
        &["system events", "com.apple.systemevents", "loginwindow", "com.apple.loginwindow"],
    ),
    (
        App::Terminal,
        &[
            "terminal",
            "iterm",
            "iterm2",
            "com.apple.terminal",
            "com.googlecode.iterm2",
            "ghostty",
            "kitty",
            "warp",
            "alacritty",
            "hyper",
            "tabby",
            "wezterm",
        ],
    ),
    (
        App::Mail,
        &["mail", "com.apple.mail", "microsoft outlook", "com.microsoft.outlook", "mailmate"],
    ),
    (
        App::Messages,
        &[
            "messages",
            "ichat",
            "com.apple.mobilesms",
            "com.apple.ichat",
            "skype",
            "telegram",
            "slack",
            "discord",
            "whatsapp",
            "signal",
            "microsoft teams",
        ],
    ),
    (
        App::Browser,
        &[
            "safari",
            "com.apple.safari",
            "google chrome",
            "com.google.chrome",
            "chromium",
            "brave browser",
            "microsoft edge",
            "firefox",
            "arc",
            "vivaldi",
            "opera",
        ],
    ),
    (App::Protection, &["securityagent", "coreauthd", "usernotificationcenter", "authd"]),
    (App::Keychain, &["keychain access", "keychain scripting", "usable keychain scripting"]),
    (
        App::Document,
        &[
            "textedit",
            "pages",
            "numbers",
            "keynote",
            "microsoft word",
            "microsoft excel",
            "microsoft powerpoint",
            "bbedit",
            "coteditor",
            "script editor",
            "script debugger",
            "omnigraffle",
            "omnioutliner",
            "preview",
            "xcode",
            "com.microsoft.excel",
            "com.microsoft.word",
            "com.apple.scripteditor2",
            "com.apple.textedit",
        ],
    ),
    (App::Player, &["music", "itunes", "spotify", "tv", "quicktime player", "vlc", "photos"]),
];

impl App {
    /// Returns the app with this name or bundle id.
    pub(super) fn named(name: &str) -> Self {
        let name = name.trim().to_ascii_lowercase();
        let name = name.rsplit(['/', ':']).find(|part| !part.is_empty()).unwrap_or(&name);
        let name = name.strip_suffix(".app").unwrap_or(name);
        if name.is_empty() || name.contains(crate::analyze::UNKNOWN) {
            return Self::Unknown;
        }
        if name.starts_with("adobe ") || name.starts_with("jedit") {
            return Self::Document;
        }
        let known = NAMES.iter().find(|(_, names)| names.contains(&name));
        known.map_or(Self::Other, |(app, _)| *app)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_app_has_a_name_an_id_and_a_path() {
        for name in ["Terminal", "terminal.app", "com.apple.Terminal", "/Applications/Terminal.app"]
        {
            assert_eq!(App::named(name), App::Terminal, "{name}");
        }
        assert_eq!(App::named("Adobe Photoshop 2024"), App::Document);
        assert_eq!(App::named(""), App::Unknown);
    }
}
