//! Transformations of scripts that keep their effect.
//!
//! In a template, `{}` is the script itself, `{q}` the script quoted as one word, and the others
//! are listed in [`fill`]. `takes` says which scripts may be inserted.

use std::fmt::Write as _;

use super::quote;
use super::script::{self, Form};

/// One way to write or run a script differently.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Transformation {
    /// The text around the script.
    pub(crate) template: &'static str,
    /// The strictest form that may be inserted.
    takes: Form,
    /// Characters that the script may not contain.
    without: &'static str,
}

pub(crate) const fn around(template: &'static str, takes: Form) -> Transformation {
    Transformation { template, takes, without: "" }
}

pub(crate) const fn prefix(template: &'static str) -> Transformation {
    around(template, Form::Redirected)
}

pub(crate) const fn list(template: &'static str) -> Transformation {
    around(template, Form::List)
}

pub(crate) const fn any(template: &'static str) -> Transformation {
    around(template, Form::Loose)
}

pub(crate) const fn without(
    transformation: Transformation,
    without: &'static str,
) -> Transformation {
    Transformation { without, ..transformation }
}

/// Ways that keep the effect of a dangerous script.
pub(crate) const KEEPING: &[Transformation] = &[
    // Shells with the text as an argument.
    any("bash -c {q}"),
    any("sh -c -- {q}"),
    any("bash -lc {q}"),
    any("bash -c -e {q}"),
    any("bash -c {q} --help"),
    any("bash -c {q} name --dry-run"),
    any("bash -c {q} name --version -h"),
    any("bash -c 'eval \"$1\"' name {q}"),
    any("bash -c 'eval \"$0\"' {q}"),
    around("bash -c '\"$@\"' name {}", Form::Words),
    around("sh -c '\"$0\" \"$@\"' {}", Form::Words),
    any("bash <<< {q}"),
    any("bash <<'END'\n{}\nEND"),
    any("cat <<'END' | sh\n{}\nEND"),
    any("printf %s {q} | sh"),
    any("printf '%s\\n' {q} | bash -s name --help"),
    any("echo {base64} | base64 -d | sh"),
    any("base64 -d <<< {base64} | bash"),
    any("eval \"$(echo {base64} | base64 --decode)\""),
    any("echo {xxd} | xxd -r -p | sh"),
    any("printf '{octal}' | sh"),
    any("bash -c $'{hex}'"),
    any("eval $'{hex}'"),
    without(any("echo {rot13} | tr A-Za-z N-ZA-Mn-za-m | sh"), "\n\\"),
    without(any("echo {rev} | rev | sh"), "\n\\"),
    any("python3 -c {python}"),
    any("env bash -c {q}"),
    any("bash <(printf '%s\\n' {q})"),
    any("source <(printf '%s\\n' {q})"),
    any("source /dev/stdin <<< {q}"),
    // Programs with the words as arguments.
    prefix("env {}"),
    prefix("env A=1 {}"),
    prefix("nohup {}"),
    prefix("nice {}"),
    prefix("nice -n 5 {}"),
    prefix("timeout 5 {}"),
    prefix("timeout -k 1 5 {}"),
    prefix("sudo -n {}"),
    prefix("sudo {}"),
    prefix("setsid -w {}"),
    prefix("stdbuf -o0 {}"),
    prefix("command {}"),
    prefix("exec {}"),
    prefix("time {}"),
    prefix("! {}"),
    prefix("A=1 {}"),
    prefix("{} & wait"),
    prefix("{} | cat"),
    around("xargs {} < /dev/null", Form::Words),
    without(around("find . -maxdepth 0 -exec {} \\;", Form::Words), "{;"),
    any("printf '%s\\0' {q} | xargs -0 -I{{}} sh -c {{}}"),
    without(any("echo {q} | xargs -I{{}} sh -c {{}}"), "'\"\\\n"),
    // Built-in commands of the shell.
    any("eval {q}"),
    any("X={q}; eval \"$X\""),
    any("X={q}; bash -c \"$X\""),
    any("printf -v X %s {q}; eval \"$X\""),
    without(any("read -r X <<< {q}; eval \"$X\""), "\n"),
    any("X=$(cat <<'END'\n{}\nEND\n); eval \"$X\""),
    any("trap {q} EXIT"),
    any("trap {q} ERR; false"),
    without(any("shopt -s expand_aliases\nalias zap={q}\nzap"), "\n"),
    list("{ {}; }"),
    list("( {} )"),
    list("if true; then {}; fi"),
    list("if false; then :; else {}; fi"),
    list("for i in 1; do {}; done"),
    list("while true; do {}; break; done"),
    list("until false; do {}; break; done"),
    list("case x in *) {};; esac"),
    list("f() { {}; }; f"),
    list("f() { {}; }; export -f f; bash -c f"),
    list("f() { eval \"$1\"; }; f {q}"),
    list("cd . && {}"),
    list("{}; true"),
    list("true && {}"),
    list("X=$({} ); echo \"$X\""),
    list("echo {`}"),
    list("cat <({} )"),
    list("set -e; {}"),
    // A file that is written and run.
    any("printf '%s\\n' {q} > z.sh; bash z.sh"),
    any("printf '%s\\n' {q} > z.sh; chmod +x z.sh; ./z.sh"),
    any("printf '%s\\n' {q} > z.sh; . ./z.sh"),
    any("printf '%s\\n' {q} | tee z.sh; sh z.sh"),
    any("printf '%s\\n' {q} | dd of=z.sh; sh z.sh"),
    any("printf '%s\\n' {q} > z; cp z z.sh; bash z.sh"),
    any("printf '%s\\n' {q} > z; mv z z.sh; bash z.sh"),
    any("printf '%s\\n' {q} > z; ln -s z z.sh; bash z.sh"),
    any("printf '%s\\n' {q} > z; ln z z.sh; bash z.sh"),
    any("printf '%s\\n' {q} > z; install -m 755 z z.sh; ./z.sh"),
    any("printf '%s\\n' {q} > z; cat z > z.sh; bash z.sh"),
    any("printf '%s\\n' {q} > z.sh; bash < z.sh"),
    any("printf '%s\\n' {q} > z.sh; cat z.sh | bash"),
    any("printf '%s\\n' {q} > z.sh; eval \"$(cat z.sh)\""),
    any("printf '%s\\n' {q} > z.sh; BASH_ENV=./z.sh bash -c :"),
    any("cat > z.sh <<'END'\n{}\nEND\nbash z.sh"),
    any("mkdir -p d; printf '%s\\n' {q} > d/z.sh; sh d/z.sh"),
    // The same words, written differently.
    around("{word:\"}", Form::Words),
    around("{word:\\}", Form::Words),
    around("{word:'}", Form::Words),
    around("{word:$}", Form::Words),
    around("{word:glob}", Form::Words),
    around("{word:class}", Form::Words),
    around("{word:var}", Form::Words),
    around("{word:which}", Form::Words),
    around("{word:echo}", Form::Words),
    around("{word:path}", Form::Words),
    around("a=({}); \"${a[@]}\"", Form::Words),
    around("set -- {}; \"$@\"", Form::Words),
    around("f() { \"$@\"; }; f {}", Form::Words),
    around("{ifs}", Form::Plain),
    around("X='{}'; $X", Form::Plain),
    around("env -S '{}'", Form::Plain),
    without(around("{brace}", Form::Plain), ","),
    around("echo '{}' | while read -r x; do $x; done", Form::Plain),
    around("echo '{tail}' | xargs {head}", Form::Plain),
];

