//! Files that tools run without being told: make files, package scripts, hooks of test runners.
//!
//! Only what this very script has written is read here; files that were there before are the
//! project's own.

use serde_json::Value;

use super::Walker;
use super::arguments::Arguments;
use super::catalogue::Code;
use super::value::{Arg, Stream};
use crate::fact::{Tag, Tags};
use crate::verdict::Span;

/// The language of a file that a tool runs.
#[derive(Clone, Copy)]
enum Form {
    /// Rules with recipes.
    Make,
    /// `scripts` in JSON.
    Package,
    /// `RUN` lines.
    Image,
    /// Commands on lines of their own, indented or after a key.
    Lines,
    /// Source text.
    Source(Code),
}

/// Tools and the files they run when none is named.
const FILES: &[(&[&str], &[&str], Form)] = &[
    (&["make", "gmake", "bmake"], &["GNUmakefile", "makefile", "Makefile"], Form::Make),
    (
        &["npm", "yarn", "pnpm", "bun", "npx", "nx", "lerna", "turbo"],
        &["package.json"],
        Form::Package,
    ),
    (&["composer"], &["composer.json"], Form::Package),
    (&["docker", "podman", "buildah", "nerdctl"], &["Dockerfile", "Containerfile"], Form::Image),
    (&["just"], &["justfile", "Justfile", ".justfile"], Form::Lines),
    (&["task"], &["Taskfile.yml", "Taskfile.yaml"], Form::Lines),
    (&["ninja"], &["build.ninja"], Form::Lines),
    (&["ant"], &["build.xml"], Form::Source(Code::Other)),
    (&["cmake"], &["CMakeLists.txt"], Form::Source(Code::Other)),
    (&["rake"], &["Rakefile"], Form::Source(Code::Ruby)),
    (&["bundle", "gem"], &["Gemfile"], Form::Source(Code::Ruby)),
    (&["vagrant"], &["Vagrantfile"], Form::Source(Code::Ruby)),
    (&["scons"], &["SConstruct"], Form::Source(Code::Python)),
    (&["pip", "pip3", "uv"], &["setup.py"], Form::Source(Code::Python)),
    (&["pytest", "tox", "py.test"], &["conftest.py"], Form::Source(Code::Python)),
    (
        &["python", "python3", "pypy3"],
        &["sitecustomize.py", "usercustomize.py"],
        Form::Source(Code::Python),
    ),
    (&["nox"], &["noxfile.py"], Form::Source(Code::Python)),
    (&["invoke", "fab"], &["tasks.py", "fabfile.py"], Form::Source(Code::Python)),
    (&["gulp"], &["gulpfile.js"], Form::Source(Code::Javascript)),
    (&["grunt"], &["Gruntfile.js"], Form::Source(Code::Javascript)),
    (&["webpack"], &["webpack.config.js"], Form::Source(Code::Javascript)),
    (&["eslint"], &[".eslintrc.js", "eslint.config.js"], Form::Source(Code::Javascript)),
    (&["jest"], &["jest.config.js"], Form::Source(Code::Javascript)),
    (&["lefthook"], &["lefthook.yml"], Form::Lines),
    (&["direnv"], &[".envrc"], Form::Source(Code::Shell)),
];

impl Walker<'_> {
    /// Follows what a tool runs from files that this script has written.
    pub(super) fn runs_project_files(
        &mut self,
        name: &str,
        args: &Arguments<'_>,
        span: Option<Span>,
    ) {
        if self.state.files.is_empty() {
            return;
        }
        if name.starts_with("python") {
            self.imports(args, span);
        }
        for (_, files, form) in FILES.iter().filter(|(tools, ..)| tools.contains(&name)) {
            let folder = args.value(&["-C", "--directory", "--prefix", "--cwd"]);
            let folder = folder.map_or(String::new(), |folder| format!("{}/", folder.text));
            let mut named = args.values(&["-f", "--file"]);
            named.extend(files.iter().map(|file| Arg::literal(format!("{folder}{file}"))));
            for file in named {
                let content = self.content_of(&file);
                if let Some(text) = content.text.filter(|_| self.made_here(&file.text)) {
                    self.run_project_file(*form, &text, content.taint, span);
                }
            }
        }
    }

    /// Modules that inline source imports and this script has written.
    fn imports(&mut self, args: &Arguments<'_>, span: Option<Span>) {
        for source in args.values(&["-c"]) {
            let words: Vec<_> = source
                .text
                .split(|char: char| !char.is_alphanumeric() && char != '_' && char != '.')
                .filter(|word| !word.is_empty())
                .collect();
            let after = words.windows(2).filter_map(|pair| match pair {
                ["import" | "from", module] => Some((*module).to_owned()),
                _ => None,
            });
            for module in after.collect::<Vec<_>>() {
                self.own_module(&module, &Stream::caller(), span);
            }
        }
    }

    fn run_project_file(&mut self, form: Form, text: &str, taint: Tags, span: Option<Span>) {
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
            Form::Lines => {
                for command in text.lines().filter_map(command_of_line) {
                    self.child_script(command, span, Stream::caller());
                }
            }
            Form::Source(code) => {
                let content = Stream::known(text.to_owned(), taint);
                self.run_text(code, &content, span, &Stream::caller());
            }
        }
    }
}

/// The scripts in a package's manifest.
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

/// `    rm x`, `  - rm x`, `  command = rm x`, `    cmds: [rm x]`.
fn command_of_line(line: &str) -> Option<&str> {
    let trimmed = line.trim_start();
    if trimmed.len() == line.len() {
        return None;
    }
    let value = ["command =", "run:", "cmd:", "cmds:", "- cmd:"]
        .iter()
        .find_map(|key| trimmed.strip_prefix(key))
        .unwrap_or(trimmed);
    let value = value.trim_start_matches(['-', ' ', '[', '"', '\'', '@']);
    let value = value.trim_end_matches([']', '"', '\'', ' ']);
    (!value.is_empty() && !value.ends_with(':')).then_some(value)
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
        ] {
            assert!(verdict(command) >= Verdict::Confirm, "{command}");
        }
        for command in [
            r"printf 'all:\n\techo hi\n' > Makefile && make",
            r#"echo '{"scripts":{"x":"tsc"}}' > package.json; npm run x"#,
            "make",
            "npm test",
        ] {
            assert!(verdict(command) < Verdict::Confirm, "{command}");
        }
    }

    #[test]
    fn commands_are_found_on_their_lines() {
        assert_eq!(command_of_line("    - rm x"), Some("rm x"));
        assert_eq!(command_of_line("  command = rm x"), Some("rm x"));
        assert_eq!(command_of_line("x:"), None);
        assert_eq!(package_scripts(r#"{"scripts":{"a":"b"}}"#), ["b"]);
    }
}
