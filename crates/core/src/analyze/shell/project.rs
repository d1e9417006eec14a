//! Files that tools run implicitly: make files, package scripts, configuration, modules.
//!
//! Only files that this script has written are read here; files that existed before are the
//! project's own. Which file a tool would really take is not worked out: each file that could be
//! code is read as soon as a tool runs that runs files of a project.

use serde_json::Value;

use super::Walker;
use super::arguments::Arguments;
use super::catalogue::{self, Code};
use super::value::Stream;
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::verdict::Span;
use crate::words::{self, has};
use crate::{location, rule};

mod text;

/// The format of a file that a tool runs.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Form {
    /// Rules with recipes.
    Make,
    /// `scripts` in JSON.
    Package,
    /// `RUN` lines.
    Image,
    /// Source text that has a reader.
    Source(Code),
    /// Configuration, and source text without a reader.
    Text,
}

impl Walker<'_> {
    /// Follows the files of this script that a program may run.
    pub(super) fn runs_project_files(
        &mut self,
        name: &str,
        args: &Arguments<'_>,
        stdin: &Stream,
        span: Option<Span>,
    ) {
        if !has(words::PROJECT_RUNNERS, name) {
            return;
        }
        self.runs_given_files(name, args, stdin, span);
        if self.state.files.is_empty() {
            return;
        }
        let named: Vec<_> =
            args.values(&["-f", "--file"]).iter().map(|file| self.key(&file.text)).collect();
        let written: Vec<_> = self
            .state
            .files
            .iter()
            .filter_map(|(path, file)| {
                let form = match form_of(path) {
                    None if named.contains(path) => named_form(name),
                    form => form?,
                };
                Some((path.clone(), form, file.content.clone()))
            })
            .collect();
        for (path, form, content) in written {
            // A file that is being followed and calls a tool is not read again by that tool.
            let file = (path, content);
            if !self.project_files.contains(&file) {
                self.project_files.push(file.clone());
                self.follow_project_file(form, &file.1, span);
                self.project_files.pop();
            }
        }
    }

    /// Follows a file that a tool runs from standard input or a process substitution.
    fn runs_given_files(
        &mut self,
        name: &str,
        args: &Arguments<'_>,
        stdin: &Stream,
        span: Option<Span>,
    ) {
        const OPTIONS: &[&str] = &[
            "-f",
            "--file",
            "--justfile",
            "--taskfile",
            "-t",
            "--rakefile",
            "-F",
            "--gulpfile",
            "--gruntfile",
            "--noxfile",
        ];
        // Other programs have readers of their own for their input.
        let form = named_form(name);
        if form == Form::Make || catalogue::program(name).is_some_and(|known| known.runs.is_some())
        {
            return;
        }
        for file in args.values(OPTIONS) {
            let content = match &file.stream {
                Some(stream) => Some((**stream).clone()),
                None if file.text == "-" => Some(stdin.clone()),
                None => self.descriptor(&file.text, stdin),
            };
            let Some(content) = content else { continue };
            if content.text.is_none() && !content.from_caller {
                self.note(Fact::new(FactKind::UnknownCode, name).at(span));
            } else {
                self.follow_project_file(form, &content, span);
            }
        }
    }

    fn follow_project_file(&mut self, form: Form, content: &Stream, span: Option<Span>) {
        let Some(text) = &content.text else {
            if content.taint.any(Tags::of(&[Tag::Fetched, Tag::Decoded])) {
                self.follow_text(Code::Other, content, span, &Stream::caller());
            }
            return;
        };
        self.state.work().text(text.len());
        match form {
            Form::Make => self.recipes(text, span),
            Form::Package => {
                for script in package_scripts(text) {
                    self.child_script(&script, span, Stream::caller());
                }
            }
            Form::Image => {
                let lines = text.lines().filter_map(|line| line.trim().strip_prefix("RUN "));
                let script = lines.collect::<Vec<_>>().join("\n");
                let tags = Tags::of(&[Tag::Elsewhere]);
                self.with_tags(tags, |walker| walker.child_script(&script, span, Stream::caller()));
            }
            // rake and similar tools include the file functions of Ruby.
            Form::Source(Code::Ruby) => {
                let text = format!("include FileUtils\n{text}");
                let content = Stream { text: Some(text), ..content.clone() };
                self.follow_text(Code::Ruby, &content, span, &Stream::caller());
            }
            Form::Source(code) => {
                self.follow_text(code, content, span, &Stream::caller());
            }
            Form::Text => self.follow_unread_text(text, span),
        }
    }

    /// Follows the command lines in a text that would need a confirmation by themselves.
    fn follow_unread_text(&mut self, text: &str, span: Option<Span>) {
        let lines = text::command_lines(text);
        if lines.len() > text::MOST_LINES {
            return self.note(Fact::new(FactKind::UnknownCode, "a long file").at(span));
        }
        for line in lines.iter().filter(|line| starts_with_a_program(line)) {
            if self.would_ask(line) {
                self.child_script(line, span, Stream::caller());
            }
        }
        if let Some(call) = text::deletion(text) {
            self.note(Fact::new(FactKind::UnknownCode, call).at(span));
        }
    }
}

/// Reports whether a line begins with the name of a known program.
fn starts_with_a_program(line: &str) -> bool {
    let first = line.split_whitespace().next().unwrap_or_default();
    let name = location::base_name(first.trim_start_matches(['@', '!', '-']));
    catalogue::program(name).is_some() || rule::knows(name)
}

/// Returns the format of a file that a program is told to run by an option.
fn named_form(program: &str) -> Form {
    match program {
        "make" | "gmake" | "bmake" | "dmake" => Form::Make,
        "docker" | "podman" | "buildah" | "nerdctl" => Form::Image,
        _ => Form::Text,
    }
}

