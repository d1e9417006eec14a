//! The working folder, and the files that a script has written itself.

use super::Walker;
use super::arguments::Arguments;
use super::state::File;
use super::value::{Arg, Stream};
use crate::fact::{FactKind, Tag, Tags};
use crate::location::{self, Scene};

/// The content that a command puts into a file.
pub(super) struct Carried {
    to: Arg,
    content: Stream,
    kind: FactKind,
}

/// Returns the lines that a patch adds to each file, where a file is named.
fn patched(patch: &str, folder: Option<&str>) -> Vec<Carried> {
    let mut found: Vec<Carried> = Vec::new();
    for line in patch.lines() {
        if let Some(name) = line.strip_prefix("+++ ") {
            let name = name.split('\t').next().unwrap_or_default().trim();
            let name = name.strip_prefix("b/").unwrap_or(name);
            let below = folder.map_or_else(String::new, |folder| format!("{folder}/"));
            let content = Stream::known(String::new(), Tags::NONE);
            found.push(Carried { to: Arg::literal(below + name), content, kind: FactKind::Append });
        } else if let Some(added) = line.strip_prefix('+')
            && let Some(text) = found.last_mut().and_then(|file| file.content.text.as_mut())
        {
            text.push_str(added);
            text.push('\n');
        }
    }
    found
}

/// The length of a path in bytes past which the working folder is unknown.
const LONGEST_FOLDER: usize = 4096;

