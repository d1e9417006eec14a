//! Archives whose files are written, or delete others, in unexpected locations.

use super::Walker;
use super::arguments::Arguments;
use super::value::Arg;
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::location;

/// Programs that unpack, with the options that name the target.
const EXTRACTORS: &[(&[&str], &[&str])] = &[
    (&["unsquashfs"], &["-d", "-dest", "-da"]),
    (
        &["cabextract", "innoextract", "unshield", "lsar", "msiextract"],
        &["-d", "--directory", "-C", "--output-dir"],
    ),
    (&["unar", "7z", "7za", "7zr", "7zz", "unrar", "rar"], &["-o", "-op"]),
    (
        &["atool", "aunpack", "apack", "patool", "dtrx", "ouch"],
        &["-X", "--extract-to", "--outdir", "-d", "--dir"],
    ),
    (&["bsdcpio", "cpio", "pax"], &["-D", "--directory"]),
    (&["dar"], &["-R", "--fs-root"]),
    (&["jar", "ar", "zstd", "star", "gnutar", "bsdunzip"], &["-C", "--output", "-d", "--dir"]),
    (&["dpkg-deb", "rpm2archive", "rpm"], &["--root", "--prefix", "--relocate"]),
    (
        &["fsarchiver", "partclone.restore", "borg", "restic", "duplicity", "bup", "kopia"],
        &["--target", "--dest", "-t", "-C", "--outdir"],
    ),
    (&["skopeo", "umoci", "crane", "undocker", "debootstrap"], &["--rootfs", "--bundle"]),
];

/// Programs that unpack or mount into their last operand.
const LAST: &[&str] = &[
    "unrar",
    "rar",
    "arj",
    "asar",
    "pax",
    "duplicity",
    "squashfuse",
    "fuse-zip",
    "archivemount",
    "mount-zip",
    "ratarmount",
    "fuseiso",
    "lha",
];

/// Options of any program that name the target of its files.
const TARGETS: &[&str] = &[
    "--target",
    "--target-dir",
    "--target-directory",
    "--dest",
    "--destination",
    "--extract-to",
    "--outdir",
    "--output-dir",
    "--install-root",
    "--installroot",
    "--unpack-to",
    "--prefix",
];

const WHOLE: Tags = Tags::of(&[Tag::Recursive]);

