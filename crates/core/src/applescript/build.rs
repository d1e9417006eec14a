//! Scripts built from parts that come from elsewhere.
//!
//! INVARIANT: any text that goes in comes out as one string literal of the script and nothing else.

use crate::analyze::applescript::lex::lex;
use crate::analyze::applescript::shape::{Shape, shape};

/// Quotes a text as a string literal.
#[must_use]
pub fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for char in text.chars() {
        match char {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            char => quoted.push(char),
        }
    }
    quoted.push('"');
    quoted
}

/// The reason that a script cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// A command that is not whole would affect the script around it.
    #[error(
        "the command `{0}` is not complete: it leaves a string, comment, bracket or block open, or closes one that is not its own"
    )]
    NotWhole(String),
}

/// A script that sends commands to an app.
///
/// # Errors
/// A command leaves something open, or closes something that it did not open.
pub fn tell(app: &str, commands: &[impl AsRef<str>]) -> Result<String, BuildError> {
    let mut script = format!("tell application {}\n", quote(app));
    for command in commands {
        let command = command.as_ref();
        if !is_whole(command) {
            return Err(BuildError::NotWhole(command.to_owned()));
        }
        for line in command.lines() {
            script.push('\t');
            script.push_str(line);
            script.push('\n');
        }
    }
    script.push_str("end tell");
    Ok(script)
}

/// Reports whether a command is complete in itself, wherever it is put.
fn is_whole(command: &str) -> bool {
    let lexed = lex(command);
    let mut open = Vec::new();
    for statement in lexed.statements() {
        match shape(statement, open.last().copied()) {
            Shape::Opens(block) => open.push(block),
            Shape::Divides(block) if open.last() != Some(&block) => return false,
            Shape::Closes(_) if open.pop().is_none() => return false,
            Shape::Divides(_) | Shape::Closes(_) | Shape::Plain => {}
        }
    }
    // A continued line would absorb the one that follows.
    lexed.faults.is_empty() && open.is_empty() && !command.trim_end().ends_with('¬')
}

/// Brings an app to the front.
#[must_use]
pub fn activate(app: &str) -> String {
    format!("tell application {} to activate", quote(app))
}

/// A dialog.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Dialog {
    /// The text of the dialog.
    pub message: String,
    /// The title above it.
    pub title: Option<String>,
    /// Its buttons; the system's own when there are none.
    pub buttons: Vec<String>,
}

impl Dialog {
    /// The script that shows it.
    #[must_use]
    pub fn script(&self) -> String {
        let mut script = format!("display dialog {}", quote(&self.message));
        if let Some(title) = &self.title {
            script.push_str(" with title ");
            script.push_str(&quote(title));
        }
        if !self.buttons.is_empty() {
            let buttons: Vec<_> = self.buttons.iter().map(|button| quote(button)).collect();
            script = format!("{script} buttons {{{}}}", buttons.join(", "));
        }
        script
    }
}

/// A notification.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Notification {
    /// The text of the notification.
    pub message: String,
    /// The title above it.
    pub title: Option<String>,
    /// The subtitle below the title.
    pub subtitle: Option<String>,
}

impl Notification {
    /// The script that shows it.
    #[must_use]
    pub fn script(&self) -> String {
        let mut script = format!("display notification {}", quote(&self.message));
        for (word, text) in [(" with title ", &self.title), (" subtitle ", &self.subtitle)] {
            if let Some(text) = text {
                script.push_str(word);
                script.push_str(&quote(text));
            }
        }
        script
    }
}

/// Asks which app is in front.
#[must_use]
pub fn frontmost_app() -> String {
    "tell application \"System Events\" to get name of first application process whose frontmost is true"
        .to_owned()
}