impl Walker<'_> {
    /// Returns the folder that relative paths start from at this point.
    pub(super) fn cwd(&self) -> Option<&str> {
        match self.state.values("PWD") {
            Some([value, ..]) => {
                value.first().filter(|arg| arg.is_known()).map(|arg| arg.text.as_str())
            }
            _ if self.tags.has(Tag::Elsewhere) => None,
            _ => self.scene.cwd,
        }
    }

    /// Returns the surroundings at this point of the script.
    pub(super) fn scene_now(&self) -> Scene<'_> {
        Scene { cwd: self.cwd(), ..self.scene }
    }

    /// Follows `cd`.
    pub(super) fn change_folder(&mut self, folder: Option<&Arg>) {
        let target = match folder {
            None => Arg::literal(self.scene.home()),
            Some(arg) if arg.text == "-" => {
                self.variable("OLDPWD").into_iter().next().unwrap_or_default()
            }
            Some(arg) => arg.saying(location::absolute(&arg.text, &self.scene_now())),
        };
        // No system takes such a path, and every later command would cost as much as the path is
        // long.
        let is_known = target.text.len() <= LONGEST_FOLDER;
        let target = if is_known { target } else { Arg::unknown(target.taint) };
        self.state.work().text(target.text.len());
        let old = self.cwd().map_or_else(|| Arg::unknown(Tags::NONE), Arg::literal);
        self.state.set("OLDPWD", vec![old]);
        self.state.set("PWD", vec![target]);
    }

    /// Returns the key under which a path's file is stored.
    pub(super) fn key(&self, path: &str) -> String {
        location::absolute(path, &self.scene_now())
    }

    /// Records the content that a script wrote to a file.
    pub(super) fn wrote(&mut self, path: &Arg, content: Stream, kind: FactKind) {
        if !path.is_known() || path.glob {
            return;
        }
        let key = self.key(&path.text);
        if key.starts_with("/dev/") && !key.starts_with("/dev/shm/") {
            return;
        }
        let file = match (kind, self.state.files.remove(&key)) {
            (FactKind::Append, Some(before)) => {
                let content = super::output::concat(before.content, content);
                File { content, whole: before.whole }
            }
            // The file's previous content is unknown, but the added text is still worth reading.
            (FactKind::Append, None) => File { content, whole: false },
            _ => File { content, whole: true },
        };
        self.state.files.insert(key, file);
    }

    /// Records that a script made a file or folder whose content is unknown.
    pub(super) fn made(&mut self, path: &Arg, taint: Tags) {
        self.wrote(path, Stream::unknown(taint), FactKind::Write);
    }

    /// Returns the content that a command transfers between files: known texts, and names for other
    /// files.
    pub(super) fn carried(&self, name: &str, args: &Arguments<'_>, stdin: &Stream) -> Vec<Carried> {
        let operands = args.operands();
        let (sources, target) = match name {
            "tee" | "sponge" => {
                let kind = if args.has_any(&["-a", "--append"]) {
                    FactKind::Append
                } else {
                    FactKind::Write
                };
                let to =
                    |file: &&Arg| Carried { to: (*file).clone(), content: stdin.clone(), kind };
                return operands.iter().map(to).collect();
            }
            "patch" | "git" if name == "patch" || args.operand(0) == Some("apply") => {
                let file = args.value(&["-i", "--input"]);
                let text =
                    file.map_or_else(|| stdin.text.clone(), |file| self.content_of(&file).text);
                let folder = args.value(&["-d", "--directory"]).map(|folder| folder.text);
                return patched(&text.unwrap_or_default(), folder.as_deref());
            }
            "dd" | "dcfldd" => {
                let Some(to) = args.value(&["of="]) else { return Vec::new() };
                let from = args.value(&["if="]);
                let content = from.map_or_else(|| stdin.clone(), |from| self.content_of(&from));
                return vec![Carried { to, content, kind: FactKind::Write }];
            }
            "cp" | "mv" | "install" | "ln" | "link" | "rename" | "gcp" | "gmv" | "gln" => {
                match (args.value(&["-t", "--target-directory"]), operands) {
                    (Some(folder), sources) => (sources, folder),
                    (None, [sources @ .., target]) if !sources.is_empty() => {
                        (sources, (*target).clone())
                    }
                    (None, [one]) if name == "ln" => (operands, one.saying("./")),
                    _ => return Vec::new(),
                }
            }
            _ => return Vec::new(),
        };
        let into = sources.len() > 1 || target.text.ends_with(['/', '.']);
        let carry = |source: &&Arg| {
            let name = location::base_name(&source.text);
            let to = if into {
                target.saying(format!("{}/{name}", target.text))
            } else {
                target.clone()
            };
            let content = match source.text.as_str() {
                "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0" => stdin.clone(),
                _ => self.content_of(source),
            };
            Carried { to, content, kind: FactKind::Write }
        };
        sources.iter().map(carry).collect()
    }

    /// Records content that was transferred between files, where anything is known of it.
    pub(super) fn put_down(&mut self, carried: Vec<Carried>) {
        for Carried { to, content, kind } in carried {
            let telling = content.text.is_some()
                || content.taint.any(Tags::of(&[Tag::Fetched, Tag::Decoded]));
            if telling && to.stream.is_none() {
                self.empties(&to, kind, &content);
                self.wrote(&to, content, kind);
            }
        }
    }

    /// Records that a path is another name for a file.
    pub(super) fn names(&mut self, source: &Arg, link: &Arg) {
        if source.is_known() && link.is_known() && !source.glob {
            let link = match link.text.as_str() {
                text if text.ends_with(['/', '.']) => {
                    format!("{text}/{}", location::base_name(&source.text))
                }
                text => text.to_owned(),
            };
            let (source, link) = (self.key(&source.text), self.key(&link));
            self.state.names.insert(link, source);
        }
    }

    /// Returns the file that a path is another name for.
    pub(super) fn named(&self, path: &str) -> Option<String> {
        if self.state.names.is_empty() {
            return None;
        }
        let key = self.key(path);
        let mut folder = key.as_str();
        loop {
            if let Some(real) = self.state.names.get(folder) {
                let rest = key.get(folder.len()..).unwrap_or_default();
                return Some(format!("{real}{rest}"));
            }
            match folder.rsplit_once('/') {
                Some((above, _)) if !above.is_empty() => folder = above,
                _ => return None,
            }
        }
    }

    /// Records that a program now has another name.
    pub(super) fn links(&mut self, source: &str, link: &Arg) {
        let is_program = !source.contains('/')
            || ["/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/", "/usr/local/bin/"]
                .iter()
                .any(|folder| source.starts_with(folder));
        let name = location::base_name(source);
        let is_known = super::catalogue::program(name).is_some() || name == super::own_command::OWN;
        if is_program && link.is_known() && is_known {
            let name = name.to_owned();
            let key = self.key(&link.text);
            self.state.links.insert(key, name);
        }
    }

    /// Returns the program that this script gave this name to.
    pub(super) fn linked_program(&self, first: &Arg) -> Option<String> {
        if self.state.links.is_empty() || !first.text.contains('/') {
            return None;
        }
        self.state.links.get(&self.key(&first.text)).cloned()
    }

    /// Forgets a file that was moved or deleted.
    pub(super) fn moved_away(&mut self, path: &str) {
        if !self.state.files.is_empty() {
            let key = self.key(path);
            self.state.files.remove(&key);
        }
    }

    /// Reports whether this script made the file, or the folder it is in.
    pub(super) fn made_here(&self, path: &str) -> bool {
        if self.state.files.is_empty() {
            return false;
        }
        let key = self.key(path);
        let mut folder = key.as_str();
        loop {
            if self.state.files.get(folder).is_some_and(|file| file.whole) {
                return true;
            }
            match folder.rsplit_once('/') {
                Some((above, _)) if !above.is_empty() => folder = above,
                _ => return false,
            }
        }
    }

    /// Returns the known content of a file.
    pub(super) fn content_of(&self, path: &Arg) -> Stream {
        if !self.state.files.is_empty() {
            let key = self.key(&path.text);
            if let Some(file) = self.state.files.get(&key) {
                let content = file.content.clone();
                return Stream { taint: content.taint.with(Tag::Local), ..content };
            }
            if self.is_below_fetched(&key) {
                return Stream::unknown(Tags::of(&[Tag::Local, Tag::Fetched]));
            }
        }
        if let Some(noise) = super::exhaust::of_device(&path.text) {
            return noise;
        }
        let tags = location::locate(&path.text, &self.scene_now());
        let mut taint = Tags::of(&[Tag::Local]).and(path.taint.without(Tag::Created));
        for tag in [Tag::Secret, Tag::Accounts, Tag::History] {
            if tags.has(tag) {
                taint = taint.with(Tag::Secret);
            }
        }
        Stream::unknown(taint)
    }

    /// Returns the content of a file that a command takes as its input.
    pub(super) fn read_file(&mut self, path: &Arg) -> Stream {
        if let Some(stream) = &path.stream {
            return (**stream).clone();
        }
        self.note_path(FactKind::Read, path, Tags::NONE);
        self.content_of(path)
    }
}
