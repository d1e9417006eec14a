//! Facts that need access to the disk: the target of a path's links, and git's knowledge of it.
//!
//! Used for one action at a time, never for a batch. Reads names and links; only git reads
//! contents, to hash them. Omits facts that it cannot establish: a missing fact never makes a
//! verdict milder.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use countersign_core::analyze::{self, Analysis, UNKNOWN};
use countersign_core::context::PathFacts;
use countersign_core::fact::{Fact, FactKind, Tag};
use countersign_core::location::{self, Scene};
use countersign_core::{Action, Context};

use crate::git;

/// Further paths are not looked up: they are judged by their names.
const MOST_PATHS: usize = 1000;
/// Further folders are not tried for a relative path.
const MOST_FOLDERS: usize = 4;
/// The most paths about which git is asked: each costs a few processes.
const MOST_GIT_PATHS: usize = 4;
/// The most folders and files of which more than the name is looked at.
const MOST_LOOKED_INTO: usize = 32;
/// The number of links that Linux follows before it gives up.
const MOST_LINKS: usize = 40;

/// A path that an action touches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Touched {
    /// Absolute, with links unresolved.
    path: String,
    last: Last,
    change: Change,
}

/// The treatment of a link at the very end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    /// It is followed: reading and writing act on its target.
    Follow,
    /// The link itself is acted on: deleting a link leaves its target alone.
    Keep,
}

/// The effect on existing data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    /// They would be deleted or changed.
    Loses,
    /// They stay as they are.
    Keeps,
}

/// Returns every path that an action names, as far as its text shows.
pub(crate) fn touched(action: &Action, context: &Context) -> Vec<Touched> {
    let scene = scene_of(action, context);
    let analysis = match action {
        Action::FileRead { path } => return named(path, FactKind::Read, &scene),
        Action::FileWrite { path, .. } => return named(path, FactKind::Write, &scene),
        Action::FileDelete { path } => return named(path, FactKind::Delete, &scene),
        Action::FileList { path } => return named(path, FactKind::List, &scene),
        _ => analyzed(action, &scene),
    };
    let mut touched = Vec::new();
    for cwd in folders(&analysis, &scene) {
        let scene = Scene { cwd: Some(&cwd), ..scene };
        for fact in analysis.facts.iter().filter(|fact| !is_elsewhere(fact)) {
            if touched.len() >= MOST_PATHS {
                return touched;
            }
            for path in named(&fact.subject, fact.kind, &scene) {
                if !touched.contains(&path) {
                    touched.push(path);
                }
            }
        }
    }
    touched
}

fn scene_of<'a>(action: &'a Action, context: &'a Context) -> Scene<'a> {
    let scene = Scene::new(context, &[]);
    match action {
        Action::Shell { cwd: Some(cwd), .. } => Scene { cwd: Some(cwd), ..scene },
        _ => scene,
    }
}

fn analyzed(action: &Action, scene: &Scene<'_>) -> Analysis {
    match action {
        Action::Shell { command, .. } => analyze::shell::analyze(command, scene),
        Action::Code { language, source, dialect } => {
            analyze::code::analyze(*language, source, dialect.as_deref(), scene)
        }
        _ => Analysis::default(),
    }
}

/// Files and folders that an action writes or creates.
#[derive(Debug, Default)]
pub(crate) struct Written {
    pub(crate) paths: Vec<PathBuf>,
    /// True when these are all of them.
    pub(crate) all_known: bool,
}

/// Returns the paths that an action writes or creates, as far as its text names them: a relative
/// path counts only while the action stays in one folder.
pub(crate) fn written(action: &Action, context: &Context) -> Written {
    let scene = scene_of(action, context);
    if let Action::FileWrite { path, .. } = action {
        let paths = one(path, &scene).into_iter().collect::<Vec<_>>();
        return Written { all_known: !paths.is_empty(), paths };
    }
    let analysis = analyzed(action, &scene);
    let stays = folders(&analysis, &scene).len() == 1;
    let mut written = Written { all_known: true, ..Written::default() };
    let kinds = [FactKind::Write, FactKind::Append, FactKind::Create];
    for fact in analysis.facts.iter().filter(|fact| kinds.contains(&fact.kind)) {
        let is_clear = stays || fact.subject.starts_with('/');
        match one(&fact.subject, &scene).filter(|_| is_clear && !is_elsewhere(fact)) {
            Some(path) => written.paths.push(path),
            None => written.all_known &= is_elsewhere(fact),
        }
    }
    written.paths.truncate(MOST_PATHS);
    written
}

/// The paths that an action moves.
#[derive(Debug)]
pub(crate) enum Moved {
    Nothing,
    These(Vec<PathBuf>),
    /// They cannot be established.
    Unknown,
}

/// Returns the paths that an action moves.
pub(crate) fn moved(action: &Action, context: &Context) -> Moved {
    let scene = scene_of(action, context);
    let analysis = analyzed(action, &scene);
    let mut moves = analysis.facts.iter().filter(|fact| fact.kind == FactKind::Move).peekable();
    if moves.peek().is_none() {
        return Moved::Nothing;
    }
    let stays = folders(&analysis, &scene).len() == 1;
    let paths = moves.map(|fact| {
        let is_clear = stays || fact.subject.starts_with('/');
        one(&fact.subject, &scene).filter(|_| is_clear && !is_elsewhere(fact))
    });
    paths.collect::<Option<Vec<_>>>().map_or(Moved::Unknown, Moved::These)
}