/// Asks which apps are running where a person can see them.
#[must_use]
pub fn running_apps() -> String {
    "tell application \"System Events\" to get name of every application process whose background only is false"
        .to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::analyze::applescript::lex::Kind;
    use crate::applescript::validate;
    use crate::context::Context;
    use crate::verdict::RiskLevel;

    fn strings(script: &str) -> Vec<String> {
        let lexed = lex(script);
        assert!(lexed.faults.is_empty(), "{script}: {:?}", lexed.faults);
        let texts = lexed.tokens.into_iter().filter(|token| token.kind == Kind::Text);
        texts.map(|token| token.text.into_owned()).collect()
    }

    fn statements(script: &str) -> usize {
        lex(script).statements().count()
    }

    fn hostile() -> impl Strategy<Value = String> {
        let pieces = [
            "\"",
            "\\",
            "\n",
            "\r",
            "\t",
            "¬",
            "¬\n",
            "--",
            "(*",
            "*)",
            "#",
            "|",
            "«",
            "»",
            " & ",
            "end tell",
            "do shell script",
            "é",
            "\u{2028}",
            "\u{FEFF}",
            "{",
            "}",
            "a",
            "'s",
            "”",
        ];
        let piece = prop_oneof![
            10 => prop::sample::select(pieces.to_vec()).prop_map(str::to_owned),
            1 => any::<char>().prop_map(String::from),
        ];
        prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_text_comes_back_as_itself_and_nothing_more(a in hostile(), b in hostile(), c in hostile()) {
            prop_assert_eq!(strings(&quote(&a)), vec![a.clone()]);
            let tokens = lex(&quote(&a)).tokens.len();
            prop_assert_eq!(tokens, 1);

            let script = activate(&a);
            prop_assert_eq!((strings(&script), statements(&script)), (vec![a.clone()], 1));

            let dialog = Dialog { message: a.clone(), title: Some(b.clone()), buttons: vec![c.clone()] };
            let script = dialog.script();
            let given = vec![a.clone(), b.clone(), c.clone()];
            prop_assert_eq!((strings(&script), statements(&script)), (given.clone(), 1));

            let notification = Notification { message: a.clone(), title: Some(b), subtitle: Some(c) };
            let script = notification.script();
            prop_assert_eq!((strings(&script), statements(&script)), (given, 1));

            let script = tell(&a, &["activate"]).unwrap();
            prop_assert_eq!((strings(&script), statements(&script)), (vec![a], 3));
        }

        #[test]
        fn no_command_leaves_its_tell(command in hostile()) {
            if let Ok(script) = tell("Finder", std::slice::from_ref(&command)) {
                let plain = tell("Finder", &["activate"]).unwrap();
                prop_assert!(script.ends_with("\nend tell") && plain.ends_with("\nend tell"));
                let errors = validate(&script, &Context::default()).errors;
                prop_assert!(errors.iter().all(|error| error.contains("bracket") || error.contains("closes")), "{:?}", errors);
            }
        }
    }

    #[test]
    fn commands_that_reach_out_are_refused() {
        for command in ["end tell", "say \"a", "(*", "tell me", "beep ¬", "else", "end\nbeep"] {
            assert_eq!(tell("Finder", &[command]), Err(BuildError::NotWhole(command.to_owned())));
        }
        let script = tell("Finder", &["if a then\nbeep\nend if", "activate"]).unwrap();
        assert_eq!(
            script,
            "tell application \"Finder\"\n\tif a then\n\tbeep\n\tend if\n\tactivate\nend tell"
        );
    }

    #[test]
    fn what_is_built_is_valid_and_safe() {
        for script in [
            activate("Finder"),
            frontmost_app(),
            running_apps(),
            Dialog { message: "a".into(), title: Some("b".into()), buttons: vec!["OK".into()] }
                .script(),
            Notification { message: "a".into(), ..Notification::default() }.script(),
        ] {
            let validation = validate(&script, &Context::default());
            assert!(validation.valid, "{script}");
            assert_eq!(validation.safety_analysis.risk, RiskLevel::None, "{script}");
        }
    }
}