/// Ways that keep a harmless script harmless.
pub(crate) const HARMLESS: &[Transformation] = &[
    list("cd . && {}"),
    list("{}; true"),
    list("( {} )"),
    list("{ {}; }"),
    list("if true; then {}; fi"),
    prefix("env A=1 {}"),
    prefix("time {}"),
    prefix("command {}"),
    prefix("A=1 {}"),
    prefix("nice {}"),
    prefix("timeout 5 {}"),
    any("bash -c {q}"),
    any("sh -c {q}"),
    any("eval {q}"),
    prefix("stdbuf -o0 {}"),
    prefix("ionice -c 3 {}"),
    prefix("nohup {}"),
    prefix("{} | cat"),
    list("true && {}"),
    list("set -e; {}"),
    list("for i in 1; do {}; done"),
    list("case x in *) {};; esac"),
    list("f() { {}; }; f"),
    around("{word:\\}", Form::Words),
    around("{word:'}", Form::Words),
];

impl Transformation {
    /// Reports whether it finds the program by looking into `/bin` or `/usr/bin`.
    pub(crate) fn looks_in_system_folders(&self) -> bool {
        const SYSTEM: &[&str] = &[
            "{word:glob}",
            "{word:class}",
            "{word:path}",
            "{word:hash}",
            "{word:link}",
            "command -p {}",
        ];
        SYSTEM.contains(&self.template)
    }

