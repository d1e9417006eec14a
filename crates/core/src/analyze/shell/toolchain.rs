//! Code that build, test, package and install tools load: settings, plug-ins and packages from a
//! temporary folder or an address, and folders that they empty.

use super::Walker;
use super::arguments::Arguments;
use super::catalogue::{Code, Program};
use super::value::{Arg, Stream};
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::location;
use crate::verdict::Span;
use crate::words::{self, has};

/// Targets with which a build tool deletes its output.
const CLEANS: &[&str] = &[
    "clean",
    "distclean",
    "mrproper",
    "clobber",
    "maintainer-clean",
    "realclean",
    "uninstall",
    "purge",
    "wipe",
    "reset",
    "nuke",
    "very-clean",
    "veryclean",
    "cleanall",
    "clean-all",
];

impl Walker<'_> {
    /// Records code that such a tool loads from world-writable locations, and folders that it
    /// empties.
    pub(super) fn toolchain(
        &mut self,
        name: &str,
        program: Option<&Program>,
        args: &Arguments<'_>,
        span: Option<Span>,
    ) {
        let Some(program) = program else { return };
        let is_tool = program.own_verbs && !program.loads.is_empty() && program.runs.is_none();
        if is_tool || program.installs.is_some() {
            self.loads_settings(args, span);
            self.cleans_folder(args);
        }
        if program.installs.is_some() {
            self.installs_from_temp(args);
        }
        if is_tool {
            self.source_for_tool(name, args, span);
        }
    }

    /// Records an option that names code, or settings that run code: `--config /tmp/x.js`, `-f
    /// https://…`.
    fn loads_settings(&mut self, args: &Arguments<'_>, span: Option<Span>) {
        let mut before = "";
        for word in args.words() {
            let text = word.text.as_str();
            let (option, value) = match text.split_once('=') {
                Some((option, value)) if option.starts_with('-') => (option, value),
                _ => (before, text),
            };
            before = text;
            if !option.starts_with('-') || !names_settings(option) || value.starts_with('-') {
                continue;
            }
            let tags = location::locate(value, &self.scene_now());
            let is_path = value.starts_with(['/', '~']);
            if is_path && tags.has(Tag::Temp) && !self.made_here(value) && word.is_known() {
                self.note(Fact::new(FactKind::TempProgram, value).at(word.span.or(span)));
            }
            if value.starts_with("https://") || value.starts_with("http://") {
                let usual = super::foreign::address(value)
                    .is_some_and(|host| has(words::VARIABLES_REGISTRIES, host));
                if !usual && !is_project(option) {
                    self.note(Fact::new(FactKind::RemoteCode, value).at(word.span.or(span)));
                }
            }
        }
    }

    /// Records `make BUILD_DIR=~ clean` and `vite build --outDir / --emptyOutDir`.
    fn cleans_folder(&mut self, args: &Arguments<'_>) {
        let cleans = args.operands().iter().any(|word| CLEANS.contains(&word.text.as_str()))
            || args.words().iter().any(|word| word.text.starts_with("--emptyOutDir"));
        if !cleans {
            return;
        }
        let wide = Tags::of(&[
            Tag::HomeRoot,
            Tag::Home,
            Tag::Top,
            Tag::Root,
            Tag::System,
            Tag::WorkspaceRoot,
        ]);
        let mut before = "";
        for word in args.words() {
            let text = word.text.as_str();
            let (key, value) = text.split_once('=').unwrap_or((before, text));
            before = text;
            let is_folder = key.to_ascii_lowercase().contains("dir") || text.contains('=');
            let tags = location::locate(value, &self.scene_now());
            if is_folder && value.starts_with(['/', '~']) && tags.any(wide) {
                self.note_path(FactKind::Delete, &word.saying(value), Tags::of(&[Tag::Recursive]));
            }
        }
    }

    /// Records a package from an untrusted location: `pip install /tmp/x.whl`, `cargo install
    /// --path /tmp/x`.
    fn installs_from_temp(&mut self, args: &Arguments<'_>) {
        let installs = args.operands().iter().take(3).any(|word| {
            matches!(
                word.text.as_str(),
                "install" | "i" | "add" | "localinstall" | "make" | "require"
            )
        }) || args.has_any(&["-i", "-U", "--install", "--install-extension"]);
        if !installs {
            return;
        }
        let mut before = "";
        for word in args.words() {
            let option = std::mem::replace(&mut before, word.text.as_str());
            let tags = location::locate(&word.text, &self.scene_now());
            let is_place = option.starts_with("--") && option != "--path" && option != "--gemfile";
            let is_file = word.text.starts_with("/tmp/") || word.text.starts_with("/var/tmp/");
            if is_file
                && tags.has(Tag::Temp)
                && !is_place
                && !self.made_here(&word.text)
                && !word.taint.has(Tag::Created)
                && !matches!(option, "-t" | "-d" | "-o" | "-r" | "-p")
            {
                self.note(Fact::new(FactKind::TempProgram, word.text.clone()).at(word.span));
            }
        }
    }

    /// Follows source text among the words of a tool: `latexmk -e`, TeX that runs Lua, `sbt 'eval
    /// …'`.
    fn source_for_tool(&mut self, name: &str, args: &Arguments<'_>, span: Option<Span>) {
        if name == "latexmk" {
            for source in args.values(&["-e"]) {
                let content = Stream::known(source.text.clone(), source.taint);
                self.follow_text(Code::Perl, &content, source.span.or(span), &Stream::caller());
            }
        }
        let is_tex = name.ends_with("tex") || matches!(name, "pdftex" | "luatex" | "context");
        for word in args.operands() {
            let runs_tex = is_tex
                && ["\\directlua", "\\write18", "\\openout", "\\latelua", "|\""]
                    .iter()
                    .any(|call| word.text.contains(call));
            let evaluates = matches!(name, "sbt" | "mill") && word.text.starts_with("eval ");
            if runs_tex || evaluates {
                self.given_source(word, span);
            }
        }
    }

    fn given_source(&mut self, word: &Arg, span: Option<Span>) {
        let content = Stream::known(word.text.clone(), word.taint);
        self.follow_text(Code::Other, &content, word.span.or(span), &Stream::caller());
    }
}

