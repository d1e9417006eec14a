//! In process: a judgement against the bare parse of the same script.

use std::error::Error;
use std::fmt::Write as _;
use std::hint::black_box;

use countersign_core::{Action, Context, Policy, judge};
use shuck_parser::parser::Parser;

use crate::sample::Times;

/// Turns taken; each turn does both sides once per round.
const TURNS: u32 = 400;

/// What a judgement may cost, as a multiple of the parse.
struct Workload {
    name: &'static str,
    script: String,
    goal: &'static str,
    /// Repeats within one measurement, so that the clock's own cost does not show.
    rounds: u32,
}

/// Parse and judgement, in turns.
pub(crate) fn table() -> Result<String, Box<dyn Error>> {
    let mut table = String::from(
        "| in process | characters | parse µs | judge µs | ratio | goal |\n|---|---|---|---|---|---|\n",
    );
    for workload in workloads() {
        let (parse, judgement) = measure(&workload);
        let ratio = judgement / parse;
        let Workload { name, script, goal, .. } = &workload;
        writeln!(
            table,
            "| {name} | {} | {parse:.2} | {judgement:.2} | {ratio:.2} | {goal} |",
            script.len()
        )?;
    }
    Ok(table)
}

fn workloads() -> [Workload; 3] {
    let short = "ls -la -t src/lib.rs";
    let long = "cd crates/core && cargo build --release --features full 2>&1 | tee build.log && \
                grep -n 'warning' build.log | sort | uniq -c | head -n 20; git status --short; \
                git diff --stat HEAD~1 -- src tests docs";
    [
        Workload { name: "a short command", script: short.to_owned(), goal: "≤ 3", rounds: 200 },
        Workload { name: "a compound command", script: long.to_owned(), goal: "≤ 2", rounds: 50 },
        Workload { name: "a script", script: script(), goal: "", rounds: 2 },
    ]
}

/// About five thousand characters of the kind of script that builds and ships something.
fn script() -> String {
    const STEP: &str = "\
build_NAME() {
  local out=\"${OUT:-dist}/NAME\"
  mkdir -p \"$out\"
  for file in src/NAME/*.ts; do
    if [[ -f $file && ! $file == *.test.ts ]]; then
      npx tsc --outDir \"$out\" \"$file\" 2>&1 | tee -a build.log
    fi
  done
  echo \"built NAME in $(date +%s)\" >> build.log
}
build_NAME && git add dist/NAME || echo 'NAME failed'
";
    let names = [
        "api", "web", "worker", "shared", "admin", "mobile", "docs", "mail", "jobs", "auth",
        "search", "billing", "export", "import", "health",
    ];
    let steps = names.iter().map(|name| STEP.replace("NAME", name));
    format!("#!/usr/bin/env bash\nset -euo pipefail\n{}", steps.collect::<Vec<_>>().join("\n"))
}

/// Medians of one round, in microseconds: the parse, then the judgement.
fn measure(workload: &Workload) -> (f64, f64) {
    let action = Action::Shell { command: workload.script.clone(), cwd: None };
    let context = Context {
        home: Some("/home/dev".into()),
        workspace: Some("/home/dev/project".into()),
        cwd: Some("/home/dev/project".into()),
        ..Context::default()
    };
    let policy = Policy::default();
    let (mut parses, mut judgements) = (Times::default(), Times::default());
    for _ in 0..TURNS {
        parses.add(|| {
            for _ in 0..workload.rounds {
                black_box(Parser::new(black_box(&workload.script)).parse());
            }
        });
        judgements.add(|| {
            for _ in 0..workload.rounds {
                black_box(judge(black_box(&action), &policy, &context));
            }
        });
    }
    let rounds = f64::from(workload.rounds);
    (parses.median() / rounds, judgements.median() / rounds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_subjects_have_the_sizes_they_claim() {
        let sizes = workloads().map(|workload| workload.script.len());
        let [short, long, script] = sizes;
        assert!(short == 20 && (195..=205).contains(&long), "{sizes:?}");
        assert!((4_500..5_500).contains(&script), "{sizes:?}");
    }
}