/// The one absolute path that a text names.
fn one(path: &str, scene: &Scene<'_>) -> Option<PathBuf> {
    let found = named(path, FactKind::Write, scene).into_iter().next()?;
    // An unknown part of a path is shown as an ellipsis.
    (!found.path.contains('…')).then(|| PathBuf::from(found.path))
}

/// Returns every folder in which the action may be when it names a path: the first one, and those
/// it changes to. A fact does not say which, so each is tried; a fact is stored under the full
/// path, where a wrong guess does no harm.
fn folders(analysis: &Analysis, scene: &Scene<'_>) -> Vec<String> {
    let mut folders = vec![location::absolute(".", scene)];
    for command in &analysis.commands {
        if matches!(command.program.as_str(), "cd" | "pushd")
            && let Some(to) = command.operands().next()
            && folders.len() < MOST_FOLDERS
        {
            let scene = Scene { cwd: folders.last().map(String::as_str), ..*scene };
            let folder = location::absolute(to, &scene);
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        }
    }
    folders
}

/// Adds the targets of links to the context.
pub(crate) fn follow_links(context: &mut Context, touched: &[Touched]) {
    for Touched { path, last, .. } in touched {
        if let Some(real) = resolve(Path::new(path), *last).and_then(|real| into_text(&real))
            && real != *path
        {
            facts_of(context, path).resolves_to = Some(real);
        }
    }
}

/// Adds git's knowledge of the paths that could be lost; reports whether there was any.
pub(crate) fn ask_git(context: &mut Context, touched: &[Touched]) -> bool {
    let workspace = context.workspace.clone().unwrap_or_default();
    let mut learned = false;
    let lost = touched.iter().filter(|touched| touched.change == Change::Loses);
    for Touched { path, .. } in lost.take(MOST_GIT_PATHS) {
        // Below the workspace, but not the workspace itself, which contains its `.git`.
        if Path::new(path).parent().is_none_or(|parent| !parent.starts_with(&workspace)) {
            continue;
        }
        let known = git::look(Path::new(path), Path::new(&workspace));
        if known.tracked_clean || known.ignored {
            let facts = facts_of(context, path);
            facts.tracked_clean = known.tracked_clean;
            facts.ignored = known.ignored;
            learned = true;
        }
    }
    learned
}

/// Adds which of the folders that would be deleted are empty; reports whether there are any.
pub(crate) fn look_inside(context: &mut Context, touched: &[Touched]) -> bool {
    let mut learned = false;
    let lost = touched.iter().filter(|touched| touched.last == Last::Keep);
    for Touched { path, .. } in lost.take(MOST_LOOKED_INTO) {
        let is_empty = match std::fs::read_dir(path) {
            Ok(mut entries) => entries.next().is_none(),
            Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        };
        if is_empty {
            facts_of(context, path).empty = true;
            learned = true;
        }
    }
    learned
}

/// Adds which of the paths that would be deleted the agent made in this session; reports whether
/// there are any. Adds none where the same action moves something that existed before. `is_own`
/// says whether a path is on record as made in this session.
pub(crate) fn ask_session(
    context: &mut Context,
    touched: &[Touched],
    action: &Action,
    is_own: &dyn Fn(&Path) -> bool,
) -> bool {
    let brings = match moved(action, context) {
        Moved::Nothing => false,
        Moved::These(moved) => !moved.iter().all(|path| is_own(path)),
        Moved::Unknown => true,
    };
    if brings {
        return false;
    }
    let workspace = context.workspace.clone().unwrap_or_default();
    let lost = touched.iter().filter(|touched| touched.last == Last::Keep);
    let own: Vec<String> = lost
        .take(MOST_LOOKED_INTO)
        .map(|touched| touched.path.clone())
        .filter(|path| is_own(Path::new(path)))
        .filter(|path| git::knows_nothing_of(Path::new(path), Path::new(&workspace)))
        .collect();
    for path in &own {
        facts_of(context, path).made_in_session = true;
    }
    !own.is_empty()
}

/// Assumes that git has everything that could be lost; reports whether that changes anything.
pub(crate) fn suppose_tracked(context: &mut Context, touched: &[Touched]) -> bool {
    let mut new = false;
    for Touched { path, .. } in touched.iter().filter(|path| path.change == Change::Loses) {
        let facts = facts_of(context, path);
        new |= !facts.tracked_clean;
        facts.tracked_clean = true;
    }
    new
}

fn facts_of<'a>(context: &'a mut Context, path: &str) -> &'a mut PathFacts {
    context.paths.entry(path.to_owned()).or_default()
}

fn is_elsewhere(fact: &Fact) -> bool {
    [Tag::Remote, Tag::Elsewhere, Tag::Stream].iter().any(|tag| fact.tags.has(*tag))
}

