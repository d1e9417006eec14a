//! The first use in README.md, performed line by line and compared with the page.
//!
//! ```text
//! $ countersign serve & typed into a shell; with `&` it runs in the background
//! agent> git push --force the host runs its hook, because its agent wants to run this
//! # in the browser: … actions of a person there: `open the link`, `see "…"`, `press "…"`
//! anything else the output of the line before, with `…` for unpredictable text
//! ```
//!
//! The host is scripted, and nothing else is: it runs the command that `install` wrote into the
//! settings, the way Claude Code does. The only preparation is a port of its own, so that tests can
//! run beside each other; the page names the usual one.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use countersign_server::Settings;
use serde_json::{Value, json};

use super::super::{PATIENCE, wait};
use super::{Browser, Page, Script, Server, Setup};
use crate::start::{package, program};

/// Not `console`: blocks of that kind are run by `cargo xtask transcripts`, without a browser.
const FENCE: &str = "```shellsession\n";

#[test]
fn the_first_use_in_the_readme_is_what_happens() {
    let page = fs::read_to_string(package().join("../../README.md"));
    let page = page.expect("a README");
    let Some(browser) = Browser::launch() else { return };
    let mut story = Story::begin(browser);
    let steps = steps(block(&page));
    for (at, step) in steps.iter().enumerate() {
        story.act(step, steps.get(at + 1));
    }
    story.end();
}

/// Returns the only such block of a page.
fn block(page: &str) -> &str {
    let mut blocks = page.split(FENCE).skip(1).filter_map(|rest| rest.split_once("```"));
    let (block, _) = blocks.next().expect("a first use");
    assert!(blocks.next().is_none(), "there is more than one first use");
    block
}

/// An action, and its expected output.
#[derive(Debug, PartialEq)]
struct Step<'a> {
    does: Does<'a>,
    says: Vec<&'a str>,
}

