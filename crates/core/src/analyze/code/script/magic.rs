//! Lines of a notebook that are not Python: `!command`, `%sx command`, shell cells.

use crate::analyze::{Analysis, shell};
use crate::location::Scene;

/// Words after a percent sign that run the rest of the line in a shell.
const LINES: &[&str] = &["sx", "system", "!", "sc", "bash", "sh", "cmd"];
/// Words after two percent signs that run the rest of the cell in a shell.
const CELLS: &[&str] = &["bash", "sh", "script", "sx", "system", "!", "zsh", "cmd"];

/// Returns the source without such lines, and the analyses of their commands; `None` when there are
/// no such lines.
pub(super) fn split(source: &str, scene: &Scene<'_>) -> Option<(String, Vec<Analysis>)> {
    if !source.contains(['!', '%']) {
        return None;
    }
    let mut python = String::with_capacity(source.len());
    let mut commands = String::new();
    let mut in_cell = false;
    for line in source.lines() {
        let command = if in_cell { Some(line) } else { command_in(line, &mut in_cell) };
        match command {
            Some(command) => {
                commands.push_str(command);
                commands.push('\n');
                // Replaced by as many spaces, so that spans in the source remain valid.
                python.extend(std::iter::repeat_n(' ', line.len()));
            }
            None => python.push_str(line),
        }
        python.push('\n');
    }
    if commands.is_empty() {
        return None;
    }
    let found = shell::analyze(&commands, &scene.deeper());
    Some((python, vec![found]))
}

/// Returns the command that this line passes to a shell.
fn command_in<'l>(line: &'l str, in_cell: &mut bool) -> Option<&'l str> {
    let text = line.trim_start();
    if let Some(command) = text.strip_prefix('!') {
        return (!command.starts_with('=')).then(|| command.trim_start_matches('!'));
    }
    if let Some(magic) = text.strip_prefix("%%") {
        let word = magic.split_whitespace().next().unwrap_or_default();
        *in_cell = CELLS.contains(&word);
        return Some(if *in_cell { ":" } else { "" });
    }
    let after = if let Some(magic) = text.strip_prefix('%') {
        magic
    } else {
        // `x = !command`, `x = %sx command`
        let (name, value) = text.split_once('=')?;
        let plain = name.trim().chars().all(|char| char.is_alphanumeric() || char == '_');
        let value = value.trim_start();
        if let Some(command) = value.strip_prefix('!').filter(|_| plain) {
            return Some(command);
        }
        value.strip_prefix('%').filter(|_| plain)?
    };
    let (word, command) = after.split_once(char::is_whitespace)?;
    LINES.contains(&word).then_some(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_of_a_notebook_are_commands() {
        let mut cell = false;
        assert_eq!(command_in("!ls -l", &mut cell), Some("ls -l"));
        assert_eq!(command_in("files = !ls", &mut cell), Some("ls"));
        assert_eq!(command_in("%sx ls", &mut cell), Some("ls"));
        for line in
            ["x = a % b", "if a != b:", "    % (a, b)", "x = '!ls'", "%matplotlib inline", "!= b"]
        {
            assert_eq!(command_in(line, &mut cell), None, "{line}");
        }
        assert_eq!(command_in("%%bash", &mut cell), Some(":"));
        assert!(cell);
    }
}