    /// The script written or run differently; `None` where it may not be inserted.
    pub(crate) fn apply(&self, script: &str) -> Option<String> {
        let script = script.trim();
        let fits = script::form(script) <= self.takes;
        let clean = !script.contains(|letter| self.without.contains(letter));
        // A NUL cannot be passed to any program.
        (fits && clean && !script.contains('\0')).then(|| fill(self.template, script))?
    }
}

/// Replaces all placeholders in one pass, because the script itself may contain braces.
fn fill(template: &str, script: &str) -> Option<String> {
    if let Some(how) = template.strip_prefix("{word:").and_then(|rest| rest.strip_suffix('}')) {
        return respell(script, how);
    }
    let words = || script::words(script).unwrap_or_default();
    let mut text = String::new();
    let mut rest = template;
    while let Some(start) = rest.find('{') {
        let (before, hole) = rest.split_at(start);
        text.push_str(before);
        let holes: [(&str, &dyn Fn() -> String); 21] = [
            ("{{}}", &|| "{}".to_owned()),
            ("{}", &|| script.to_owned()),
            ("{q}", &|| quote::single(script)),
            ("{`}", &|| quote::backticks(script)),
            ("{base64}", &|| quote::base64(script)),
            ("{xxd}", &|| quote::hex(script)),
            ("{hex}", &|| escaped(script, "\\x", 16)),
            ("{octal}", &|| escaped(script, "\\", 8)),
            ("{rot13}", &|| quote::single(&script.chars().map(rot13).collect::<String>())),
            ("{rev}", &|| quote::single(&script.chars().rev().collect::<String>())),
            ("{python}", &|| python(script)),
            ("{pywrite}", &|| {
                let text = quote::literal(&format!("{script}\n"), "");
                quote::single(&format!("open(\"z.sh\", \"w\").write({text})"))
            }),
            ("{perl}", &|| quote::single(&format!("system({})", quote::literal(script, "$@")))),
            ("{ruby}", &|| quote::single(&format!("system({})", quote::literal(script, "#")))),
            ("{node}", &|| {
                let text = quote::literal(script, "");
                quote::single(&format!("require(\"child_process\").execSync({text})"))
            }),
            ("{awk}", &|| {
                quote::single(&format!("BEGIN {{ system({}) }}", quote::literal(script, "")))
            }),
            ("{qq}", &|| quote::single(&quote::single(script))),
            ("{ifs}", &|| words().join("${IFS}")),
            ("{brace}", &|| format!("{{{}}}", words().join(","))),
            ("{head}", &|| words().first().cloned().unwrap_or_default()),
            ("{tail}", &|| words().get(1..).unwrap_or_default().join(" ")),
        ];
        let found = holes.iter().find_map(|(name, make)| Some((hole.strip_prefix(name)?, make)));
        if let Some((after, make)) = found {
            text.push_str(&make());
            rest = after;
        } else {
            text.push('{');
            rest = hole.strip_prefix('{').unwrap_or_default();
        }
    }
    text.push_str(rest);
    let enough = !template.contains("{brace}") && !template.contains("{tail}") || words().len() > 1;
    enough.then_some(text)
}

/// The command with its first word spelt differently.
fn respell(script: &str, how: &str) -> Option<String> {
    let words = script::words(script)?;
    let (name, rest) = words.split_first()?;
    let simple =
        name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(letter));
    if !simple || name.len() < 2 || !name.starts_with(|letter: char| letter.is_ascii_alphabetic()) {
        return None;
    }
    let (first, after) = name.split_at(1);
    let (most, last) = name.split_at(name.len() - 1);
    let rest: String = rest.iter().fold(String::new(), |rest, word| rest + " " + word);
    Some(match how {
        "\"" => format!("\"{first}\"{after}{rest}"),
        "\\" => format!("{first}\\{after}{rest}"),
        "'" => format!("{first}''{after}{rest}"),
        "$" => format!("$'{}'{after}{rest}", escaped(first, "\\x", 16)),
        "glob" => format!("/bin/{most}?{rest}"),
        "class" => format!("/usr/bin/{most}[{last}]{rest}"),
        "var" => format!("x={name}; $x{rest}"),
        "which" => format!("$(command -v {name}){rest}"),
        "echo" => format!("$(echo {name}){rest}"),
        "path" => format!("/usr/bin/../bin/{name}{rest}"),
        "lead" => format!("\\{name}{rest}"),
        "ansi" => format!("$'{}'{rest}", escaped(name, "\\x", 16)),
        "default" => format!("${{zz:-{name}}}{rest}"),
        "cut" => format!("x=zz{name}; ${{x:2}}{rest}"),
        "strip" => format!("x={name}zz; ${{x%zz}}{rest}"),
        "replace" => format!("x={first}@{after}; ${{x/@/}}{rest}"),
        "lower" if *name == name.to_lowercase() => {
            format!("x={}; ${{x,,}}{rest}", name.to_uppercase())
        }
        "split" => format!("a={first} b={after}; $a$b{rest}"),
        "array" => format!("x=(a {name}); ${{x[1]}}{rest}"),
        "indirect" => format!("y={name}; x=y; ${{!x}}{rest}"),
        "printf" => format!("$(printf '{}'){rest}", escaped(name, "\\", 8)),
        "hash" => format!("hash -p /usr/bin/{name} zz; zz{rest}"),
        "link" => format!("ln -s /usr/bin/{name} z; ./z{rest}"),
        "alias" => format!("shopt -s expand_aliases\nalias zz={name}\nzz{rest}"),
        _ => return shadowed(name, &rest, how),
    })
}