#[derive(Debug, PartialEq)]
enum Does<'a> {
    /// A person types a command.
    Types(&'a str),
    /// The agent wants to run a command.
    Wants(&'a str),
    /// A person does something in the browser.
    Browses(&'a str),
}

fn steps(block: &str) -> Vec<Step<'_>> {
    let mut steps: Vec<Step<'_>> = Vec::new();
    for line in block.lines() {
        let does = (line.strip_prefix("$ ").map(Does::Types))
            .or_else(|| line.strip_prefix("agent> ").map(Does::Wants))
            .or_else(|| line.strip_prefix("# in the browser: ").map(Does::Browses));
        match (does, steps.last_mut()) {
            (Some(does), _) => steps.push(Step { does, says: Vec::new() }),
            (None, Some(step)) => step.says.push(line),
            (None, None) => panic!("nobody does anything yet: {line}"),
        }
    }
    steps
}

struct Story {
    page: Option<Page>,
    browser: Browser,
    server: Option<Server>,
    /// The expected output of the server by the end.
    greeting: Vec<String>,
    /// A call of the agent that has not been answered yet.
    call: Option<Child>,
    setup: Setup,
    project: PathBuf,
}

impl Story {
    fn begin(browser: Browser) -> Self {
        let setup = Setup::new().config("server: {listen: \"127.0.0.1:0\"}\n");
        let project = setup.home.0.join("project");
        fs::create_dir(&project).expect("a folder");
        let git = Command::new("git").args(["init", "--quiet"]).arg(&project).status();
        assert!(git.expect("git starts").success());
        let (page, server, greeting, call) = (None, None, Vec::new(), None);
        Self { page, browser, server, greeting, call, setup, project }
    }

    fn act(&mut self, step: &Step<'_>, next: Option<&Step<'_>>) {
        match step.does {
            Does::Types(command) => match command.strip_suffix(" &") {
                Some(command) => return self.serve(command, &step.says),
                None => return self.assert_said(&self.typed(command), &step.says),
            },
            Does::Wants(command) => self.call = Some(self.asks_its_hook(command)),
            Does::Browses(what) => what.split(", ").for_each(|what| self.browse(what)),
        }
        // Before an action of a person, the agent is waiting for it.
        let goes_on = matches!(next, Some(Step { does: Does::Browses(_), .. }));
        match self.call.take() {
            Some(call) if step.says.is_empty() && goes_on => self.call = Some(call),
            Some(call) => self.assert_said(&told(call), &step.says),
            None => self.assert_said("", &step.says),
        }
    }

    fn shell(&self, command: &str) -> Command {
        let mut shell = program("sh", &self.setup.home.0);
        shell.args(["-c", command]);
        shell.current_dir(&self.project).stdin(Stdio::null());
        shell
    }

    /// Runs a command to its end; returns its output.
    fn typed(&self, command: &str) -> String {
        let output = self.shell(&format!("exec 2>&1\n{command}")).output().expect("sh starts");
        assert!(output.status.success(), "{command}: {output:?}");
        String::from_utf8(output.stdout).expect("text")
    }

    /// Starts a server, and waits for its expected output.
    fn serve(&mut self, command: &str, says: &[&str]) {
        let log = File::create(self.setup.home.0.join("log")).expect("a log");
        let also = log.try_clone().expect("a log");
        let mut shell = self.shell(&format!("exec {command}"));
        let mut child = shell.stdout(log).stderr(also).spawn().expect("sh starts");
        let late = Instant::now() + PATIENCE;
        let said = loop {
            let is_over = Instant::now() > late || !matches!(child.try_wait(), Ok(None));
            let said = self.setup.home.log();
            if is_over || said.lines().count() >= says.len() {
                break said;
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        let url = said.lines().find_map(|line| line.strip_prefix("countersign listens on "));
        let url = url.unwrap_or_else(|| panic!("{said}")).to_owned();
        let address = url.strip_prefix("http://").and_then(|address| address.parse().ok());
        let link = said.lines().find_map(|line| line.split_once("/sign-in?link="));
        let link = link.map(|(_, link)| link.to_owned());
        let address = address.expect("an address");
        self.server = Some(Server { child, address, url, link, setup: self.setup.clone() });
        self.greeting = says.iter().map(|line| (*line).to_owned()).collect();
        self.assert_said(&said, says);
    }

    /// Runs the hook as Claude Code does before its agent may run a command.
    fn asks_its_hook(&self, command: &str) -> Child {
        let settings = fs::read(self.setup.home.0.join(".claude/settings.json"));
        let settings: Value = serde_json::from_slice(&settings.expect("settings")).expect("JSON");
        let group = &settings["hooks"]["PreToolUse"][0];
        assert_eq!(group["matcher"], "*", "{settings:#}");
        let hook = &group["hooks"][0];
        let words = hook["args"].as_array().expect("words").iter().filter_map(Value::as_str);
        let mut hook = program(hook["command"].as_str().expect("a program"), &self.setup.home.0);
        hook.args(words);
        hook.env("CLAUDE_PROJECT_DIR", &self.project).current_dir(&self.project);
        hook.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = hook.spawn().expect("the hook starts");
        let payload = json!({
            "session_id": "5ab0c1de", "cwd": self.project, "hook_event_name": "PreToolUse",
            "transcript_path": self.setup.home.0.join(".claude/projects/project/5ab0c1de.jsonl"),
            "permission_mode": "default", "tool_name": "Bash",
            "tool_input": {"command": command, "description": "As the user wished"},
            "tool_use_id": "toolu_01",
        });
        let mut stdin = child.stdin.take().expect("it has an input");
        stdin.write_all(payload.to_string().as_bytes()).expect("it reads");
        child
    }

    fn browse(&mut self, what: &str) {
        let named = |verb: &str| what.strip_prefix(verb)?.strip_suffix('"');
        if what == "open the link" {
            let server = self.server.as_ref().expect("a server runs");
            let link = server.link.as_ref().expect("a link");
            let page = self.browser.page(server, Script::On);
            page.go(&format!("/sign-in?link={link}"));
            self.page = Some(page);
        } else if let Some(words) = named("see \"") {
            self.page().wait(&format!("document.body.innerText.includes({})", json!(words)));
        } else if let Some(label) = named("press \"") {
            if let Some(call) = &mut self.call {
                assert!(matches!(call.try_wait(), Ok(None)), "the agent did not wait");
            }
            self.page().wait(&MARK.replace("LABEL", &json!(label).to_string()));
            self.page().click("[data-story]");
            self.page().wait_gone("[data-story]");
        } else {
            panic!("nobody knows how to do this in a browser: {what}");
        }
    }

    fn page(&self) -> &Page {
        self.page.as_ref().expect("a page is open")
    }

    /// Compares the output with the page, where every home is `/home/you` and every server is at
    /// the usual port.
    #[track_caller]
    fn assert_said(&self, said: &str, written: &[&str]) {
        let home = fs::canonicalize(&self.setup.home.0).expect("a home");
        let mut said = said.replace(home.to_str().expect("a path"), "/home/you");
        if let Some(server) = &self.server {
            said = said.replace(&server.url, &format!("http://127.0.0.1:{}", Settings::PORT));
        }
        let lines: Vec<_> = said.lines().collect();
        let written_text = written.join("\n");
        assert!(tells(written, &lines), "README.md says:\n{written_text}\nbut it is:\n{said}");
    }

    fn end(self) {
        assert!(self.page.is_some() && self.server.is_some(), "nobody answered in a browser");
        let greeting: Vec<_> = self.greeting.iter().map(String::as_str).collect();
        self.assert_said(&self.setup.home.log(), &greeting);
    }
}

/// Marks the only visible button of this name.
const MARK: &str = "(() => {
    const named = [...document.querySelectorAll('button')].filter(button =>
        button.textContent.trim() === LABEL && button.getClientRects().length);
    if (named.length === 1) named[0].dataset.story = '';
    return named.length === 1;
})()";

/// Returns the hook's output: a decision and its reason, or nothing.
fn told(mut call: Child) -> String {
    if wait(&mut call).is_none() {
        call.kill().expect("it can be ended");
        panic!("the agent still waits for a person");
    }
    let output = call.wait_with_output().expect("it has ended");
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    if output.stdout.is_empty() {
        return String::new();
    }
    let said: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let said = &said["hookSpecificOutput"];
    let word = |name: &str| said[name].as_str().unwrap_or_default();
    format!("{}: {}", word("permissionDecision"), word("permissionDecisionReason"))
}

/// Reports whether lines match the page; `…` alone matches any number of them.
fn tells(written: &[&str], said: &[&str]) -> bool {
    match (written, said) {
        ([], said) => said.is_empty(),
        (["…", rest @ ..], said) => (0..=said.len()).any(|skipped| tells(rest, &said[skipped..])),
        ([line, rest @ ..], [first, more @ ..]) => fits(line, first) && tells(rest, more),
        (_, []) => false,
    }
}

/// Reports whether a line matches the page; `…` matches any part of it.
fn fits(written: &str, said: &str) -> bool {
    let Some((before, after)) = written.split_once('…') else { return written == said };
    let Some(rest) = said.strip_prefix(before) else { return false };
    let ends = (0..=rest.len()).filter_map(|at| rest.get(at..));
    ends.into_iter().any(|rest| fits(after, rest))
}

#[test]
fn what_is_untrue_does_not_fit() {
    assert!(fits("link=…", "link=csl_1") && fits("a … c", "a b c") && fits("…", ""));
    assert!(!fits("link=", "link=csl_1") && !fits("a … d", "a b c") && !fits("allow", "allow: x"));
    assert!(tells(&["a", "…", "d"], &["a", "b", "c", "d"]) && tells(&[], &[]));
    assert!(!tells(&["a"], &["a", "b"]) && !tells(&["a", "b"], &["a"]) && !tells(&["a"], &["b"]));
}

#[test]
fn a_story_is_read_line_by_line() {
    let block = block("x\n```shellsession\n$ a &\nb\nagent> c\n# in the browser: d\ne\n```\n");
    let says = |does, says: &[&'static str]| Step { does, says: says.to_vec() };
    let expected = [
        says(Does::Types("a &"), &["b"]),
        says(Does::Wants("c"), &[]),
        says(Does::Browses("d"), &["e"]),
    ];
    assert_eq!(steps(block), expected);
}