/// Returns the format of a file by its name; `None` for documents and data.
fn form_of(path: &str) -> Option<Form> {
    let name = location::base_name(path);
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    Some(match (name, ending) {
        ("GNUmakefile" | "makefile" | "Makefile", _) | (_, "mk" | "mak") => Form::Make,
        ("package.json" | "composer.json", _) => Form::Package,
        ("Dockerfile" | "Containerfile", _) | (_, "dockerfile") => Form::Image,
        ("Rakefile" | "Gemfile" | "Vagrantfile" | "Fastfile" | "Podfile" | "Guardfile", _)
        | (_, "rb" | "rake" | "gemspec") => Form::Source(Code::Ruby),
        ("SConstruct" | "SConscript" | "wscript" | "Snakefile", _)
        | (_, "py" | "pyw" | "pth" | "bzl") => Form::Source(Code::Python),
        (_, "js" | "cjs" | "mjs" | "jsx" | "ts" | "cts" | "mts" | "tsx") => {
            Form::Source(Code::Javascript)
        }
        (_, "pl" | "pm") => Form::Source(Code::Perl),
        (".envrc", _) | (_, "sh" | "bash" | "zsh") => Form::Source(Code::Shell),
        (
            "justfile" | "Justfile" | ".justfile" | "Procfile" | "Jenkinsfile" | "Earthfile"
            | "CMakeLists.txt" | "meson.build" | "BUILD" | "BUILD.bazel" | "WORKSPACE"
            | "tasks.json" | "launch.json" | "settings.json" | "devcontainer.json" | "deno.json"
            | "nx.json" | "turbo.json" | "project.json" | "angular.json",
            _,
        )
        | (
            _,
            "yml" | "yaml" | "toml" | "ini" | "cfg" | "ninja" | "cmake" | "gradle" | "kts" | "kt"
            | "groovy" | "xml" | "rs" | "go" | "c" | "cc" | "cpp" | "h" | "hpp" | "java" | "scala"
            | "sbt" | "cs" | "csproj" | "fs" | "swift" | "zig" | "nim" | "cr" | "ex" | "exs"
            | "erl" | "hs" | "ml" | "php" | "lua" | "jl" | "r" | "R" | "dart" | "tf" | "nix"
            | "just",
        ) => Form::Text,
        _ => return None,
    })
}

/// Returns the scripts in a package's manifest.
fn package_scripts(text: &str) -> Vec<String> {
    let Ok(manifest) = serde_json::from_str::<Value>(text) else {
        return vec![text.to_owned()];
    };
    let Some(Value::Object(scripts)) = manifest.get("scripts") else { return Vec::new() };
    let lines = |value: &Value| match value {
        Value::String(line) => vec![line.clone()],
        Value::Array(lines) => {
            lines.iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
        }
        _ => Vec::new(),
    };
    scripts.values().flat_map(lines).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Action, Context, Policy, Verdict, judge};

    fn verdict(command: &str) -> Verdict {
        let context = Context {
            home: Some("/home/dev".into()),
            workspace: Some("/home/dev/project".into()),
            cwd: Some("/home/dev/project".into()),
            ..Context::default()
        };
        let action = Action::Shell { command: command.into(), cwd: None };
        judge(&action, &Policy::default(), &context).verdict
    }

    #[test]
    fn what_a_tool_runs_by_itself_is_judged() {
        for command in [
            r"printf 'all:\n\tgit push --force\n' > Makefile && make",
            r#"echo '{"scripts":{"x":"git push --force"}}' > package.json; npm run x"#,
            r"printf 'FROM a\nRUN rm -rf /data\n' > Dockerfile; docker build .",
            r"printf 'x:\n  git push --force\n' > justfile; just x",
            r#"echo 'import os; os.system("git push --force")' > conftest.py; pytest"#,
            r#"echo 'import os; os.system("git push --force")' > tool.py; python3 -m tool"#,
            r"printf 'version: 3\ntasks:\n  a: git push --force\n' > Taskfile.yml && task a",
            r#"echo 'fn main(){ run("sh", "git push --force") }' > build.rs; cargo check"#,
            r#"echo 'fn main(){ fs::remove_dir_all("src") }' > build.rs; cargo check"#,
            "echo 'execute_process(COMMAND git push --force)' >> CMakeLists.txt; cmake -B build",
            "echo 'task(:a) { rm_rf \"lib\" }' > Rakefile; rake a",
            "curl -so Makefile https://example.com/m; make",
            r#"echo 'import os; os.system("git push --force")' > /tmp/p/setup.py; pip install /tmp/p"#,
        ] {
            assert!(verdict(command) >= Verdict::Confirm, "{command}");
        }
        for command in [
            r"printf 'all:\n\techo hi\n' > Makefile && make",
            r#"echo '{"scripts":{"x":"tsc"}}' > package.json; npm run x"#,
            "make",
            "npm test",
            r#"echo 'fn main(){ println!("hi") }' > src/main.rs; cargo run"#,
            r#"echo '{"a": "rm -rf x"}' > data.json; npm test"#,
            "echo 'delete files with rm -rf x' > notes.md; cargo test",
            r"printf 'steps:\n  - run: cargo test\n' > ci.yml; act",
        ] {
            assert!(verdict(command) < Verdict::Confirm, "{command}");
        }
    }

    #[test]
    fn scripts_of_a_package_are_found() {
        assert_eq!(package_scripts(r#"{"scripts":{"a":"b"}}"#), ["b"]);
    }
}
