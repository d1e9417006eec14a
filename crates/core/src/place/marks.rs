//! Names that mean something wherever they stand: secrets, start-up files, histories, the guard.

use crate::fact::{Tag, Tags};
use crate::place::{Scene, base_name, is_below, normalize};

/// Folders directly below the root whose loss is the machine's.
pub(super) const TOPS: &[&str] = &[
    "/bin",
    "/boot",
    "/etc",
    "/home",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/mnt",
    "/media",
    "/opt",
    "/root",
    "/run",
    "/sbin",
    "/snap",
    "/srv",
    "/usr",
    "/var",
    "/nix",
    "/tmp",
    "/dev",
    "/Applications",
    "/Library",
    "/System",
    "/Users",
    "/Volumes",
    "/private",
    "/usr/bin",
    "/usr/lib",
    "/usr/local",
    "/usr/sbin",
    "/usr/share",
    "/var/lib",
    "/var/log",
    "/var/tmp",
];

/// Everything below these belongs to the system.
pub(super) const SYSTEM: &[&str] = &[
    "/bin",
    "/boot",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/run",
    "/sbin",
    "/snap",
    "/srv",
    "/usr",
    "/var",
    "/nix",
    "/dev",
    "/Applications",
    "/Library",
    "/System",
    "/private",
];

/// Folders anyone may fill and the system may empty.
pub(super) const TEMPS: &[&str] =
    &["/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp", "/var/folders", "/dev/shm"];

const ACCOUNTS: &[&str] = &[
    "/etc/passwd",
    "/etc/passwd-",
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/shadow~",
    "/etc/group",
    "/etc/group-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/master.passwd",
    "/etc/security",
    "/etc/doas.conf",
    "/usr/local/etc/sudoers",
];

const BLOCKED: &[&str] = &["/etc/passwd", "/etc/shadow", "/etc/sudoers", "/etc/sudoers.d"];

const SIGN_IN: &[&str] = &[
    "/etc/pam.d",
    "/etc/pam.conf",
    "/etc/ssh",
    "/etc/ssl",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/security",
    "/etc/nsswitch.conf",
    "/etc/ld.so.preload",
    "/usr/local/etc/sudoers",
];

const STARTUP_FOLDERS: &[&str] = &[
    "/etc/cron.d",
    "/etc/cron.daily",
    "/etc/cron.hourly",
    "/etc/cron.weekly",
    "/etc/cron.monthly",
    "/etc/crontab",
    "/var/spool/cron",
    "/etc/systemd",
    "/lib/systemd",
    "/usr/lib/systemd",
    "/run/systemd",
    "/etc/init.d",
    "/etc/rc.local",
    "/etc/rc.common",
    "/etc/rc.d",
    "/etc/profile",
    "/etc/profile.d",
    "/etc/bash.bashrc",
    "/etc/zsh",
    "/etc/environment",
    "/etc/xdg/autostart",
    "/etc/ld.so.preload",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/Library/LaunchAgents",
    "/Library/LaunchDaemons",
    "/Library/StartupItems",
    "/etc/at.allow",
    "/etc/update-motd.d",
    "/etc/udev/rules.d",
    "/etc/modules",
    "/etc/modules-load.d",
    "/etc/apt/apt.conf.d",
];

const STARTUP_NAMES: &[&str] = &[
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".kshrc",
    ".cshrc",
    ".tcshrc",
    ".login",
    ".inputrc",
    ".xinitrc",
    ".xprofile",
    ".xsession",
    ".pam_environment",
    "authorized_keys",
    "authorized_keys2",
    ".rhosts",
    ".gitconfig",
    "config.fish",
    ".envrc",
];

const STARTUP_PARTS: &[&str] = &[
    "/.config/autostart/",
    "/.config/systemd/",
    "/.config/fish/conf.d/",
    "/Library/LaunchAgents/",
    "/.git/hooks/",
    "/.ssh/rc",
    "/.ssh/config",
    "/.config/git/config",
];

const HISTORIES: &[&str] = &[
    ".bash_history",
    ".zsh_history",
    ".zhistory",
    ".sh_history",
    ".ksh_history",
    ".history",
    ".python_history",
    ".psql_history",
    ".mysql_history",
    ".sqlite_history",
    ".rediscli_history",
    ".node_repl_history",
    ".irb_history",
    ".lesshst",
    ".viminfo",
    "fish_history",
    ".local_history",
    ".dbshell",
    ".mongorc.js",
];

const SECRET_NAMES: &[&str] = &[
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_ecdsa_sk",
    "id_ed25519_sk",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".my.cnf",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".vault-token",
    ".htpasswd",
    ".passwd",
    "htpasswd",
    ".dockercfg",
    ".s3cfg",
    ".boto",
    ".terraformrc",
    "credentials.tfrc.json",
    "wallet.dat",
    "keychain.db",
    "login.keychain-db",
    "logins.json",
    "key4.db",
    "key3.db",
    "cookies.sqlite",
    "Cookies.binarycookies",
    "Login Data",
    "Local State",
    ".credentials.json",
    "msal_token_cache.json",
    "accessTokens.json",
    "access_tokens.db",
    "credentials.db",
    "application_default_credentials.json",
    "krb5.keytab",
    "smbpasswd",
    "secrets.yml",
    "secrets.yaml",
    "secrets.json",
    "secrets.toml",
    "shadow",
    "gshadow",
    ".pgpass",
    "hosts.yml.gh",
    "kubeconfig",
    "admin.conf.kube",
    "rclone.conf",
    "Cookies",
];

const SECRET_ENDINGS: &[&str] = &[".kdbx", ".p12", ".pfx", ".keytab", ".ppk", ".agekey"];

