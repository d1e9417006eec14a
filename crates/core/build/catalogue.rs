//! The program catalogue: the effects of each program on its words.

use std::fmt::Write as _;
use std::path::Path;

use serde::Deserialize;

use crate::row::OneOrMany;
use crate::{camel, names, number_in, parse, strs, tags, yaml_files};

/// One program as written.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Entry {
    /// Other names of the same program.
    also: Vec<String>,
    /// Options that take a value in the next word.
    values: Vec<String>,
    /// The way in which it starts another command.
    wraps: Option<Wrap>,
    /// Its effects on its words.
    does: Vec<Effect>,
    /// Runs source text: the language, and the option that carries it.
    runs: Option<Runs>,
    /// Options whose value is a command line.
    executes: Vec<String>,
    /// Options that name the code, or the folder of code, that it runs.
    loads: Vec<String>,
    /// The way in which it is told which processes to end.
    ends: Option<Ends>,
    /// `own`: this program's verbs are known, so the general ones do not apply.
    verbs: Option<String>,
    /// Each line of its standard input is more words for it.
    prompts: bool,
    /// The words that name code to install: `verbs` (those after a verb), `all` or `first`.
    installs: Option<String>,
    /// The condition on which it lets others reach this machine: `always`, or `wide` (by an address
    /// for everybody).
    opens: Option<String>,
    /// The kind of program whose words have a grammar of their own.
    acts_as: Option<String>,
    /// The words that make it run or install the files that it is given.
    runs_given: Option<Given>,
    /// `data`: nothing that it makes is source text.
    makes: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is one independent word of the YAML")]