/// The path of a fact, if it names one that can be looked up.
fn named(path: &str, kind: FactKind, scene: &Scene<'_>) -> Vec<Touched> {
    let (last, change) = match kind {
        FactKind::Read | FactKind::List | FactKind::Chmod | FactKind::Chown | FactKind::Link => {
            (Last::Follow, Change::Keeps)
        }
        FactKind::Write | FactKind::Append => (Last::Follow, Change::Loses),
        FactKind::Delete | FactKind::Move => (Last::Keep, Change::Loses),
        _ => return Vec::new(),
    };
    let path = location::absolute(path, scene);
    let cannot_be_one = |char| matches!(char, '*' | '?' | '[' | '\0' | '\n' | UNKNOWN);
    if !path.starts_with('/') || path.contains(cannot_be_one) || is_stream(&path) {
        return Vec::new();
    }
    vec![Touched { path, last, change }]
}

/// Reports whether a path is a device such as `/dev/stdin`, a link into `/proc` that leads to a
/// file of the caller's.
fn is_stream(path: &str) -> bool {
    matches!(path, "/dev/stdin" | "/dev/stdout" | "/dev/stderr" | "/dev/tty" | "/dev/null")
        || path.starts_with("/dev/fd/")
}

/// Resolves every link of a path, whether or not its target exists.
fn resolve(path: &Path, last: Last) -> Option<PathBuf> {
    let mut rest: VecDeque<OsString> = parts(path).collect();
    let mut real = PathBuf::from("/");
    let mut links = 0;
    while let Some(part) = rest.pop_front() {
        if part == ".." {
            real.pop();
            continue;
        }
        let next = real.join(&part);
        let kept = last == Last::Keep && rest.is_empty();
        // Links in /proc depend on the process that reads them; the name is enough.
        let target = if kept || next.starts_with("/proc/") { None } else { next.read_link().ok() };
        let Some(target) = target else {
            real = next;
            continue;
        };
        links += 1;
        if links > MOST_LINKS {
            return None;
        }
        if target.is_absolute() {
            real = PathBuf::from("/");
        }
        for part in parts(&target).collect::<Vec<_>>().into_iter().rev() {
            rest.push_front(part);
        }
    }
    Some(real)
}

fn parts(path: &Path) -> impl Iterator<Item = OsString> + '_ {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    })
}

fn into_text(path: &Path) -> Option<String> {
    path.to_str().map(str::to_owned)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use countersign_core::analyze::Invocation;

    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().canonicalize().unwrap();
        let folder = folder.join(format!("countersign-facts-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn context_in(folder: &Path) -> Context {
        let folder = folder.to_str().unwrap().to_owned();
        Context { cwd: Some(folder.clone()), workspace: Some(folder), ..Context::default() }
    }

    #[test]
    fn a_link_is_followed_to_where_it_leads_even_if_nothing_is_there() {
        let folder = folder("link");
        symlink("/no/such/place", folder.join("dangling")).unwrap();
        symlink("dangling", folder.join("twice")).unwrap();
        symlink("..", folder.join("up")).unwrap();
        let to = |name: &str| resolve(&folder.join(name), Last::Follow).unwrap();
        assert_eq!(to("twice/x"), Path::new("/no/such/place/x"));
        assert_eq!(to("up/x"), folder.parent().unwrap().join("x"));
        assert_eq!(to("plain"), folder.join("plain"));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn links_that_go_round_lead_nowhere() {
        let folder = folder("round");
        symlink("b", folder.join("a")).unwrap();
        symlink("a", folder.join("b")).unwrap();
        assert_eq!(resolve(&folder.join("a"), Last::Follow), None);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn writing_follows_the_last_link_and_deleting_does_not() {
        let folder = folder("last");
        symlink("/etc/hosts", folder.join("hosts")).unwrap();
        let path = "hosts".to_owned();
        let leads = |action: &Action| {
            let mut context = context_in(&folder);
            let touched = touched(action, &context);
            follow_links(&mut context, &touched);
            context.paths.into_values().next().and_then(|facts| facts.resolves_to)
        };
        let write = Action::FileWrite { path: path.clone(), content: None };
        assert_eq!(leads(&write).as_deref(), Some("/etc/hosts"));
        assert_eq!(leads(&Action::FileDelete { path }), None);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_relative_path_is_looked_for_wherever_the_script_goes() {
        let goes = |to: &str| Invocation {
            program: "cd".to_owned(),
            words: vec![to.to_owned()],
            operands: vec![0],
            span: None,
            origin: None,
        };
        let commands = vec![goes("src"), goes("../docs"), goes("/srv")];
        let analysis = Analysis { commands, facts: Vec::new() };
        let context = context_in(Path::new("/work"));
        let found = folders(&analysis, &Scene::new(&context, &[]));
        assert_eq!(found, ["/work", "/work/src", "/work/docs", "/srv"]);
    }

    #[test]
    fn standard_streams_are_not_looked_through() {
        let action = Action::FileRead { path: "/dev/stdin".to_owned() };
        assert_eq!(touched(&action, &Context::default()), []);
    }
}
