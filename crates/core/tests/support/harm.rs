//! The hard-blocked actions, in every spelling we could think of.

use proptest::prelude::*;
use proptest::sample::select;

use super::wrap::{Form, Script};

/// Spellings of `/`, relative to `/home/dev/project`.
const ROOTS: &[&str] = &[
    "/",
    "//",
    "/.",
    "/./",
    "/..",
    "/../",
    "/*",
    "//*",
    "/./*",
    "'/'",
    "\"/\"",
    "$'/'",
    "$'\\x2f'",
    "/home/..",
    "/etc/../",
    "/usr/../*",
    "/usr/bin/../..",
    "~/../..",
    "\"$HOME\"/../..",
    "${HOME}/../../",
    "../../..",
    "$PWD/../../..",
    "$(echo /)",
    "`echo /`",
    "${x:-/}",
    "-- /",
    "--no-preserve-root /",
    "/tmp/x /",
    "/ /tmp/x",
    "{/,/tmp/x}",
    "\"/\"*",
];

const FLAGS: &[&str] = &[
    "-rf",
    "-fr",
    "-r -f",
    "-f -r",
    "-R -f",
    "-Rf",
    "-fR",
    "--recursive --force",
    "--force --recursive",
    "-rfv",
    "-vfr",
    "-r --force",
    "--recursive -f",
    "-rf -v",
    "-rf --one-file-system",
    "-rf --preserve-root=all",
    "-\"rf\"",
    "-r''f",
    "--recurs --forc",
    "${x:--rf}",
];

/// A strategy for every hard-blocked action.
pub(crate) fn harm() -> impl Strategy<Value = Script> {
    prop_oneof![
        4 => remove_root(),
        2 => make_filesystem(),
        2 => overwrite_device(),
        1 => select(FORK_BOMBS).prop_map(list),
        4 => write_blocked(),
    ]
}

fn remove_root() -> impl Strategy<Value = Script> {
    let plain = (program(&["rm"]), select(FLAGS), select(ROOTS), any::<bool>()).prop_map(
        |(rm, flags, root, flags_last)| match (flags_last, root.starts_with('-')) {
            (true, false) => words(format!("{rm} {root} {flags}")),
            _ => words(format!("{rm} {flags} {root}")),
        },
    );
    prop_oneof![6 => plain, 1 => select(REMOVE_ROOT_OTHERWISE).prop_map(list)]
}

const REMOVE_ROOT_OTHERWISE: &[&str] = &[
    "cd / && rm -rf *",
    "cd / && rm -rf ./*",
    "cd /; rm -rf .",
    "cd /usr; rm -rf ..",
    "pushd / && rm -rf -- *",
    "X=rm; $X -rf /",
    "X='rm -rf /'; $X",
    "X=/; rm -rf $X",
    "X=/; rm -rf \"${X}\"",
    "a=r b=m; $a$b -rf /",
    "X=-rf; rm $X /",
    "declare X=rm; ${X} -rf /",
    "export T=/; rm -rf \"$T\"",
    "for d in /; do rm -rf $d; done",
    "for p in rm; do $p -rf /; done",
    "x=(rm -rf /); \"${x[@]}\"",
    "zap() { rm -rf \"$1\"; }; zap /",
    "zap() { \"$@\"; }; zap rm -rf /",
    "{rm,-rf,/}",
    "echo / | xargs rm -rf",
    "printf '/\\n' | xargs -n1 rm -rf",
    "xargs rm -rf <<< /",
    "find / -delete",
    "watch rm -rf /",
    "watch -n 5 -- rm -rf /",
    "env -S 'rm -rf /'",
];

fn make_filesystem() -> impl Strategy<Value = Script> {
    const PROGRAMS: &[&str] =
        &["mkfs", "mkfs.ext4", "mkfs.ext3", "mkfs.xfs", "mkfs.btrfs", "mkfs.vfat", "mkfs.ntfs"];
    const TARGETS: &[&str] = &[
        "/dev/sda1",
        "-F /dev/sda1",
        "-t ext4 /dev/sdb",
        "-L data /dev/nvme0n1p1",
        "/dev/mapper/vg",
        "-q \"/dev/vda\"",
        "disk.img",
    ];
    (program(PROGRAMS), select(TARGETS))
        .prop_map(|(mkfs, target)| words(format!("{mkfs} {target}")))
}

