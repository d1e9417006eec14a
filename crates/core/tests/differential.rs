//! The grammar compared with bash itself: over the corpus where it is available, and over our own
//! scripts.
//!
//! `bash -n` parses a script and runs nothing. Where bash accepts a script that the grammar
//! refuses, we must ask; the share on which the two agree may not get worse.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use countersign_core::Verdict;
use countersign_core::example::{example_action, example_context};

#[path = "support/invariant.rs"]
mod invariant;
#[path = "support/quote.rs"]
mod quote;
#[path = "support/wrap.rs"]
mod wrap;

/// The share of corpus scripts on which bash and the grammar agreed when last measured.
const AGREED: f64 = 0.998;

/// Scripts that a grammar easily gets wrong; bash accepts them all.
const OURS: &[&str] = &[
    "echo $(( 1 << 2 )) ${x:-${y:=z}} ${#x} ${x//a/b} ${x^^} ${!x} ${x@Q} ${x[@]:1:2}",
    "cat <<A <<'B'\n$x\nA\n$y\nB",
    "cat <<-END\n\tindented $(date)\n\tEND",
    "case $x in a|b) echo 1 ;;& [0-9]*) echo 2 ;& *) ;; esac",
    "for ((i=0; i<3; i++)) { echo $i; }",
    "select x in a b; do break; done",
    "coproc worker { cat; }",
    "coproc cat",
    "[[ $x =~ ^[a-z]+(b|c)$ && -f $y || ! -d z ]]",
    "(( x++ , y = x ? 1 : 2 ))",
    "declare -A m=([a]=1 [b]='2 3'); echo ${m[a]}",
    "exec 3<>/dev/tcp/example.com/80",
    "{ echo a; echo b; } 2>&1 | tee >(grep a) > /dev/null",
    "diff <(sort a) <(sort b)",
    "f() ( set -e; cd x ); function g { return 1; }; f && g || true",
    "time -p ls | wc -l",
    "! true; if ! grep -q x y; then :; fi",
    "echo a\\\nb",
    "echo 'a'\\''b' \"c\\\"d\" $'e\\'f' $\"g\"",
    "x=(a 'b c' $(d) *.txt); x+=(e); echo \"${x[@]}\"",
    "echo {a,b}{1..3} ~root ~/x ~+",
    "ls &>> log; ls |& cat; ls <<< \"$x\"",
    "trap 'rm -f \"$t\"' EXIT INT",
    "while IFS= read -r line || [[ -n $line ]]; do echo \"$line\"; done < <(cat x)",
    "echo ${x:+$(echo \"a ) b\")}",
    "if a; then b; elif c; then d; else e; fi",
    "until false; do break; done",
    "let x=1+2; echo $[1+2]",
    "a=b c=d e",
    "echo $1 $# $? $! $$ $@ $* $- $0 ${10}",
    "echo #comment\n#another\n",
    "[ -f x -a -d y ] && . ./x",
    "echo \"`echo \\`echo x\\``\"",
    "cat << 'E O F'\nx\nE O F",
    "ls;\n\n\nls &\nwait",
    "export PATH=\"$HOME/bin:$PATH\" && printf '%s\\n' \"${PATH//:/$'\\n'}\"",
];

/// Scripts that bash refuses.
const BROKEN: &[&str] = &[
    "if true; then",
    "echo 'open",
    "echo \"open",
    "echo $(open",
    "(ls",
    "ls)",
    "{ ls",
    "for x in a b",
    "case x in",
    "while true; do ls",
    "&& ls",
    "ls | | cat",
    "ls ;;",
    "done",
    "f() {",
    "> >",
    "[[ a",
];

#[test]
fn bash_and_the_grammar_agree_on_our_own_scripts() {
    if !bash_is_there() {
        return;
    }
    let differing: Vec<_> = OURS
        .iter()
        .map(|script| (*script, true))
        .chain(BROKEN.iter().map(|script| (*script, false)))
        .filter(|(script, valid)| {
            bash_takes(script) != *valid || invariant::parses(script) != *valid
        })
        .collect();
    assert!(differing.is_empty(), "{differing:#?}");
}

#[test]
fn bash_takes_what_the_hard_block_test_composes() {
    if !bash_is_there() {
        return;
    }
    let script = wrap::Script { text: "rm -rf /".into(), form: wrap::Form::Words };
    let all = || wrap::WRAPPERS.iter().chain(wrap::DECODERS).chain(wrap::INTERPRETERS);
    // Each inner one with a few outer ones, different ones every time: bash takes a while to start.
    let pairs = all().enumerate().flat_map(|(at, inner)| {
        all().cycle().skip(at * 7).step_by(17).take(8).map(move |outer| (inner, outer))
    });
    let refused: Vec<_> = pairs
        .map(|(inner, outer)| wrap::wrap(&wrap::wrap(&script, inner, 0), outer, 1).text)
        .filter(|script| !bash_takes(script))
        .collect();
    assert!(refused.is_empty(), "{refused:#?}");
}

#[test]
fn what_bash_takes_and_the_grammar_refuses_is_asked_about() {
    let scripts = corpus();
    if scripts.is_empty() || !bash_is_there() {
        eprintln!("skipped: needs bash and the corpus beside the workspace");
        return;
    }
    let agrees = |script: &String| bash_takes(script) == invariant::parses(script);
    let (same, differing): (Vec<_>, Vec<_>) = scripts.iter().partition(|script| agrees(script));
    let count = |list: &[&String]| f64::from(u32::try_from(list.len()).unwrap());
    let share = count(&same) / (count(&same) + count(&differing));
    eprintln!("bash and the grammar agree on {share:.4} of {} scripts", scripts.len());
    for script in differing.into_iter().filter(|script| !invariant::parses(script)) {
        let verdict = invariant::judged(&example_action(script), &example_context()).verdict;
        assert!(verdict >= Verdict::Confirm, "refused by the grammar, yet {verdict:?}");
    }
    assert!(share >= AGREED, "agreement fell to {share:.4}, it was {AGREED}");
}

/// Every shell script of the corpus; empty where it is not available.
fn corpus() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let files = entries.flatten().map(|entry| entry.path());
    let texts = files.filter_map(|path| std::fs::read_to_string(path).ok());
    texts.flat_map(|text| text.lines().filter_map(script).collect::<Vec<_>>()).collect()
}

fn script(row: &str) -> Option<String> {
    let row: serde_json::Value = serde_json::from_str(row).ok()?;
    let script = row.get("input")?.as_str()?;
    (row.get("kind")? == "shell").then(|| script.to_owned())
}

fn bash_is_there() -> bool {
    let there = Command::new("bash").arg("--version").stdout(Stdio::null()).status().is_ok();
    if !there {
        eprintln!("skipped: no bash here");
    }
    there
}

/// Reports whether `bash -n` finds no error.
fn bash_takes(script: &str) -> bool {
    let spawned = Command::new("bash")
        .arg("-n")
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut bash) = spawned else { return false };
    if let Some(mut stdin) = bash.stdin.take() {
        // Bash stops reading at its first error; the exit code tells.
        let _ = stdin.write_all(script.as_bytes());
    }
    // An unclosed here-document is only a warning to bash, so its exit code alone is not enough.
    bash.wait_with_output().is_ok_and(|output| {
        output.status.success() && !output.stderr.windows(9).any(|at| at == b"here-docu")
    })
}