impl Walker<'_> {
    /// Records the target of an archive's files.
    pub(super) fn unpacks(&mut self, name: &str, args: &Arguments<'_>) {
        for (_, options) in EXTRACTORS.iter().filter(|(programs, _)| programs.contains(&name)) {
            let letters = args.values(options);
            for folder in letters.iter().chain(&args.whole_values(options)) {
                self.lands(folder);
            }
        }
        if LAST.contains(&name)
            && let [_, .., folder] = args.operands()
        {
            self.lands(folder);
        }
        if unpacks_here(name, args) {
            self.lands_here();
        }
        // For any program: files over the whole machine.
        for folder in args.values(TARGETS).iter().filter(|folder| folder.text == "/") {
            self.note_path(FactKind::Write, folder, WHOLE);
        }
        if let ("dpkg-deb" | "dpkg", Some(folder)) = (name, args.operands().last())
            && args.has_any(&["-x", "-X", "--extract", "--vextract", "-R"])
        {
            self.lands(folder);
        }
        if name.ends_with("tar") {
            self.tar(args);
        }
        if name == "pax" && args.has("-r") {
            self.renamed(args, &Arg::literal("."));
        }
        if matches!(name, "unzip" | "bsdunzip")
            && args.words().iter().any(|word| word.text.starts_with("-:"))
        {
            self.note_path(FactKind::Write, &Arg::literal("../x"), WHOLE.with(Tag::Escapes));
        }
        if name.ends_with("tar") && !args.has("--force-local") {
            self.archive_elsewhere(args);
        }
        if let ("docker" | "podman" | "nerdctl", Some("cp"), Some(folder)) =
            (name, args.operand(0), args.operands().last())
        {
            self.lands(folder);
        }
    }

    /// Records the current folder, where it is not the workspace.
    fn lands_here(&mut self) {
        if let Some(folder) = self.cwd().map(str::to_owned) {
            self.lands(&Arg::literal(folder));
        }
    }

    fn lands(&mut self, folder: &Arg) {
        let inside = location::locate(&format!("{}/x", folder.text), &self.scene_now());
        let tags = location::locate(&folder.text, &self.scene_now()).and(inside);
        let wide = Tags::of(&[Tag::Root, Tag::Top, Tag::System, Tag::HomeRoot, Tag::Startup]);
        if folder.text.starts_with(['/', '~']) && tags.any(wide) && !tags.has(Tag::Temp) {
            let shown = Fact::new(FactKind::Write, location::shown(&folder.text));
            self.note(shown.tagged(tags.and(WHOLE)).at(folder.span));
        }
    }

    /// Records names that `tar` changes so that files leave their folder, and files that it removes
    /// first.
    fn tar(&mut self, args: &Arguments<'_>) {
        if !args.has_any(&["-x", "--extract", "--get"]) {
            return;
        }
        for folder in args.values(&["--directory", "--one-top-level", "-C"]) {
            self.lands(&folder);
        }
        let folder = args.value(&["-C", "--directory"]).unwrap_or_else(|| Arg::literal("."));
        if args.has("--recursive-unlink") {
            self.note_path(FactKind::Delete, &folder, WHOLE);
        }
        if args.has_any(&["-P", "--absolute-names", "--absolute-paths"]) {
            self.note_path(FactKind::Write, &folder.saying("/"), WHOLE);
        }
        self.renamed(args, &folder);
    }

    /// Records an archive on another machine: `tar cf host:x.tar .`.
    fn archive_elsewhere(&mut self, args: &Arguments<'_>) {
        let made = args.has_any(&["-c", "--create", "-r", "--append", "-u", "--update"]);
        let elsewhere =
            args.values(&["-f", "--file"]).iter().any(|file| location::is_remote(&file.text));
        if made && elsewhere {
            for source in args.operands() {
                self.note_path(FactKind::Send, source, Tags::of(&[Tag::Local]));
            }
        }
    }

    /// Records names that a rule changes so that files leave their folder.
    fn renamed(&mut self, args: &Arguments<'_>, folder: &Arg) {
        for rule in args.values(&["--transform", "--xform", "-s"]) {
            let Some(put) = replacement(&rule.text).filter(|put| escapes(put)) else { continue };
            let target = if put.starts_with(['/', '~']) {
                put.to_owned()
            } else {
                format!("{}/{put}", folder.text)
            };
            let tags = WHOLE.with(Tag::Escapes);
            self.note_path(FactKind::Write, &rule.saying(target), tags);
        }
    }
}

/// Reports whether a program unpacks into the current folder.
fn unpacks_here(name: &str, args: &Arguments<'_>) -> bool {
    let first = args.operand(0).unwrap_or_default();
    match name {
        "tar" | "gtar" | "bsdtar" | "star" => {
            args.has_any(&["-x", "--extract", "--get"])
                && !args.has_any(&["-C", "--directory", "-O"])
        }
        "unzip" | "bsdunzip" => !args.has_any(&["-d", "-l", "-p", "-t", "-v", "-Z"]),
        "cpio" | "bsdcpio" => args.has_any(&["-i", "--extract"]) && !args.has_any(&["-D", "-t"]),
        "7z" | "7za" | "7zr" | "7zz" => matches!(first, "x" | "e") && !args.has("-o"),
        "unrar" | "rar" | "arj" => matches!(first, "x" | "e") && args.operands().len() < 3,
        "borg" | "ar" | "jar" => matches!(first, "extract" | "x" | "xf"),
        "pax" => args.has("-r"),
        _ => false,
    }
}

/// Returns the replacement of `s,PATTERN,REPLACEMENT,`.
fn replacement(rule: &str) -> Option<&str> {
    let rest = rule.strip_prefix('s').unwrap_or(rule);
    let mark = rest.chars().next().filter(|char| !char.is_alphanumeric())?;
    rest.split(mark).nth(2)
}

fn escapes(put: &str) -> bool {
    put.starts_with(['/', '~']) || put.split('/').any(|part| part == "..")
}
