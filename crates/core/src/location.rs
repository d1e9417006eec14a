//! The location of a path and the kind of file there, from its text alone.
//!
//! Purely lexical: facts that need a look at the disk (symlinks, git) come in with the [`Context`].

pub(crate) use self::own_file::matches;
use std::borrow::Cow;

use crate::analysis::UNKNOWN;
use crate::context::Context;
use crate::fact::{Tag, Tags};

mod glob;
mod kernel;
mod known_paths;
mod own_file;
mod secret;
mod work;

pub(crate) use work::{holds_data, is_source, is_work};

/// The circumstances in which a path is interpreted.
#[derive(Debug, Clone, Copy)]
pub struct Scene<'a> {
    /// The circumstances of the action.
    pub context: &'a Context,
    /// The folder that relative paths start from, when known.
    pub cwd: Option<&'a str>,
    /// Paths the user named as sensitive.
    pub sensitive: &'a [String],
    /// The number of nested languages: a script in a string in a script.
    pub depth: u8,
    /// The amount of detail to collect.
    pub detail: Detail,
}

/// The amount of detail that an analyzer collects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Detail {
    /// The facts that rules need.
    #[default]
    Facts,
    /// Also the circumstances, for showing the effects.
    Circumstances,
}

/// The most languages nested in one another; deeper text is not followed.
pub const MOST_LANGUAGES: u8 = 12;

/// The home folder when it is unknown: a user cannot be called `~`, so a path that somebody wrote
/// is never taken for it.
pub const UNKNOWN_HOME: &str = "/home/~";

impl<'a> Scene<'a> {
    /// The scene of an action in this context.
    #[must_use]
    pub fn new(context: &'a Context, sensitive: &'a [String]) -> Self {
        let cwd = context.cwd.as_deref().or(context.workspace.as_deref());
        Self { context, cwd, sensitive, depth: 0, detail: Detail::Facts }
    }

    /// The same scene, one language deeper.
    #[must_use]
    pub fn deeper(self) -> Self {
        Self { depth: self.depth.saturating_add(1), ..self }
    }

    /// Reports whether the nesting limit is reached.
    #[must_use]
    pub const fn too_deep(&self) -> bool {
        self.depth >= MOST_LANGUAGES
    }

    /// The home folder, or [`UNKNOWN_HOME`].
    #[must_use]
    pub fn home(&self) -> &'a str {
        self.context.home.as_deref().unwrap_or(UNKNOWN_HOME)
    }

    /// The folder the agent was given.
    #[must_use]
    pub fn workspace(&self) -> Option<&'a str> {
        self.context.workspace.as_deref().or(self.context.cwd.as_deref())
    }
}

/// Returns the location of a path and the kind of file there, as tags.
#[must_use]
pub fn locate(path: &str, scene: &Scene<'_>) -> Tags {
    if path.is_empty() {
        return Tags::of(&[Tag::Unknown]);
    }
    if let Some(tags) = locate_plain(path, scene) {
        return tags;
    }
    if is_remote(path) {
        return Tags::of(&[Tag::Remote]);
    }
    let written = absolute(path, scene);
    let mut tags = tags_of(&written, scene);
    if let Some(facts) =
        scene.context.paths.get(path).or_else(|| scene.context.paths.get(&*written))
    {
        if facts.tracked_clean || facts.ignored {
            tags = tags.with(Tag::Tracked);
        }
        if facts.made_in_session {
            tags = tags.with(Tag::Session);
        }
        if let Some(real) = facts.resolves_to.as_deref()
            && real != written
        {
            tags = tags.and(tags_of(&normalize(real), scene)).with(Tag::Symlink);
        }
    }
    tags
}

/// Reports whether a folder holds files of secrets, so that all of it must not be read unnoticed.
#[must_use]
pub fn holds_secrets(path: &str, scene: &Scene<'_>) -> bool {
    let path = absolute(path, scene);
    known_paths::is_above_secrets(path.trim_end_matches("/*"), &clean(scene.home()))
}