/// The command after its name was given another meaning that does not hold where it runs.
fn shadowed(name: &str, rest: &str, how: &str) -> Option<String> {
    const USED_HERE: &[&str] =
        &["bash", "cat", "command", "env", "exec", "find", "nohup", "printf", "unset", "wait"];
    if USED_HERE.contains(&name) {
        return None;
    }
    let command = quote::single(&format!("{name}{rest}"));
    let with_default = quote::single(&format!("${{x:-{name}}}{rest}"));
    Some(match how {
        "function, env" => format!("{name}() {{ :; }}; env {name}{rest}"),
        "function, command" => format!("{name}() {{ :; }}; command {name}{rest}"),
        "function, exec" => format!("{name}() {{ :; }}; exec {name}{rest}"),
        "function, nohup" => format!("{name}() {{ :; }}; nohup {name}{rest}"),
        "function, find" if !rest.contains(['{', ';']) => {
            format!("{name}() {{ :; }}; find . -maxdepth 0 -exec {name}{rest} \\;")
        }
        "function, shell" => format!("{name}() {{ :; }}; bash -c {command}"),
        "function, input" => format!("{name}() {{ :; }}; bash <<< {command}"),
        "function, file" => {
            format!("{name}() {{ :; }}; printf '%s\\n' {command} > z.sh; bash z.sh")
        }
        "function, branch" => format!("false && {name}() {{ :; }}; {name}{rest}"),
        "function, if" => format!("if false; then {name}() {{ :; }}; fi; {name}{rest}"),
        "function, unset" => format!("{name}() {{ :; }}; unset -f {name}; {name}{rest}"),
        "function, beside" => format!("{name}() {{ :; }} & wait; {name}{rest}"),
        "function, subshell" => format!("( {name}() {{ :; }} ); {name}{rest}"),
        "function, pipe" => format!("{name}() {{ :; }} | cat; {name}{rest}"),
        "alias, same line" => format!("alias {name}=:; {name}{rest}"),
        "variable, beside" => format!("x={name}; x=echo & wait; $x{rest}"),
        "variable, branch" => format!("x={name}; true || x=echo; $x{rest}"),
        "variable, shell" => format!("x={name}; bash -c 'x=echo'; $x{rest}"),
        "variable, unset" => format!("x=echo; unset x; ${{x:-{name}}}{rest}"),
        "variable, maybe unset" => format!("x=echo; true && unset x; ${{x:-{name}}}{rest}"),
        "variable, never set" => format!("false && x=echo; ${{x:-{name}}}{rest}"),
        "variable, not exported" => format!("x=echo; bash -c {with_default}"),
        "variable, upper case" => {
            format!("X=echo; bash -c {}", with_default.replace("${x", "${X"))
        }
        _ => return None,
    })
}

/// Every byte as a number.
fn escaped(script: &str, before: &str, radix: u8) -> String {
    script.bytes().fold(String::new(), |mut text, byte| {
        let _ = if radix == 8 {
            write!(text, "{before}{byte:03o}")
        } else {
            write!(text, "{before}{byte:02x}")
        };
        text
    })
}

fn rot13(letter: char) -> char {
    let turn = |base: u8, letter: u8| char::from((letter - base + 13) % 26 + base);
    match u8::try_from(letter) {
        Ok(byte) if byte.is_ascii_lowercase() => turn(b'a', byte),
        Ok(byte) if byte.is_ascii_uppercase() => turn(b'A', byte),
        _ => letter,
    }
}

fn python(script: &str) -> String {
    quote::single(&format!("import os; os.system({})", quote::literal(script, "")))
}
