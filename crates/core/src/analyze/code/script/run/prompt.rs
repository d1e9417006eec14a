//! Interpreters that read what they run from their input.
//!
//! What is written to them is judged as their code. One that nothing known is written to is open to
//! commands that nobody looks into.

use super::Runner;
use crate::analyze::code::script::value::Value;
use crate::analyze::{Invocation, shell};
use crate::fact::{FactKind, Tags};
use crate::verdict::Span;

impl Runner<'_> {
    /// Remembers an interpreter that was started without code, until its input is known.
    pub(super) fn waits_for_input(
        &mut self,
        text: &str,
        commands: &[Invocation],
        span: Option<Span>,
    ) {
        let [command] = commands else { return };
        // Input from a file or a pipe is followed by the shell analyzer.
        if !self.supposed && !text.contains(['<', '|']) && shell::prompts(command) {
            self.opens_prompt();
            self.prompt = Some((text.to_owned(), span));
        }
    }

    /// Records the interpreter that still waits for its input.
    pub(super) fn opens_prompt(&mut self) {
        if let Some((command, span)) = self.prompt.take() {
            self.fact(FactKind::OpenShell, &command, Tags::NONE, span);
        }
    }

    /// Follows the input of a program as commands, where the program reads commands.
    pub(super) fn feed(&mut self, input: &Value, span: Option<Span>) {
        let Some(command) = self.fed.clone() else { return };
        let Some(text) = input.known_text() else { return };
        if self.prompt.as_ref().is_some_and(|(waiting, _)| *waiting == command) {
            self.prompt = None;
        }
        let line = format!("printf '%s' '{}' | {command}", text.replace('\'', "'\\''"));
        self.run_text(&line, None, span);
        // More may be written to it.
        self.fed = Some(command);
    }
}

#[cfg(test)]
mod tests {
    use crate::Verdict;
    use crate::example::verdict_of;

    #[test]
    fn a_shell_that_nobody_looks_into_asks() {
        for source in [
            "python: import os\nos.execv('/bin/sh', ['sh'])",
            "python: import pty\npty.spawn('/bin/bash')",
            "python: import code\ncode.interact()",
            "python: import subprocess\nsubprocess.run(['bash', '-i'])",
            "python: import subprocess, sys\nsubprocess.run(['sh'], input=sys.stdin.read())",
            "javascript: require('child_process').spawn('/bin/sh', ['-i'], {stdio: 'inherit'})",
            "perl: exec '/bin/sh';",
            "perl: exec {'/bin/sh'} 'sh', '-i';",
            "ruby: exec 'bash', '-l'",
        ] {
            assert!(verdict_of(source) >= Verdict::Confirm, "{source}");
        }
    }

    #[test]
    fn what_is_written_to_a_shell_is_judged_as_its_code() {
        for (source, written) in [
            ("python: import subprocess\nsubprocess.run(['bash'], input='#')", "bash"),
            (
                "python: import subprocess as s\np = s.Popen('sh', stdin=s.PIPE)\np.stdin.write('#')",
                "sh",
            ),
            (
                "python: import subprocess as s\ns.Popen(['sh'], stdin=s.PIPE).communicate('#')",
                "sh",
            ),
            (
                "javascript: const p = require('child_process').spawn('sh'); p.stdin.write('#')",
                "sh",
            ),
            ("perl: open(my $p, '|-', 'sh'); print $p '#';", "sh"),
            ("perl: open(P, '| sh'); print P '#';", "sh"),
            ("ruby: IO.popen('sh', 'w') { |p| p.puts '#' }", "sh"),
            ("ruby: open('|sh', 'w') { |p| p.write('#') }", "sh"),
        ] {
            assert_eq!(verdict_of(&source.replace('#', "rm -rf /")), Verdict::Block, "{source}");
            assert!(verdict_of(&source.replace('#', "ls")) <= Verdict::Warn, "{source} {written}");
        }
    }

    #[test]
    fn another_program_does_not_take_the_input_of_a_shell() {
        let source = "python: import subprocess as s\np = s.Popen(['sh'], stdin=s.PIPE)\n\
                      s.run(['wc'], input='x')\np.stdin.write(secret)";
        assert!(verdict_of(source) >= Verdict::Confirm);
    }

    #[test]
    fn interpreters_with_a_script_open_nothing() {
        for source in [
            "python: import subprocess\nsubprocess.run(['bash', 'build.sh'])",
            "python: import subprocess\nsubprocess.run(['python3', '-m', 'pytest'])",
            "python: import subprocess\nsubprocess.run(['python3', '--version'])",
            "javascript: require('child_process').spawn('node', ['server.js'])",
        ] {
            assert!(verdict_of(source) <= Verdict::Warn, "{source}");
        }
    }
}