/// Reports whether a path has only ordinary characters: no pattern, nothing unknown.
fn is_plain(path: &str) -> bool {
    let mut before = b' ';
    let ordinary = path.bytes().all(|byte| {
        let doubled = before == b'/' && matches!(byte, b'/' | b'.');
        before = byte;
        !doubled && (byte.is_ascii_alphanumeric() || b"._-/+@".contains(&byte))
    });
    ordinary && before != b'/'
}

/// Handles the everyday case: a plain relative name in the workspace.
fn locate_plain(path: &str, scene: &Scene<'_>) -> Option<Tags> {
    let plain = !path.starts_with(['.', '/'])
        && is_plain(path)
        && scene.context.paths.is_empty()
        && scene.sensitive.is_empty()
        && scene.context.sensitive_paths.is_empty();
    if !plain {
        return None;
    }
    let cwd = scene.cwd.filter(|cwd| !own_file::concerns(cwd, scene))?;
    let folder = cwd.strip_prefix(scene.workspace()?)?;
    let below = match folder.strip_prefix('/') {
        None if folder.is_empty() => Cow::Borrowed(path),
        Some(folder) if !folder.is_empty() && is_plain(folder) => {
            Cow::Owned(format!("{folder}/{path}"))
        }
        _ => return None,
    };
    Some(
        Tags::of(&[Tag::Workspace])
            .and(known_paths::of_plain(&below))
            .and(own_file::of_plain(&below)),
    )
}

fn tags_of(path: &str, scene: &Scene<'_>) -> Tags {
    let (folder, everything) = split_glob(path);
    let mut tags = zone(folder, everything, scene).and(known_paths::of(folder, scene));
    tags = tags.and(own_file::of(folder, scene));
    if everything || path.contains(['*', '?', '[']) {
        for file in glob::protected(path, &clean(scene.home())) {
            tags = tags.and(zone(&file, false, scene)).and(known_paths::of(&file, scene));
        }
        tags = tags.with(Tag::Many);
    }
    if path.contains(UNKNOWN) {
        tags = tags.with(Tag::Unknown);
    }
    let mut sensitive = scene.sensitive.iter().chain(&scene.context.sensitive_paths);
    if sensitive.any(|pattern| is_below(folder, &absolute(pattern, scene))) {
        tags = tags.with(Tag::Sensitive);
    }
    tags
}

/// The path from the root, without `.`, `..`, `~` or doubled slashes. Unknown parts stay in it as
/// [`UNKNOWN`].
#[must_use]
pub fn absolute(path: &str, scene: &Scene<'_>) -> String {
    if let Some(rest) = path.strip_prefix('~') {
        return match rest.split_once('/') {
            None if rest.is_empty() => normalize(scene.home()),
            Some(("", below)) => normalize(&format!("{}/{below}", scene.home())),
            None => normalize(&format!("/home/{rest}")),
            Some((user, below)) => normalize(&format!("/home/{user}/{below}")),
        };
    }
    if path.starts_with('/') || path.starts_with(UNKNOWN) || is_windows(path) {
        return normalize(path);
    }
    match scene.cwd {
        Some(cwd) => normalize(&format!("{cwd}/{path}")),
        None => normalize(&format!("{UNKNOWN}/{path}")),
    }
}

/// Removes `.`, `..` and doubled slashes. `..` at the root stays at the root, as in the kernel.
#[must_use]
pub fn normalize(path: &str) -> String {
    clean(path).into_owned()
}

/// Does the same without a copy for the paths that need no change, which are nearly all.
fn clean(path: &str) -> Cow<'_, str> {
    let has_steps = path.contains("//") || path.contains("/.") || path.starts_with('.');
    if has_steps || (path.ends_with('/') && path.len() > 1) {
        Cow::Owned(walk(path))
    } else {
        Cow::Borrowed(path)
    }
}