const SECRET_PARTS: &[&str] = &[
    "/.aws/",
    "/.azure/",
    "/.gnupg/",
    "/.config/gcloud/",
    "/.kube/config",
    "/.docker/config.json",
    "/.config/gh/hosts.yml",
    "/.password-store/",
    "/.oci/",
    "/.config/op/",
    "/Library/Keychains/",
    "/.local/share/keyrings/",
    "/serviceaccount/token",
    "/run/secrets/",
    "/.config/rclone/",
    "/.config/hub",
    "/.cargo/credentials",
    "/.gem/credentials",
    "/.fly/",
    "/.ssh/",
    "/etc/kubernetes/pki/",
    "/etc/ssl/private/",
    "/etc/wireguard/",
];

const GUARD_PARTS: &[&str] = &[
    "/.countersign",
    "/.config/countersign",
    "/.local/share/countersign",
    "/etc/countersign",
    "/.claude/settings.json",
    "/.claude/settings.local.json",
    "/etc/claude-code/",
    "/ClaudeCode/",
    "/.claude/hooks",
    "/.codex/config.toml",
    "/.codex/hooks",
    "/.codex/rules",
    "/etc/codex/",
    "/.gemini/settings.json",
    "/.gemini/policies",
    "/etc/gemini-cli/",
    "/.cursor/hooks",
    "/.github/hooks/",
    "/.copilot/hooks",
    "/.copilot/config.json",
    "/.config/opencode/plugin",
    "/.opencode/plugin",
    "/.windsurf/hooks",
    "/.codeium/windsurf/hooks",
    "/.factory/settings.json",
    "/.factory/hooks",
    "/.clinerules/hooks",
    "/.cline/hooks",
    "/countersign.yaml",
    "/countersign.sock",
];

const BUILD_FOLDERS: &[&str] = &[
    "node_modules",
    "target",
    "dist",
    "build",
    "out",
    ".next",
    ".nuxt",
    ".output",
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".tox",
    ".nox",
    "htmlcov",
    "coverage",
    ".nyc_output",
    ".gradle",
    ".parcel-cache",
    ".turbo",
    ".svelte-kit",
    ".eggs",
    "DerivedData",
    "_build",
    ".dart_tool",
    "cmake-build-debug",
    "cmake-build-release",
    ".zig-cache",
    "zig-out",
    ".angular",
    ".vite",
    ".docusaurus",
    "storybook-static",
    "bower_components",
    ".sass-cache",
];

const BUILD_ENDINGS: &[&str] =
    &[".pyc", ".pyo", ".o", ".obj", ".class", ".egg-info", ".tsbuildinfo"];

/// What a path's names mean.
pub(super) fn of(path: &str, scene: &Scene<'_>) -> Tags {
    let name = base_name(path);
    let below = |folders: &[&str]| folders.iter().any(|folder| is_below(path, folder));
    // With a slash at the end a folder contains itself: `/.ssh/` is also found in `~/.ssh`.
    let slashed = format!("{path}/");
    let holds = |parts: &[&str]| parts.iter().any(|part| slashed.contains(part));
    let mut tags = Tags::NONE;
    let mut mark = |is: bool, tag| {
        if is {
            tags = tags.with(tag);
        }
    };
    mark(below(ACCOUNTS), Tag::Accounts);
    mark(below(BLOCKED), Tag::Blocked);
    mark(below(SIGN_IN) || name.starts_with("authorized_keys"), Tag::SignIn);
    mark(
        below(STARTUP_FOLDERS) || STARTUP_NAMES.contains(&name) || holds(STARTUP_PARTS),
        Tag::Startup,
    );
    mark(HISTORIES.contains(&name), Tag::History);
    mark(below(&["/var/log", "/Library/Logs"]), Tag::Log);
    mark(holds(GUARD_PARTS), Tag::Guard);
    mark(slashed.contains("/.git/"), Tag::GitDir);
    mark(is_secret(name, &slashed), Tag::Secret);
    mark(is_build_output(path, name, scene), Tag::BuildOutput);
    tags
}

fn is_secret(name: &str, slashed: &str) -> bool {
    if name.ends_with(".pub") || is_sample(name) {
        return false;
    }
    if ["known_hosts", "config", "authorized_keys", "known_hosts.old"].contains(&name)
        && slashed.contains("/.ssh/")
    {
        return false;
    }
    is_dot_env(name)
        || SECRET_NAMES.contains(&name)
        || SECRET_ENDINGS.iter().any(|ending| name.ends_with(ending))
        || SECRET_PARTS.iter().any(|part| slashed.contains(part))
}

/// `.env`, `.env.production`, `prod.env`, `.envrc`.
fn is_dot_env(name: &str) -> bool {
    name == ".env"
        || name.starts_with(".env.")
        || name == ".envrc"
        || (name.ends_with(".env") && name.len() > 4)
}

fn is_sample(name: &str) -> bool {
    ["example", "sample", "template", "dist", "defaults", "schema", "tmpl"].iter().any(|word| {
        name.ends_with(&format!(".{word}"))
            || name.ends_with(&format!("-{word}"))
            || name.contains(&format!(".{word}."))
            || name.starts_with(&format!("{word}."))
    })
}

/// Only inside the workspace or a temporary folder: `/usr/lib/build` is nobody's build output.
fn is_build_output(path: &str, name: &str, scene: &Scene<'_>) -> bool {
    let Some(workspace) = scene.workspace().map(normalize) else { return false };
    let Some(inside) = path.strip_prefix(&*workspace) else { return false };
    if inside.contains("/.git/") || inside.ends_with("/.git") {
        return false;
    }
    BUILD_ENDINGS.iter().any(|ending| name.ends_with(ending))
        || inside.split('/').any(|part| BUILD_FOLDERS.contains(&part))
}
