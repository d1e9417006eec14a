//! Ways to run a script through something else, as templates.
//!
//! `{}` is the script itself, `{q}` the script quoted as one word, `{n}` a number that differs at
//! every depth. `takes` and `gives` say what can be inserted where, so that every composition is
//! valid bash.

use super::quote;

/// A script, and the positions in which it may be inserted.
#[derive(Debug, Clone)]
pub(crate) struct Script {
    /// The text.
    pub(crate) text: String,
    /// The positions in which it may be inserted.
    pub(crate) form: Form,
}

/// The positions in which a script may be inserted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Form {
    /// Words of one command: also after `sudo`.
    Words,
    /// One command, perhaps a compound one: also in a pipeline.
    Command,
    /// Several commands: only in the position of a list.
    List,
    /// Ends in a heredoc or `&`: only when quoted.
    Loose,
}

/// One way to run a script.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wrapper {
    /// The text around it.
    pub(crate) template: &'static str,
    /// The loosest form that may be inserted unquoted.
    pub(crate) takes: Form,
    /// The form of the result.
    pub(crate) gives: Form,
}

const fn prefix(template: &'static str) -> Wrapper {
    Wrapper { template, takes: Form::Words, gives: Form::Words }
}

const fn quoting(template: &'static str) -> Wrapper {
    Wrapper { template, takes: Form::Loose, gives: Form::Words }
}

const fn quoting_list(template: &'static str) -> Wrapper {
    Wrapper { template, takes: Form::Loose, gives: Form::List }
}

const fn around(template: &'static str, takes: Form, gives: Form) -> Wrapper {
    Wrapper { template, takes, gives }
}

/// Programs, shells and syntax that run a script unchanged and in plain sight.
pub(crate) const WRAPPERS: &[Wrapper] = &[
    prefix("sudo {}"),
    prefix("sudo -u root {}"),
    prefix("sudo -E -n -- {}"),
    prefix("sudo --user=root A=1 {}"),
    prefix("doas {}"),
    prefix("doas -u root {}"),
    prefix("env {}"),
    prefix("env -i A=1 {}"),
    prefix("env -u A -- {}"),
    prefix("/usr/bin/env {}"),
    prefix("nice {}"),
    prefix("nice -n 10 {}"),
    prefix("nice -10 {}"),
    prefix("ionice -c 3 {}"),
    prefix("ionice -c2 -n7 {}"),
    prefix("nohup {}"),
    prefix("timeout 5 {}"),
    prefix("timeout -k 5 10s {}"),
    prefix("timeout --signal=KILL 1m {}"),
    prefix("stdbuf -oL {}"),
    prefix("stdbuf -i 0 -o 0 {}"),
    prefix("setsid {}"),
    prefix("setsid -w {}"),
    prefix("xargs {}"),
    prefix("xargs -0 -n 1 {}"),
    prefix("xargs -P4 --max-args=1 {}"),
    prefix("strace -f {}"),
    prefix("strace -o /tmp/trace {}"),
    prefix("unshare -m {}"),
    prefix("nsenter -t 1 -m {}"),
    prefix("flock /tmp/lock {}"),
    prefix("chroot / {}"),
    prefix("runuser -u root -- {}"),
    prefix("busybox {}"),
    quoting("bash -c {q}"),
    quoting("sh -c {q}"),
    quoting("dash -c {q}"),
    quoting("zsh -c {q}"),
    quoting("bash -lc {q}"),
    quoting("/bin/bash -ec {q}"),
    quoting("bash -o pipefail -c {q}"),
    quoting("bash --norc -c {q} name"),
    quoting("busybox sh -c {q}"),
    quoting("su -c {q}"),
    quoting("su root -c {q}"),
    quoting("su - -c {q}"),
    quoting("su --command={q}"),
    quoting("runuser -l root -c {q}"),
    quoting("script -qc {q} /dev/null"),
    quoting("flock /tmp/lock -c {q}"),
    quoting("watch {q}"),
    quoting("git -c alias.zap='!'{q} zap"),
    quoting_list("eval {q}"),
    quoting_list("eval \"\"{q}"),
    quoting_list("trap {q} EXIT"),
    quoting_list("alias zap={q}\nzap"),
    quoting_list("X={q}; eval \"$X\""),
    quoting_list("X={q}; bash -c \"$X\""),
    quoting_list("bash <<< {q}"),
    quoting_list("echo {q} | sh"),
    quoting_list("printf '%s\\n' {q} | bash -s"),
    quoting_list("echo {q} | sudo bash"),
    quoting_list("bash <(echo {q})"),
    quoting_list("source <(echo {q})"),
    quoting_list("eval \"$(echo {q})\""),
    // Not to be wrapped in words: the inner `;` would end an outer `-exec`.
    around("find . -exec {} \\;", Form::Words, Form::Command),
    around("find . -maxdepth 1 -name x -exec {} ';'", Form::Words, Form::Command),
    around("find . -exec sh -c {q} \\;", Form::Loose, Form::Command),
    around("exec {}", Form::Words, Form::List),
    around("command {}", Form::Words, Form::List),
    around("A=1 {}", Form::Words, Form::List),
    around("time {}", Form::Command, Form::List),
    around("! {}", Form::Command, Form::List),
    around("( {} )", Form::List, Form::Command),
    around("( {}\n)", Form::List, Form::Command),
    around("{ {}; }", Form::List, Form::Command),
    around("if true; then {}; fi", Form::List, Form::Command),
    around("if {}; then :; fi", Form::List, Form::Command),
    around("if false; then :; else {}; fi", Form::List, Form::Command),
    around("while true; do {}; break; done", Form::List, Form::Command),
    around("until {}; do sleep 1; done", Form::List, Form::Command),
    around("for i in 1 2; do {}; done", Form::List, Form::Command),
    around("for ((i = 0; i < 2; i++)); do {}; done", Form::List, Form::Command),
    around("case x in (y) ;; (*) {};; esac", Form::List, Form::Command),
    // The grammar does not parse this in `<( )`, and so asks: see docs/bypasses.md.
    around("case x in y) ;; *) {};; esac", Form::List, Form::Loose),
    around("zap{n}() { {}; }; zap{n}", Form::List, Form::List),
    around("function zap{n} { {}; }; zap{n}", Form::List, Form::List),
    around("true && {}", Form::List, Form::List),
    around("false || {}", Form::List, Form::List),
    around("ls; {}", Form::List, Form::List),
    around("{}; ls", Form::List, Form::List),
    around("{} && ls", Form::List, Form::List),
    around("ls\n{}", Form::List, Form::List),
    around("# a note\n{}", Form::List, Form::List),
    around("set -euo pipefail; {}", Form::List, Form::List),
    around("{} | cat", Form::Command, Form::List),
    around("yes | {}", Form::Command, Form::List),
    around("{} &", Form::Command, Form::Loose),
    around("{} & ls", Form::Command, Form::List),
    around("x=$( {})", Form::List, Form::List),
    around("echo \"found $( {})\"", Form::List, Form::List),
    around("cat <({})", Form::List, Form::List),
    around("[[ -n $( {}) ]]", Form::List, Form::List),
    around("x=${y:-$( {})}", Form::List, Form::List),
    around("echo {`}", Form::List, Form::List),
    around("bash <<'END{n}'\n{}\nEND{n}", Form::List, Form::Loose),
    around("cat <<'END{n}' | bash\n{}\nEND{n}", Form::List, Form::Loose),
    around("sudo sh -s <<-'END{n}'\n{}\nEND{n}", Form::List, Form::Loose),
];

