//! Checks that the core guards every path that a host's plan names: a new host whose paths are not
//! in the core's `guarded/hosts.yaml` fails here.

use std::path::{Path, PathBuf};

use countersign_core::{Action, Context, Policy, Verdict, judge};

use super::HOSTS;
use super::install::{Installed, Scope};

const HOME: &str = "/home/user";
const PROJECT: &str = "/home/user/project";

fn installed(scope: Scope) -> Installed<'static> {
    Installed {
        scope,
        home: Some(Path::new(HOME)),
        project: Path::new(PROJECT),
        root: Path::new("/"),
        program: "/usr/local/bin/countersign",
        seconds: 150,
    }
}

fn verdict(action: &Action) -> Verdict {
    let context = Context {
        home: Some(HOME.to_owned()),
        workspace: Some(PROJECT.to_owned()),
        cwd: Some(PROJECT.to_owned()),
        host_settings: crate::context_options::host_settings(),
        ..Context::default()
    };
    judge(action, &Policy::default(), &context).verdict
}

fn shell(command: String) -> Verdict {
    verdict(&Action::Shell { command, cwd: None })
}

/// Actions that change a path, by shell and by file tools.
fn changes(path: &str) -> Vec<Action> {
    let quoted = path.replace(' ', "\\ ");
    let commands = [
        format!("echo x > {quoted}"),
        format!("rm -f {quoted}"),
        format!("mv {quoted} /tmp/x"),
        format!("chmod 000 {quoted}"),
        format!("ln -sf /dev/null {quoted}"),
        format!("cp /dev/null {quoted}"),
    ];
    let shell = commands.map(|command| Action::Shell { command, cwd: None });
    let path = || path.to_owned();
    let write = Action::FileWrite { path: path(), content: None };
    shell.into_iter().chain([write, Action::FileDelete { path: path() }]).collect()
}

fn planned() -> Vec<(&'static str, PathBuf)> {
    let scopes =
        |host: &'static dyn super::Host| host.scopes().iter().map(move |scope| (host, *scope));
    let all = HOSTS.iter().copied().flat_map(scopes);
    let plans = all.flat_map(|(host, scope)| {
        let changes = host.plan(&installed(scope)).expect("there is a home folder");
        changes.into_iter().map(|change| (host.name(), change.path))
    });
    plans.collect()
}

#[test]
fn every_path_of_every_plan_is_guarded() {
    let paths = planned();
    assert!(paths.len() > HOSTS.len());
    for (host, path) in &paths {
        let path = path.to_str().expect("plans are text");
        for action in changes(path) {
            assert!(verdict(&action) >= Verdict::Confirm, "{host}: {action:?}");
        }
        let quoted = path.replace(' ', "\\ ");
        let folder = quoted.rsplit_once('/').expect("plans are absolute").0;
        for command in [format!("mv {folder} /tmp/x"), format!("chmod -R 000 {folder}")] {
            assert!(shell(command.clone()) >= Verdict::Confirm, "{host}: {command}");
        }
    }
}

#[test]
fn every_file_that_names_servers_is_guarded() {
    for host in HOSTS {
        for scope in host.scopes() {
            for servers in host.servers(&installed(*scope)).expect("there is a home folder") {
                let path = servers.path.to_str().expect("plans are text");
                for action in changes(path) {
                    assert!(verdict(&action) >= Verdict::Confirm, "{}: {action:?}", host.name());
                }
            }
        }
    }
}

#[test]
fn taking_a_users_or_the_machines_hook_away_is_blocked() {
    for (host, path) in planned().iter().filter(|(_, path)| !path.starts_with(PROJECT)) {
        let path = path.to_str().expect("plans are text").replace(' ', "\\ ");
        for command in [format!("rm -f {path}"), format!("mv {path} /tmp/x")] {
            assert_eq!(shell(command.clone()), Verdict::Block, "{host}: {command}");
        }
    }
}
