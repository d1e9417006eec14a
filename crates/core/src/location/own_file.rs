//! The relation of a path to the guarded paths: it is one, is in one, or contains one.
//!
//! Purely lexical, part by part and case-insensitive (some file systems are). A part of a path that
//! is a pattern or only partly known counts as everything that it can match.

use crate::analysis::UNKNOWN;
use crate::fact::{Tag, Tags};
use crate::guarded::{self, Below, Guarded, Role};
use crate::location::{Scene, clean, is_below};

/// The relation of a path to a guarded one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    /// It is the guarded path.
    Is,
    /// It is below it.
    Inside,
    /// It is a folder that contains it.
    Above,
}

/// The location of a path that relates to a guarded one.
#[derive(Debug, Clone, Copy)]
struct At {
    /// Counted from the root or from a home folder.
    anchored: bool,
    /// Inside the workspace.
    in_workspace: bool,
}

/// Folders that many programs share: an unknown name in them belongs to another program.
const SHARED: &[&str] = &[".config", ".local", "share", ".github", "etc", "Library", "Documents"];

/// Returns the tags of a path that starts at the root or with something unknown.
pub(super) fn of(path: &str, scene: &Scene<'_>) -> Tags {
    let mut tags = own(path, scene).and(by_location(path, scene));
    for (moved, usual) in &scene.context.host_settings {
        let moved = clean(moved);
        if is_below(path, &moved) {
            let rest = path.get(moved.len()..).unwrap_or_default();
            let meant = format!("{}/{usual}/{rest}", scene.home());
            tags = tags.and(by_location(&clean(&meant), scene));
        }
    }
    tags
}

fn by_location(path: &str, scene: &Scene<'_>) -> Tags {
    let home = home_of(path, scene);
    let in_workspace = is_in_workspace(path, scene);
    let mut tags = Tags::NONE;
    for (start, first) in starts(path) {
        for guarded in guarded_from(first) {
            let anchored = start == 0 || home == Some(start);
            let counts = match guarded.below {
                Below::Root => start == 0 && path.starts_with('/'),
                Below::Home => home == Some(start) || path.starts_with(UNKNOWN),
                Below::Anywhere => true,
            };
            let found = if counts { relation(path, start, guarded) } else { None };
            if let Some(relation) = found {
                tags = tags.and(tags_of(guarded.role, relation, At { anchored, in_workspace }));
            }
        }
    }
    tags
}

/// Does the same for a plain relative path inside the workspace: no pattern, and no part that
/// starts with a dot.
pub(super) fn of_plain(path: &str) -> Tags {
    let mut tags = Tags::NONE;
    for (start, first) in starts(path) {
        for guarded in guarded_from(first).iter().filter(|g| g.below == Below::Anywhere) {
            if let Some(relation) = relation(path, start, guarded) {
                let at = At { anchored: false, in_workspace: true };
                tags = tags.and(tags_of(guarded.role, relation, at));
            }
        }
    }
    tags
}

/// Reports whether a workspace is, is in or contains a path that the caller names as Countersign's
/// own, or whether a relative name would hide that it is in a folder that matters.
pub(super) fn concerns(workspace: &str, scene: &Scene<'_>) -> bool {
    let own = [&scene.context.own_program, &scene.context.own_data];
    let mut own = own.into_iter().flatten().chain(scene.context.host_settings.keys());
    workspace.contains("/.")
        || workspace.contains("countersign")
        || own.any(|own| is_below(own, workspace) || is_below(workspace, own))
}

/// The tags of the paths that the caller names as Countersign's own on this machine.
fn own(path: &str, scene: &Scene<'_>) -> Tags {
    let mut tags = Tags::NONE;
    let in_workspace = is_in_workspace(path, scene);
    // The home folder and its parents contain everything: other rules are about them.
    let holds_all = is_below(&clean(scene.home()), path)
        || scene.workspace().is_some_and(|workspace| is_below(&clean(workspace), path));
    for (own, role) in [
        (scene.context.own_program.as_deref(), Role::Program),
        (scene.context.own_data.as_deref(), Role::Data),
    ] {
        let Some(own) = own.map(clean) else { continue };
        let relation = if path == own {
            Relation::Is
        } else if is_below(path, &own) {
            Relation::Inside
        } else if !holds_all && is_below(&own, path) {
            Relation::Above
        } else {
            continue;
        };
        let found = tags_of(role, relation, At { anchored: true, in_workspace });
        // A folder with the program in use, unless it is the one where that is built.
        let installed = relation == Relation::Above && !in_workspace;
        tags = tags.and(if installed { found.with(Tag::Installed) } else { found });
    }
    tags
}