struct Wrap {
    /// Words to skip before the command starts.
    skip: usize,
    /// True when `NAME=value` words may precede the command.
    assigns: bool,
    /// An option whose value is a script for the shell.
    script: Vec<String>,
    /// Runs as another user.
    elevates: bool,
    /// Runs on another machine, container or pod.
    elsewhere: bool,
    /// The command's words are joined and given to a shell.
    joins: bool,
    /// More words are added from standard input.
    appends: bool,
    /// Only after one of these operands (`exec`, `run`).
    after: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Effect {
    fact: String,
    /// `args`, `first`, `last`, `sources` (all but the last), `rest` (all but the first), or an
    /// option.
    on: String,
    /// Only after these operands.
    sub: Vec<String>,
    /// Only with one of these.
    when: Vec<String>,
    /// Not with any of these.
    unless: Vec<String>,
    recursive: OneOrMany,
    forced: OneOrMany,
    tags: Vec<String>,
    /// The target's name, where it is derived from the word: `{}` is the word, `{stem}` the word
    /// without its ending.
    named: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Runs {
    language: String,
    /// Options whose value is source text.
    source: Vec<String>,
    /// The first operand is source text when no option gave it.
    operand: bool,
    /// The first operand is a file to run.
    file: bool,
    /// Source text may come from standard input.
    stdin: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Given {
    /// After one of these operands.
    after: Vec<String>,
    /// With one of these options.
    with: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Ends {
    /// `number`, `name`, `pattern` or `unit`.
    by: String,
    /// Only with one of these words.
    after: Vec<String>,
    /// Not with any of these.
    unless: Vec<String>,
}

pub(crate) fn generate(folder: &Path) -> Result<String, Box<dyn std::error::Error>> {
    let mut programs = Vec::new();
    let mut aliases = Vec::new();
    for (file, text) in yaml_files(folder)? {
        for (name, entry) in parse::<Entry>(&file, &text)? {
            let code = program(&entry);
            aliases.extend(entry.also.iter().map(|alias| (alias.clone(), name.clone())));
            for name in entry.also.iter().chain([&name]) {
                programs.push((name.clone(), code.clone()));
            }
        }
    }
    programs.sort();
    for pair in programs.windows(2) {
        if let [(first, _), (second, _)] = pair
            && first == second
        {
            return Err(format!("catalogue: `{first}` is listed twice").into());
        }
    }
    // Most programs are like others: each kind of them is stored once.
    let mut kinds = Vec::new();
    let numbered: Vec<_> = programs
        .iter()
        .map(|(name, program)| (name.as_str(), number_in(&mut kinds, program)))
        .collect();
    let mut code = String::from("static PROGRAMS: &[Program] = &[\n");
    for program in kinds {
        let _ = writeln!(code, "{program},");
    }
    code.push_str("];\n");
    code.push_str(&names("PROGRAM_NAMES", numbered.into_iter())?);
    aliases.sort();
    let _ = writeln!(code, "static ALIASES: &[(&str, &str)] = &{aliases:?};");
    Ok(code)
}

fn program(entry: &Entry) -> String {
    let effects: Vec<_> = entry.does.iter().map(effect).collect();
    format!(
        "Program {{ values: {}, wraps: {}, does: &[{}], runs: {}, executes: {}, \
         loads: {}, ends: {}, own_verbs: {}, prompts: {}, installs: {}, opens: {}, \
         makes_data: {}, acts_as: {}, runs_given: {} }}",
        strs(&entry.values),
        entry.wraps.as_ref().map_or_else(|| "None".to_owned(), wrap),
        effects.join(", "),
        entry.runs.as_ref().map_or_else(|| "None".to_owned(), runs),
        strs(&entry.executes),
        strs(&entry.loads),
        entry.ends.as_ref().map_or_else(|| "None".to_owned(), ends),
        entry.verbs.as_deref() == Some("own"),
        entry.prompts,
        chosen("Installs", entry.installs.as_deref()),
        chosen("Opens", entry.opens.as_deref()),
        entry.makes.as_deref() == Some("data"),
        chosen("Class", entry.acts_as.as_deref()),
        entry.runs_given.as_ref().map_or_else(|| "None".to_owned(), given),
    )
}

/// Converts a word of the YAML to a variant of an enum; a misspelt one does not compile.
fn chosen(kind: &str, word: Option<&str>) -> String {
    word.map_or_else(|| "None".to_owned(), |word| format!("Some({kind}::{})", camel(word)))
}

fn wrap(wrap: &Wrap) -> String {
    format!(
        "Some(Wrap {{ skip: {}, assigns: {}, script: {}, elevates: {}, elsewhere: {}, joins: {}, \
         appends: {}, after: {} }})",
        wrap.skip,
        wrap.assigns,
        strs(&wrap.script),
        wrap.elevates,
        wrap.elsewhere,
        wrap.joins,
        wrap.appends,
        strs(&wrap.after),
    )
}

fn effect(effect: &Effect) -> String {
    let slot = match effect.on.as_str() {
        "args" | "first" | "last" | "sources" | "rest" => format!("Slot::{}", camel(&effect.on)),
        option => format!("Slot::Option({option:?})"),
    };
    format!(
        "Effect {{ fact: FactKind::{}, on: {slot}, sub: {}, when: {}, unless: {}, recursive: {}, \
         forced: {}, tags: {}, named: {:?} }}",
        camel(&effect.fact),
        strs(&effect.sub),
        strs(&effect.when),
        strs(&effect.unless),
        strs(effect.recursive.words()),
        strs(effect.forced.words()),
        tags(&effect.tags),
        effect.named,
    )
}

fn given(given: &Given) -> String {
    format!("Some(Given {{ after: {}, with: {} }})", strs(&given.after), strs(&given.with))
}

fn ends(ends: &Ends) -> String {
    format!(
        "Some(Ends {{ by: By::{}, after: {}, unless: {} }})",
        camel(&ends.by),
        strs(&ends.after),
        strs(&ends.unless),
    )
}

fn runs(runs: &Runs) -> String {
    format!(
        "Some(Runs {{ language: Code::{}, source: {}, operand: {}, file: {}, stdin: {} }})",
        camel(&runs.language),
        strs(&runs.source),
        runs.operand,
        runs.file,
        runs.stdin,
    )
}
