//! Controls that show a symbol and no word: judged by the usual meaning of the symbol.
//!
//! An unknown symbol may mean anything, so it is a fact of its own.

use crate::fact::FactKind;

/// The number of symbols past which they are ornaments without a known meaning.
const MOST: usize = 8;

/// Bins, brooms, crosses on keys: something is removed.
const DESTROYS: &str = "🗑🚮⌫⌦🧹🧨💣🔥☠💀🪦✂🚽🧽♻🗙🪓🚯📛";

/// Money, carts, paper planes, rockets, pens: something is bought, sent or signed.
const CONCLUDES: &str = "💳💰💸💵💴💶💷🪙🛒🛍🧾🏧✉📧📨📩📤📮✈🛩🛫🚀📢📣🖋🖊✒✍🤝📜💌📬🎁🏷➤⮞📡🗳";

/// Locks, keys and people: permissions or owners change.
const CHANGES: &str = "🔓🔒🔑🗝🔐🛡🔏🚫⛔🛑👤👥🚷";

/// A cross on its own, which closes the thing it is on.
const CLOSES: &str = "×✕✖✗✘❌❎⨯⊗╳🅧⏏";

/// Symbols that say yes, without saying what to.
const ASSENTS: &str = "✓✔✅☑👍🆗👌";

/// Paging, menus, searching, playing, viewing: nothing changes.
const LOOKS: &str = "←→↑↓↔↕↖↗↘↙⇐⇒⇑⇓⬅➡⬆⬇⟵⟶«»‹›❮❯⟨⟩◀▶◂▸◄►▲▼△▽▴▾▵▿⌃⌄⏴⏵⏶⏷⏸⏹⏺⏮⏭⏯⏪⏩⏫⏬\
☰≡⋮⋯⁝…•·∙●○◦■□▪▫⚫⚪☷🍔🔍🔎🏠⌂⚙🔧ℹ❓❔❗🛈★☆⭐🌟🔄↻↺⟳⟲🔃🔁🔂🔀🔔🔕🔊🔉🔈🔇🌙☀🌞🌛🌓🌐🌍🌎🌏\
🖨⤢⤡⛶🗖🗗🗕🔼🔽👁📅📆🗓🕒🕐⏰⏱📋📌📍🗺📊📈📉📁📂🗂📄📃🖼📷📸🎥🎬🎵🎶🎧🎤💡📖📚🔖🆕❤♥♡💬💭";

/// Returns the meaning of a label that consists only of symbols; `None` where it has letters or is
/// empty.
#[must_use]
pub(super) fn says(label: &str) -> Option<Sign> {
    let is_quiet = |char: char| char.is_whitespace() || super::fold::is_invisible(char);
    let signs: Vec<char> = label.chars().filter(|char| !is_quiet(*char)).take(MOST + 1).collect();
    let lettered = label.chars().any(char::is_alphanumeric);
    if signs.is_empty() || lettered || label.len() > super::MOST_LABEL {
        return None;
    }
    let any = |known: &str| signs.iter().any(|sign| known.contains(*sign));
    let plain = |sign: &char| sign.is_ascii_punctuation() || LOOKS.contains(*sign);
    Some(if any(DESTROYS) {
        Sign::Does(FactKind::UiDestructive)
    } else if any(CONCLUDES) {
        Sign::Does(FactKind::UiFinal)
    } else if any(CHANGES) {
        Sign::Does(FactKind::UiIrreversible)
    } else if any(CLOSES) {
        Sign::Does(FactKind::UiClose)
    } else if any(ASSENTS) {
        Sign::Assents
    } else if signs.iter().all(plain) {
        Sign::Nothing
    } else {
        Sign::Does(FactKind::UiUnknown)
    })
}

/// Whether a label is the name of an icon that shows a bin, as style sheets call them:
/// `fa-trash`, `icon-bin`; or a bin with a number beside it.
#[must_use]
pub(super) fn names_a_bin(label: &str) -> bool {
    const SETS: [&str; 16] = [
        "bi",
        "bx",
        "fa",
        "fab",
        "fal",
        "far",
        "fas",
        "feather",
        "glyphicon",
        "icon",
        "icons",
        "ion",
        "lucide",
        "material",
        "mdi",
        "ti",
    ];
    const BINS: [&str; 5] = ["bin", "dustbin", "garbage", "trash", "trashcan"];
    if label.len() > 64 {
        return false;
    }
    if !label.contains(char::is_alphabetic) {
        return label.contains(char::is_numeric) && label.contains(|char| DESTROYS.contains(char));
    }
    let folded = super::name::fold_name(label, 64);
    let has = |known: &[&str]| folded.split(' ').any(|word| known.contains(&word));
    label.contains('-') && has(&SETS) && has(&BINS)
}

/// What a sign stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    /// Has this effect.
    Does(FactKind),
    /// Says yes to the thing beside it.
    Assents,
    /// Changes nothing.
    Nothing,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_is_taken_for_what_people_take_it_for() {
        for (label, sign) in [
            ("🗑", Sign::Does(FactKind::UiDestructive)),
            ("🗑\u{FE0F}", Sign::Does(FactKind::UiDestructive)),
            (" 🗑️ ", Sign::Does(FactKind::UiDestructive)),
            ("🛒", Sign::Does(FactKind::UiFinal)),
            ("✉️", Sign::Does(FactKind::UiFinal)),
            ("×", Sign::Does(FactKind::UiClose)),
            ("✓", Sign::Assents),
            ("...", Sign::Nothing),
            ("☰", Sign::Nothing),
            ("→", Sign::Nothing),
            ("🦄", Sign::Does(FactKind::UiUnknown)),
            ("\u{F1F8}", Sign::Does(FactKind::UiUnknown)),
        ] {
            assert_eq!(says(label), Some(sign), "{label}");
        }
        assert_eq!(says("🗑 Bin"), None);
        for name in ["fa-trash", "fas fa-trash-alt", "bi-trash3", "trash-icon", "🗑 (3)"] {
            assert!(names_a_bin(name), "{name}");
        }
        for name in ["Trash", "fa-search", "trash-talk", "icon", "3", "→ (3)"] {
            assert!(!names_a_bin(name), "{name}");
        }
        assert_eq!(says("  "), None);
    }
}