fn tags_of(role: Role, relation: Relation, at: At) -> Tags {
    let above = relation == Relation::Above;
    let tags = match (role, relation) {
        // A folder that contains a program or a list of servers contains much else.
        (Role::Servers, Relation::Above) | (Role::Program, Relation::Inside) => Tags::NONE,
        (Role::Data, Relation::Above) => Tags::of(&[Tag::AboveGuard, Tag::AboveOwnData]),
        (Role::Program | Role::Hook | Role::Config, Relation::Above) => {
            Tags::of(&[Tag::AboveGuard])
        }
        (Role::Data, _) => Tags::of(&[Tag::Guard, Tag::OwnData]),
        (Role::Program, Relation::Is) => Tags::of(&[Tag::Guard, Tag::OwnProgram]),
        (Role::Hook | Role::Servers | Role::Config, _) => Tags::of(&[Tag::Guard]),
    };
    let installed = match role {
        Role::Hook | Role::Config | Role::Data => at.anchored,
        Role::Program => !at.in_workspace && !above,
        Role::Servers => false,
    };
    if installed && !tags.is_empty() { tags.with(Tag::Installed) } else { tags }
}

/// The relation of a path to a guarded one, counted from one of its parts. A folder whose name is
/// usual for programs does not count as one that contains Countersign's.
fn relation(path: &str, start: usize, guarded: &Guarded) -> Option<Relation> {
    let found = relation_to_parts(path, start, guarded.parts)?;
    (guarded.role != Role::Program || found != Relation::Above).then_some(found)
}

fn relation_to_parts(path: &str, start: usize, parts: &[&str]) -> Option<Relation> {
    let mut rest = path.get(start..)?.split('/').filter(|part| !part.is_empty());
    let mut before = None;
    for part in parts {
        let Some(name) = rest.next() else {
            return before.map(|_| Relation::Above);
        };
        if !can_be(name, part, before) {
            return None;
        }
        before = Some(*part);
    }
    Some(if rest.next().is_none() { Relation::Is } else { Relation::Inside })
}

/// Reports whether a part of a path can match this name.
fn can_be(written: &str, name: &str, before: Option<&str>) -> bool {
    if !written.contains(['*', '?', '[', UNKNOWN]) {
        return written.eq_ignore_ascii_case(name);
    }
    let literal = written.find(['*', '?', '[', UNKNOWN]).unwrap_or(0);
    let enough = match before {
        // The first name must be distinctive: `*.json` is not about one file.
        None if written.contains(UNKNOWN) => literal > 2,
        None => literal > 0,
        Some(before) if written.contains(UNKNOWN) => literal > 2 || !SHARED.contains(&before),
        Some(_) => true,
    };
    // A pattern does not match names that start with a dot unless it starts with one itself.
    let hidden = name.starts_with('.') && written.starts_with(['*', '?', '[']);
    enough && !hidden && matches(written, name)
}

/// Reports whether a pattern matches a name; `[…]` matches any one character, and an unknown part
/// matches anything.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    const MOST: usize = 256;
    if pattern.len() > MOST {
        return true;
    }
    let name: Vec<char> = name.to_ascii_lowercase().chars().collect();
    // The positions in the name that the pattern so far can reach.
    let mut at = vec![false; name.len() + 1];
    if let Some(first) = at.first_mut() {
        *first = true;
    }
    let mut rest = pattern.chars();
    while let Some(char) = rest.next() {
        let mut next = vec![false; at.len()];
        let one = match char {
            '*' | UNKNOWN => {
                let reached = at.iter().position(|here| *here).unwrap_or(at.len());
                next.iter_mut().skip(reached).for_each(|here| *here = true);
                at = next;
                continue;
            }
            '?' => None,
            '[' => {
                let _ = rest.by_ref().find(|char| *char == ']');
                None
            }
            char => Some(char.to_ascii_lowercase()),
        };
        for ((from, to), here) in at.iter().zip(next.iter_mut().skip(1)).zip(&name) {
            *to = *from && one.is_none_or(|one| one == *here);
        }
        at = next;
    }
    at.last().copied().unwrap_or(false)
}

/// Each part of a path with its start offset.
fn starts(path: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    path.split('/').filter_map(move |part| {
        let start = at;
        at += part.len() + 1;
        // For an absolute path, the first part starts at the root.
        let start = if start == 1 && path.starts_with('/') { 0 } else { start };
        (!part.is_empty()).then_some((start, part))
    })
}

/// The guarded paths that may begin with this part of a path.
fn guarded_from(part: &str) -> &'static [Guarded] {
    let is_pattern = part.contains(['*', '?', '[', UNKNOWN]);
    if is_pattern { guarded::paths() } else { guarded::paths_from(part) }
}

