//! The debugger commands in options that only inspect.

use crate::analyze::UNKNOWN;

/// Commands that inspect, stop or continue.
const LOOKS: &[&str] = &[
    "backtrace",
    "bt",
    "where",
    "info",
    "i",
    "thread",
    "frame",
    "f",
    "up",
    "down",
    "list",
    "l",
    "run",
    "r",
    "start",
    "starti",
    "continue",
    "c",
    "next",
    "n",
    "nexti",
    "step",
    "s",
    "stepi",
    "finish",
    "until",
    "break",
    "b",
    "tbreak",
    "rbreak",
    "watch",
    "rwatch",
    "awatch",
    "catch",
    "display",
    "quit",
    "q",
    "show",
    "disassemble",
    "x",
    "ptype",
    "whatis",
    "print",
    "p",
    "echo",
    "kill",
    "detach",
    "handle",
    "ignore",
    "condition",
    "enable",
    "disable",
    "help",
];

/// Settings that only change the display.
const DISPLAY: &[&str] = &[
    "pagination",
    "confirm",
    "width",
    "height",
    "print",
    "disassembly-flavor",
    "style",
    "verbose",
    "breakpoint",
    "listsize",
    "backtrace",
    "language",
    "logging",
];

/// Reports whether this debugger command runs nothing but the debugged program. A command that
/// calls a function, or that a shell would expand on the way to the program, does not qualify.
pub(super) fn only_looks(program: &str, command: &str) -> bool {
    const SPECIAL: [char; 11] = ['(', ')', '`', '|', ';', '&', '<', '>', '!', '\n', '{'];
    if program != "gdb" || command.contains(SPECIAL) || command.contains(UNKNOWN) {
        return false;
    }
    let mut words = command.split_whitespace();
    let first = words.next().unwrap_or_default();
    // `x/16xb`, `p/x`: a format belongs to the command.
    let first = first.split('/').next().unwrap_or_default();
    match first {
        "thread" | "frame" if command.contains("apply") => {
            command.split_once(" all ").is_some_and(|(_, rest)| only_looks(program, rest))
        }
        "set" => words.next().is_some_and(|setting| {
            DISPLAY.contains(&setting) && !(setting == "logging" && words.next() == Some("file"))
        }),
        first => LOOKS.contains(&first),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looking_is_told_from_running() {
        for command in
            ["bt", "bt full", "thread apply all bt", "set pagination off", "run", "x/8xb $sp"]
        {
            assert!(only_looks("gdb", command), "{command}");
        }
        for command in [
            "!id",
            "shell id",
            "python import os",
            "call system(0)",
            "p system(0)",
            "run $(id)",
            "thread apply all shell id",
            "set args x",
            "source x.py",
            "",
        ] {
            assert!(!only_looks("gdb", command), "{command}");
        }
    }
}