fn walk(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => match parts.last() {
                // The parent of something unknown is unknown too: keep the step.
                Some(last) if last.contains(UNKNOWN) || *last == ".." => parts.push(part),
                Some(_) => {
                    parts.pop();
                }
                None if rooted => {}
                None => parts.push(part),
            },
            part => parts.push(part),
        }
    }
    let joined = parts.join("/");
    if rooted { format!("/{joined}") } else { joined }
}

/// Reports whether `path` is `folder` or is below it.
#[must_use]
pub fn is_below(path: &str, folder: &str) -> bool {
    folder == "/"
        || path
            .strip_prefix(folder.trim_end_matches('/'))
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Reports whether a path is on another machine: `host:path`, `user@host:path`, `s3://…`.
#[must_use]
pub fn is_remote(path: &str) -> bool {
    if path.contains("://") {
        return !path.starts_with("file://");
    }
    path.split_once(':').is_some_and(|(domain, _)| {
        domain.len() > 1
            && !domain.contains('/')
            && domain.chars().all(|char| char.is_ascii_alphanumeric() || "@.-_".contains(char))
    })
}

fn is_windows(path: &str) -> bool {
    let mut chars = path.chars();
    matches!(
        (chars.next(), chars.next(), chars.next()),
        (Some(drive), Some(':'), Some('\\' | '/')) if drive.is_ascii_alphabetic()
    )
}

/// Splits off a trailing glob: `/x/*` is everything in `/x`; `/x/a*` is a part of it.
fn split_glob(path: &str) -> (&str, bool) {
    let (mut folder, mut everything) = (path, false);
    while let Some((above, last)) = folder.rsplit_once('/') {
        if !matches!(last, "*" | ".*" | "?*" | "**" | ".[!.]*" | ".??*") {
            return (folder, everything);
        }
        if above.is_empty() {
            return ("/", true);
        }
        (folder, everything) = (above, true);
    }
    (folder, everything || folder == "*")
}

fn zone(path: &str, everything: bool, scene: &Scene<'_>) -> Tags {
    let tag = |tag| Tags::of(&[tag]);
    if path == "/" || (everything && path.is_empty()) {
        return tag(Tag::Root);
    }
    // A step up that could not be normalised may lead anywhere.
    if path.starts_with(UNKNOWN) || path.is_empty() || path.split('/').any(|part| part == "..") {
        return tag(Tag::Unknown);
    }
    // `/[a-z]*` and `/?*` match every top-level folder; `/t*` matches at least one of them.
    let first = path.strip_prefix('/').and_then(|rest| rest.split('/').next()).unwrap_or_default();
    if first.starts_with(['*', '?', '[']) {
        return tag(Tag::Root);
    }
    if first.contains(['*', '?', '[']) {
        return tag(Tag::Top).with(Tag::System);
    }
    if let Some(device) = path.strip_prefix("/dev/") {
        return device_zone(device);
    }
    if ["/proc", "/sys"].iter().any(|kernel| is_below(path, kernel)) {
        return tag(Tag::Kernel).with(Tag::Blocked);
    }
    // The root is not a workspace: everything on the machine would be inside of it.
    if let Some(workspace) = scene.workspace().map(clean).filter(|workspace| workspace != "/") {
        if is_below(path, &workspace) {
            let root = if path == workspace { tag(Tag::WorkspaceRoot) } else { Tags::NONE };
            // A home folder stays one in a workspace: hooks, keys and everything else is in it.
            let holds_home = is_below(&clean(scene.home()), path);
            let home = if holds_home { tag(Tag::HomeRoot) } else { Tags::NONE };
            return root.and(home).with(Tag::Workspace);
        }
        if is_below(&workspace, path) && path != clean(scene.home()) {
            return tag(Tag::Top);
        }
    }
    let settled = home_zone(path, scene);
    // Anybody may write into a temporary folder, but not everything in it belongs to the agent.
    let all_of_top = everything && settled.has(Tag::Top);
    let settled = if all_of_top { settled.without(Tag::Temp) } else { settled };
    if scene.context.home.is_some() {
        return settled;
    }
    perhaps_home(path).map_or(settled, |perhaps| settled.and(perhaps))
}

/// The tags of a path in a home folder, or outside of all of them.
fn home_zone(path: &str, scene: &Scene<'_>) -> Tags {
    let tag = |tag| Tags::of(&[tag]);
    let home = clean(scene.home());
    if path == home {
        return tag(Tag::HomeRoot).with(Tag::Home);
    }
    if is_below(path, &home) {
        return tag(Tag::Home);
    }
    if known_paths::TOPS.contains(&path) || is_below(&home, path) {
        let top = tag(Tag::Top).with(Tag::System);
        // Anyone may put something into it, but nobody may delete the folder itself.
        return if known_paths::TEMPS.contains(&path) { top.with(Tag::Temp) } else { top };
    }
    far_zone(path)
}

/// The tags of a path that may be in a home folder, when the home folder is unknown: it may be the
/// user's own, and somebody else's too.
fn perhaps_home(path: &str) -> Option<Tags> {
    if path == UNKNOWN_HOME || is_below(path, UNKNOWN_HOME) {
        return None;
    }
    let below = |folder: &str| path.strip_prefix(folder)?.strip_prefix('/');
    let rest = if path == "/root" { Some("root") } else { below("/home").or(below("/Users")) };
    let root = match rest {
        Some(rest) => !rest.contains('/'),
        None if is_below(path, "/root") => false,
        None => return None,
    };
    let tags = Tags::of(&[Tag::Home, Tag::OtherHome]);
    Some(if root { tags.with(Tag::HomeRoot) } else { tags })
}

/// The tags of a path that is neither in the workspace nor in a home folder.
fn far_zone(path: &str) -> Tags {
    let below = |folders: &[&str]| folders.iter().any(|folder| is_below(path, folder));
    if below(known_paths::TEMPS) {
        return Tags::of(&[Tag::Temp]);
    }
    if below(&["/root", "/home", "/Users"]) {
        return Tags::of(&[Tag::OtherHome]);
    }
    if below(known_paths::SYSTEM) || is_windows_system(path) {
        return Tags::of(&[Tag::System]);
    }
    Tags::of(&[Tag::Outside])
}

fn is_windows_system(path: &str) -> bool {
    is_windows(path) && {
        let lower = path.to_ascii_lowercase();
        ["windows", "program files", "winnt"].iter().any(|name| lower.contains(name))
    }
}

fn device_zone(device: &str) -> Tags {
    const STREAMS: &[&str] =
        &["null", "zero", "full", "random", "urandom", "stdin", "stdout", "stderr", "tty", "ptmx"];
    const PERIPHERALS: &[&str] = &[
        "tty", "lp", "usb/lp", "snd", "dsp", "audio", "video", "media", "input", "dri", "kvm",
        "fuse", "net/", "rtc", "hidraw", "console", "vcs", "nst", "st0", "i2c", "spidev", "gpio",
        "cdrom", "sr0", "watchdog", "uinput", "bus/usb",
    ];
    let first = device.split('/').next().unwrap_or_default();
    if device.starts_with("shm/") || device == "shm" {
        return Tags::of(&[Tag::Temp]);
    }
    if STREAMS.contains(&device) || ["fd", "pts", "tcp", "udp"].contains(&first) {
        return Tags::of(&[Tag::Stream]);
    }
    if PERIPHERALS.iter().any(|start| device.starts_with(start)) {
        return Tags::of(&[Tag::Peripheral]);
    }
    Tags::of(&[Tag::Device, Tag::Blocked])
}

/// The last part of a path.
#[must_use]
pub fn base_name(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or(path)
}

/// Reports whether everybody may read this file, and it contains nothing private: `/proc/cpuinfo`.
#[must_use]
pub fn is_public(path: &str) -> bool {
    kernel::is_public(path) || known_paths::PUBLIC.contains(&path)
}

/// Reports whether a name says that this is an example to be copied: `.env.example`.
#[must_use]
pub fn is_sample(path: &str) -> bool {
    known_paths::is_sample(base_name(path))
}

/// A path as shown to a person.
#[must_use]
pub fn shown(path: &str) -> Cow<'_, str> {
    if path.contains(UNKNOWN) {
        Cow::Owned(path.replace(UNKNOWN, "…"))
    } else {
        Cow::Borrowed(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(path: &str) -> Tags {
        let context = Context {
            home: Some("/home/dev".into()),
            workspace: Some("/home/dev/project".into()),
            ..Context::default()
        };
        locate(path, &Scene::new(&context, &[]))
    }

    #[test]
    fn the_root_has_many_spellings() {
        for path in ["/", "//", "/.", "/./", "/..", "/home/..", "/home/../", "/*", "/.*", "//*"] {
            assert!(tags(path).has(Tag::Root), "{path}");
        }
    }

    #[test]
    fn a_home_folder_is_one_in_a_workspace_too() {
        for workspace in ["/home/dev", "/home/", "/home/dev/project"] {
            let context = Context {
                home: Some("/home/dev".into()),
                workspace: Some(workspace.into()),
                ..Context::default()
            };
            let locate = |path| locate(path, &Scene::new(&context, &[]));
            assert!(locate("~").has(Tag::HomeRoot), "{workspace}");
            assert!(locate("/home").any(Tags::of(&[Tag::HomeRoot, Tag::Top])), "{workspace}");
            assert!(!locate("~/project/src").has(Tag::HomeRoot), "{workspace}");
        }
    }

    #[test]
    fn zones_follow_the_path_not_its_spelling() {
        for (path, tag) in [
            ("build", Tag::Workspace),
            (".", Tag::WorkspaceRoot),
            ("*", Tag::WorkspaceRoot),
            ("..", Tag::HomeRoot),
            ("~", Tag::HomeRoot),
            ("~/*", Tag::HomeRoot),
            ("~/notes", Tag::Home),
            ("/home", Tag::Top),
            ("/etc", Tag::Top),
            ("/etc/*", Tag::Top),
            ("/home/../etc", Tag::Top),
            ("/etc/hosts", Tag::System),
            ("/tmp/x", Tag::Temp),
            ("/dev/shm/x", Tag::Temp),
            ("/dev/sda", Tag::Device),
            ("/dev/null", Tag::Stream),
            ("/proc/1/mem", Tag::Kernel),
            ("/root/.profile", Tag::OtherHome),
            ("host:/x", Tag::Remote),
            ("s3://bucket/x", Tag::Remote),
        ] {
            assert!(tags(path).has(tag), "{path} is {:?}", tags(path).iter().collect::<Vec<_>>());
        }
    }

    /// An unknown home is judged at least as strictly as any home that it could be.
    #[test]
    fn without_a_home_every_home_may_be_the_one() {
        let unknown = Context { workspace: Some("/srv/work".into()), ..Context::default() };
        let paths = [
            "~",
            "~/x",
            "~/.ssh/id",
            "/root",
            "/root/x",
            "/home/user",
            "/home/user/x",
            "/home/ann",
            "/home/ann/.ssh/id",
            "/Users/ann",
            "/Users/ann/x",
            "/home",
            "/srv/work/x",
            "/tmp/x",
        ];
        for path in paths {
            let found = locate(path, &Scene::new(&unknown, &[]));
            for home in ["/root", "/home/user", "/home/ann", "/Users/ann"] {
                let known = Context { home: Some(home.into()), ..unknown.clone() };
                let known = locate(path, &Scene::new(&known, &[]));
                for tag in known.iter() {
                    assert!(found.has(tag), "{path}, {home}: {tag:?}");
                }
            }
        }
    }

    #[test]
    fn a_symlink_counts_for_where_it_leads() {
        let mut context = Context { workspace: Some("/w".into()), ..Context::default() };
        context.paths.insert(
            "link".into(),
            crate::context::PathFacts {
                resolves_to: Some("/etc/shadow".into()),
                ..Default::default()
            },
        );
        let tags = locate("link", &Scene::new(&context, &[]));
        assert!(tags.has(Tag::Blocked) && tags.has(Tag::Symlink));
    }
}