/// Reports whether an option names settings, plug-ins or code, by its parts.
fn names_settings(option: &str) -> bool {
    const SHORT: &[&str] = &["-c", "-f", "-F", "-r", "-I", "-s", "-p", "-b", "-t"];
    if SHORT.contains(&option) {
        return true;
    }
    let Some(long) = option.strip_prefix("--").or_else(|| option.strip_prefix('-')) else {
        return false;
    };
    let lower = long.to_ascii_lowercase();
    let parts = || lower.split(['-', '_', '.']);
    let spared =
        ["out", "output", "cache", "log", "report", "base", "temp", "tmp", "target", "store"];
    lower.len() > 2
        && !parts().any(|part| spared.contains(&part))
        && (has(words::OPTIONS_SETTINGS, &lower)
            || parts().any(|part| has(words::OPTIONS_SETTINGS, part)))
}

/// Reports whether an option may name a project's page rather than code: `--project https://…`.
fn is_project(option: &str) -> bool {
    matches!(option, "-p" | "-t" | "-s" | "-c" | "-r" | "-b" | "--project" | "--include" | "--path")
}

#[cfg(test)]
mod tests {
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
    fn code_from_where_anybody_may_put_it_asks() {
        for command in [
            "rollup --config /tmp/rollup.js",
            "bazel --bazelrc=/tmp/rc build //:a",
            "gradle --init-script https://example.com/a.gradle",
            "pip install /tmp/a.whl",
            "make BUILD_DIR=/home/dev clean",
            "vite build --outDir / --emptyOutDir",
            "latexmk -e 'system(\"git push --force\")' a.tex",
        ] {
            assert!(verdict(command) >= Verdict::Confirm, "{command}");
        }
        for command in [
            "cmake -B /tmp/build -S .",
            "pytest --basetemp=/tmp/x --junitxml=/tmp/report.xml",
            "rollup --config rollup.config.js",
            "make BUILD_DIR=build clean",
            "pip install --target /tmp/deps requests",
            "pip install --cache-dir /tmp/cache requests",
        ] {
            assert!(verdict(command) < Verdict::Confirm, "{command}");
        }
    }
}