/// Ways that encode the script's text, and decode it when they run.
pub(crate) const DECODERS: &[Wrapper] = &[
    quoting_list("echo {base64} | base64 -d | sh"),
    quoting_list("echo {base64} | base64 --decode | bash"),
    quoting_list("base64 -d <<< {base64} | sh"),
    quoting_list("eval \"$(echo {base64} | base64 -d)\""),
    quoting_list("bash -c \"$(echo {base64} | base64 -d)\""),
    quoting_list("bash <(echo {base64} | base64 -d)"),
    quoting_list("echo {hex} | xxd -r -p | sh"),
];

/// Ways of other languages to pass a script to the shell.
pub(crate) const INTERPRETERS: &[Wrapper] = &[
    quoting("python3 -c {q:import os; os.system({literal})}"),
    quoting("python -c {q:import subprocess; subprocess.run({literal}, shell=True)}"),
    quoting("perl -e {q:system({perl})}"),
    quoting("ruby -e {q:system({ruby})}"),
    quoting("node -e {q:require(\"child_process\").execSync({literal})}"),
    quoting("awk {q:BEGIN { system({literal}) }}"),
];

/// The script run through this wrapper. A script that may not be inserted is passed to `bash -c`
/// first.
pub(crate) fn wrap(script: &Script, wrapper: &Wrapper, depth: usize) -> Script {
    let quoted = format!("bash -c {}", quote::single(&script.text));
    let inner = if script.form <= wrapper.takes { &script.text } else { &quoted };
    let text = match wrapper.template.split_once("{q:") {
        Some((before, rest)) => {
            let source = rest.strip_suffix('}').unwrap_or(rest);
            let source = source
                .replace("{literal}", &quote::literal(&script.text, ""))
                .replace("{perl}", &quote::literal(&script.text, "$@"))
                .replace("{ruby}", &quote::literal(&script.text, "#"));
            format!("{before}{}", quote::single(&source))
        }
        None => fill(wrapper.template, inner, depth),
    };
    Script { text, form: wrapper.gives }
}

/// Replaces all placeholders in one pass, because the script itself may contain braces.
fn fill(template: &str, script: &str, depth: usize) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some(start) = rest.find('{') {
        let (before, hole) = rest.split_at(start);
        text.push_str(before);
        let filled = [
            ("{}", script.to_owned()),
            ("{q}", quote::single(script)),
            ("{`}", quote::backticks(script)),
            ("{base64}", quote::base64(script)),
            ("{hex}", quote::hex(script)),
            ("{n}", depth.to_string()),
        ];
        if let Some((after, value)) =
            filled.iter().find_map(|(name, value)| Some((hole.strip_prefix(name)?, value)))
        {
            text.push_str(value);
            rest = after;
        } else {
            text.push('{');
            rest = hole.strip_prefix('{').unwrap_or_default();
        }
    }
    text.push_str(rest);
    text
}