fn overwrite_device() -> impl Strategy<Value = Script> {
    const OPERANDS: &[&str] = &[
        "if=/dev/zero of=/dev/sda",
        "of=/dev/sda if=/dev/zero",
        "if=image.iso of=/dev/nvme0n1 bs=4M status=progress",
        "if=/dev/urandom of=/dev/vda bs=1M count=10",
        "bs=1M of=/dev/mmcblk0",
        "if=/dev/zero \"of=/dev/sdb\"",
        "if=/dev/zero of=\"/dev/sdb\"",
        "if=a of=/dev/disk/by-id/usb-0",
        "if=/dev/zero of=/dev/../dev/sda",
        "if=/dev/zero of=/dev/sd${x:-a}",
    ];
    (program(&["dd"]), select(OPERANDS))
        .prop_map(|(dd, operands)| words(format!("{dd} {operands}")))
}

const FORK_BOMBS: &[&str] = &[
    ":(){ :|:& };:",
    ":() { : | : & } ; :",
    "f(){ f|f& };f",
    "bomb() { bomb | bomb & }; bomb",
    "function f { f | f & }; f",
    "f() { f & f & }; f",
    "f() {\n  f | f &\n}\nf",
    "f() ( f | f & ); f",
];

/// Paths that must never be written.
pub(crate) const BLOCKED_PATHS: &[&str] = &[
    "/etc/shadow",
    "/etc/passwd",
    "/etc/sudoers",
    "/etc/sudoers.d/zz",
    "/proc/sysrq-trigger",
    "/proc/sys/kernel/core_pattern",
    "/sys/power/state",
    "/dev/sda",
    "/dev/nvme0n1",
    "/dev/mem",
];

fn write_blocked() -> impl Strategy<Value = Script> {
    const WORDS: &[&str] = &[
        "tee {}",
        "tee -a {}",
        "tee x {}",
        "cp x {}",
        "cp -f x y/z {}",
        "mv x {}",
        "mv -f x {}",
        "sed -i s/a/b/ {}",
        "install -m 644 x {}",
        "ln -sf /tmp/x {}",
        "truncate -s 0 {}",
        "rm -f {}",
        "dd if=x of={}",
        "shred -u {}",
    ];
    const LISTS: &[&str] = &[
        "echo x > {}",
        "echo x >> {}",
        "cat x >| {}",
        "> {}",
        ": > {}",
        "echo x 2> {}",
        "echo x &> {}",
        "exec 3> {}",
        "printf x | tee {}",
        "printf x | sudo tee -a {}",
        "cat <<< x > {}",
        "> {} echo x",
        "X={}; echo x > \"$X\"",
        "cd /; echo x > .{}",
    ];
    let path = (select(BLOCKED_PATHS), 0..PATH_SPELLINGS).prop_map(|(path, how)| spelt(path, how));
    let words_with =
        (select(WORDS), path).prop_map(|(form, path)| words(form.replace("{}", &path)));
    let path = (select(BLOCKED_PATHS), 0..PATH_SPELLINGS).prop_map(|(path, how)| spelt(path, how));
    let list_with = (select(LISTS), path).prop_map(|(form, path)| list(form.replace("{}", &path)));
    prop_oneof![words_with, list_with]
}

const PATH_SPELLINGS: usize = 9;

/// The same path, written another way.
fn spelt(path: &str, how: usize) -> String {
    let (folder, name) = path.rsplit_once('/').unwrap_or_default();
    match how {
        1 => format!("'{path}'"),
        2 => format!("\"{path}\""),
        3 => format!("/{folder}//{name}"),
        4 => format!("{folder}/./{name}"),
        5 => format!("{folder}{}{path}", "/..".repeat(folder.matches('/').count())),
        6 => format!("{folder}/''{name}"),
        7 => format!("/tmp/..{path}"),
        8 => format!("$(echo {path})"),
        _ => path.to_owned(),
    }
}

/// A program's name in one of its spellings.
fn program(names: &'static [&'static str]) -> impl Strategy<Value = String> {
    (select(names), 0..14_usize).prop_map(|(name, how)| {
        let (first, rest) = name.split_at(1);
        let codes = |radix: fn(u8) -> String| name.bytes().map(radix).collect::<String>();
        match how {
            1 => format!("/bin/{name}"),
            2 => format!("/usr/sbin/{name}"),
            3 => format!("{first}''{rest}"),
            4 => format!("{first}\"\"{rest}"),
            5 => format!("{first}\\{rest}"),
            6 => format!("\\{name}"),
            7 => format!("'{name}'"),
            8 => format!("\"{name}\""),
            9 => format!("$'{}'", codes(|byte| format!("\\x{byte:02x}"))),
            10 => format!("$'{}'", codes(|byte| format!("\\{byte:03o}"))),
            11 => format!("${{x:-{name}}}"),
            12 => format!("$(echo {name})"),
            13 => format!("\"$(printf %s {name})\""),
            _ => name.to_owned(),
        }
    })
}

fn words(text: String) -> Script {
    Script { text, form: Form::Words }
}

fn list(text: impl Into<String>) -> Script {
    Script { text: text.into(), form: Form::List }
}