/// The start offset of the part after the home folder.
fn home_of(path: &str, scene: &Scene<'_>) -> Option<usize> {
    let home = clean(scene.home());
    if is_below(path, &home) && home.len() > 1 {
        return Some(home.len() + 1);
    }
    if path.starts_with("/root/") {
        return Some("/root/".len());
    }
    let rest = ["/home/", "/Users/"].iter().find_map(|homes| path.strip_prefix(homes))?;
    let (user, _) = rest.split_once('/')?;
    Some(path.len() - rest.len() + user.len() + 1)
}

fn is_in_workspace(path: &str, scene: &Scene<'_>) -> bool {
    scene.workspace().is_some_and(|workspace| is_below(path, &clean(workspace)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Context;

    fn tags(path: &str) -> Tags {
        let context = Context {
            home: Some("/home/dev".into()),
            workspace: Some("/home/dev/project".into()),
            own_program: Some("/opt/tools/gate".into()),
            own_data: Some("/srv/gate".into()),
            host_settings: [("/srv/agent/".into(), ".claude".into())].into(),
            ..Context::default()
        };
        super::super::locate(path, &Scene::new(&context, &[]))
    }

    #[test]
    fn patterns_stand_for_names() {
        for (pattern, name) in
            [(".cl*de", ".claude"), (".c?aude", ".claude"), (".[a-d]laude", ".claude"), ("*", "x")]
        {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [(".cl*x", ".claude"), ("?", "ab"), ("ab", "abc"), ("", "a")] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn a_path_is_lies_in_or_holds_what_is_guarded() {
        for (path, has, without) in [
            ("~/.claude/settings.json", &[Tag::Guard, Tag::Installed][..], &[Tag::AboveGuard][..]),
            ("~/.claude", &[Tag::AboveGuard, Tag::Installed], &[Tag::Guard]),
            ("~/.Claude", &[Tag::AboveGuard], &[]),
            ("~/.cl*de", &[Tag::AboveGuard, Tag::Installed], &[]),
            ("~/.claude/*", &[Tag::AboveGuard], &[]),
            (".claude/settings.json", &[Tag::Guard], &[Tag::Installed]),
            (".claude", &[Tag::AboveGuard], &[Tag::Installed]),
            ("~/.config", &[Tag::AboveGuard, Tag::Installed], &[Tag::Guard]),
            ("~/.local/share", &[Tag::AboveGuard, Tag::AboveOwnData], &[Tag::OwnData]),
            ("~/.local/share/countersign/server.key", &[Tag::Guard, Tag::OwnData], &[]),
            ("~/.cargo/bin/countersign", &[Tag::OwnProgram, Tag::Installed], &[]),
            ("target/release/countersign", &[Tag::OwnProgram], &[Tag::Installed]),
            ("/opt/tools/gate", &[Tag::OwnProgram, Tag::Installed], &[]),
            ("/opt/tools", &[Tag::AboveGuard, Tag::Installed], &[]),
            ("/srv/gate/x.db", &[Tag::OwnData, Tag::Installed], &[]),
            ("/srv/agent/settings.json", &[Tag::Guard, Tag::Installed], &[]),
            ("/srv/agent", &[Tag::AboveGuard, Tag::Installed], &[]),
            ("/etc/claude-code/managed-settings.json", &[Tag::Guard, Tag::Installed], &[]),
            ("~/Documents/Cline/Hooks/PreToolUse", &[Tag::Guard, Tag::Installed], &[]),
            ("opencode.json", &[Tag::Guard], &[Tag::Installed]),
        ] {
            let found = tags(path);
            assert!(found.all(Tags::of(has)), "{path}: {:?}", found.iter().collect::<Vec<_>>());
            assert!(
                !found.any(Tags::of(without)),
                "{path}: {:?}",
                found.iter().collect::<Vec<_>>()
            );
        }
    }

    #[test]
    fn neighbours_are_not_guarded() {
        for path in [
            "~/.claude/commands/x.md",
            "~/.config/foo",
            "~/.config/$X/foo",
            "src/countersign/main.rs",
            "countersign",
            "*.json",
            "*",
            "docs/mcp.json",
            "Documents/Cline/Hooks",
            "~/.vscode",
            "/srv/agent/commands/x.md",
            "bin",
        ] {
            let found = tags(&path.replace("$X", &UNKNOWN.to_string()));
            let guards = Tags::of(&[Tag::Guard, Tag::AboveGuard]);
            assert!(!found.any(guards), "{path}: {:?}", found.iter().collect::<Vec<_>>());
        }
    }
}
