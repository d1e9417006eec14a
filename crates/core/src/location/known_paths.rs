//! Names with a meaning in any folder: secrets, start-up files, histories.

use crate::fact::{Tag, Tags};
use crate::location::{Scene, base_name, clean, is_below};

/// Folders directly below the root whose loss breaks the machine.
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

/// Folders that belong to the system, with everything below them.
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

/// Folders that anyone may fill and the system may empty.
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

/// Files about accounts and signing in that reveal nothing about how anybody signs in.
pub(super) const PUBLIC: &[&str] = &["/etc/group", "/etc/nsswitch.conf"];

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
    "sitecustomize.py",
    "usercustomize.py",
];

const STARTUP_PARTS: &[&str] = &[
    "/.config/environment.d/",
    "/.config/direnv/",
    "/.config/plasma-workspace/",
    "/.local/share/applications/",
    "/.devcontainer/",
    "/.config/autostart/",
    "/.config/systemd/",
    "/.config/fish/conf.d/",
    "/Library/LaunchAgents/",
    "/.git/hooks/",
    "/.git/config/",
    "/.git/info/attributes/",
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
    "wp-config.php",
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
    "Web Data",
    "environ",
    ".databrickscfg",
    ".mylogin.cnf",
    ".sentryclirc",
    ".snowsql",
    ".Xauthority",
    ".ICEauthority",
    "settings-security.xml",
    "sitemanager.xml",
    "recentservers.xml",
    ".cloudflared",
    ".tugboat",
    ".rediscli_auth",
    ".smbcredentials",
    "rstudio-keyring",
];

const SECRET_ENDINGS: &[&str] =
    &[".kdbx", ".p12", ".pfx", ".keytab", ".ppk", ".agekey", ".key", ".tfstate"];

/// Folders whose data files are secrets, and the endings of data files.
const SECRET_FOLDERS: &[&str] = &["/secrets/", "/.secrets/", "/credentials/", "/private_keys/"];
const DATA_ENDINGS: &[&str] =
    &[".json", ".yaml", ".yml", ".toml", ".env", ".txt", ".ini", ".properties", ".pem"];

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
    "/Library/Mail/",
    "/Library/Messages/",
    "/Library/Safari/",
    "/Library/Cookies/",
    "/.mozilla/firefox/",
    "/.thunderbird/",
    "/google-chrome/Default/",
    "/etc/kubernetes/pki/",
    "/etc/ssl/private/",
    "/etc/wireguard/",
    "/etc/ppp/",
    "/etc/ipsec.secrets",
    "/etc/sssd/",
    "/etc/openvpn/",
    "/etc/NetworkManager/system-connections/",
    "/etc/wpa_supplicant/",
    "/etc/rancher/",
    "/etc/kubernetes/admin.conf",
    "/etc/mysql/debian.cnf",
    "/etc/postfix/sasl_passwd",
    "/var/lib/cloud/instance",
    "/var/lib/systemd/coredump/",
    "/.vnc/",
    "/.kaggle/",
    "/.electrum/",
    "/.ethereum/keystore/",
    "/.config/solana/",
    "/.config/sops/",
    "/.age/",
    "/.config/github-copilot/",
    "/.config/doctl/",
    "/.config/hcloud/",
    "/.config/stripe/",
    "/.config/configstore/",
    "/.config/chromium/Default/",
    "/.config/BraveSoftware/",
    "/.config/discord/",
    "/.config/Slack/",
    "/.msmtprc/",
    "/.mbsyncrc/",
    "/.fetchmailrc/",
    "/.offlineimaprc/",
    "/.m2/settings.xml",
    "/.gradle/gradle.properties",
    "/.composer/auth.json",
    "/.nuget/NuGet/NuGet.Config",
    "/.bundle/config",
    "/.cassandra/credentials",
    "/.config/ngrok/",
    "/.ngrok2/",
    "/.circleci/cli.yml",
    "/.travis/config.yml",
    "/.config/netlify/",
    "/.netlify/config.json",
    "/.config/glab-cli/",
    "/.config/Bitwarden",
    "/.config/keepassxc/",
    "/.config/filezilla/",
    "/.purple/accounts.xml",
    "/.config/remmina/",
    "/.local/share/remmina/",
    "/.local/share/kwalletd/",
    "/.config/containers/auth.json",
    "/.config/helm/registry/",
    "/.config/heroku/",
    "/.config/vercel/",
    "/.config/wrangler/",
    "/.wrangler/config/",
    "/.railway/",
    "/.supabase/access-token",
    "/.snowflake/",
    "/.dbt/profiles.yml",
    "/.pulumi/credentials.json",
    "/.terraform.d/credentials",
    "/.config/op",
    "/.local/share/atuin/",
    "/.config/tailscale/",
    "/var/lib/tailscale/",
    "/.config/Signal/",
    "/.config/Code/User/globalStorage/state.vscdb",
    "/.config/pip/pip.conf",
    // With this key anybody can forge a yes.
    "/countersign/server.key",
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

/// Returns the tags that follow from the names in a path.
pub(super) fn of(path: &str, scene: &Scene<'_>) -> Tags {
    let name = base_name(path);
    let mut tags = Tags::NONE;
    let mut mark = |is: bool, tag| {
        if is {
            tags = tags.with(tag);
        }
    };
    if is_of_the_system(path) {
        let below = |folders: &[&str]| folders.iter().any(|folder| is_below(path, folder));
        // `/etc/passwd-`, `/etc/shadow~`: copies have the same content.
        let copy_of = |files: &[&str]| {
            files.iter().any(|original| {
                path.strip_prefix(original).is_some_and(|rest| rest.starts_with(['-', '~', '.']))
            })
        };
        mark(below(ACCOUNTS) || copy_of(ACCOUNTS), Tag::Accounts);
        mark(below(BLOCKED) || copy_of(BLOCKED), Tag::Blocked);
        mark(below(SIGN_IN), Tag::SignIn);
        mark(below(STARTUP_FOLDERS), Tag::Startup);
        mark(below(&["/var/log", "/Library/Logs"]), Tag::Log);
    }
    mark(name.starts_with("authorized_keys"), Tag::SignIn);
    mark(STARTUP_NAMES.contains(&name) || is_start_up_by_form(path, scene), Tag::Startup);
    mark(loads_with_python(path, name), Tag::Startup);
    mark(HISTORIES.contains(&name), Tag::History);
    // Most paths have no part that could be in these lists.
    let telling = path.contains("/.") || is_of_the_system(path) || holds(path, TELLING);
    if telling {
        // With a slash at the end a folder contains itself: `/.ssh/` is also found in `~/.ssh`.
        let slashed = format!("{path}/");
        mark(holds(&slashed, STARTUP_PARTS), Tag::Startup);
        mark(slashed.contains("/.git/"), Tag::GitDir);
        mark(is_secret_folder(name, &slashed), Tag::Secret);
    }
    mark(is_secret_name(name), Tag::Secret);
    mark(!is_sample(name) && super::secret::by_words(path, name), Tag::Secret);
    let is_data = DATA_ENDINGS.iter().any(|ending| name.ends_with(ending));
    mark(is_data && !is_sample(name) && holds(path, SECRET_FOLDERS), Tag::Secret);
    mark(is_build_output(path, name, scene), Tag::BuildOutput);
    tags
}

/// Does the same for a plain relative path inside the workspace.
pub(super) fn of_plain(path: &str) -> Tags {
    let name = base_name(path);
    let mut tags = Tags::NONE;
    let is_data = DATA_ENDINGS.iter().any(|ending| name.ends_with(ending));
    if is_secret_name(name)
        || (!is_sample(name) && super::secret::by_words(path, name))
        || (is_data && !is_sample(name) && holds(&format!("/{path}"), SECRET_FOLDERS))
    {
        tags = tags.with(Tag::Secret);
    }
    if STARTUP_NAMES.contains(&name) || loads_with_python(path, name) {
        tags = tags.with(Tag::Startup);
    }
    if HISTORIES.contains(&name) {
        tags = tags.with(Tag::History);
    }
    if name.starts_with("authorized_keys") {
        tags = tags.with(Tag::SignIn);
    }
    if is_made_by_builds(path, name) {
        tags = tags.with(Tag::BuildOutput);
    }
    tags
}

/// Parts without a leading dot that occur in the lists above.
const TELLING: &[&str] = &["/Library/", "/serviceaccount", "/countersign", "/google-chrome/"];

/// Reports whether a folder holds secrets, with all else that is in it: `/etc`, `~/.kube`.
pub(super) fn is_above_secrets(path: &str, home: &str) -> bool {
    if matches!(path, "/" | "/etc" | "/root" | "/home" | "/Users") || path == home {
        return true;
    }
    let inside = path.strip_prefix(home).filter(|rest| rest.starts_with("/."));
    let Some(inside) = inside.map(|rest| format!("{rest}/")) else { return false };
    SECRET_PARTS.iter().any(|part| part.starts_with(&inside))
}

fn holds(text: &str, parts: &[&str]) -> bool {
    parts.iter().any(|part| text.contains(part))
}

fn is_of_the_system(path: &str) -> bool {
    ["/etc", "/var", "/lib", "/usr", "/run", "/Library"].iter().any(|start| path.starts_with(start))
}

fn is_secret_folder(name: &str, slashed: &str) -> bool {
    let public = name.rsplit_once('.').is_some_and(|(_, ending)| ending == "pub")
        || (slashed.contains("/.ssh/")
            && ["known_hosts", "config", "authorized_keys", "known_hosts.old"].contains(&name));
    !public && !is_sample(name) && holds(slashed, SECRET_PARTS)
}

pub(super) fn is_secret_name(name: &str) -> bool {
    (is_dot_env(name)
        || SECRET_NAMES.contains(&name)
        || SECRET_ENDINGS.iter().any(|ending| name.ends_with(ending))
        || (name.contains("priv") && name.rsplit_once('.').is_some_and(|(_, end)| end == "pem")))
        && !is_sample(name)
}

/// Matches `.env`, `.env.production`, `prod.env`, `.envrc`.
fn is_dot_env(name: &str) -> bool {
    name == ".envrc"
        || name.starts_with(".env.")
        || name.rsplit_once('.').is_some_and(|(_, ending)| ending == "env")
}

/// Matches `site-packages/x.pth`, whose lines run whenever Python starts, and `bin/activate`, which
/// runs whenever an environment is entered.
fn loads_with_python(path: &str, name: &str) -> bool {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    (ending == "pth" && path.contains("-packages/"))
        || (name.starts_with("activate") && path.contains("env/bin/"))
}

/// Matches `.env.example`, `secrets.sample.yaml`, which are there to be read.
pub(super) fn is_sample(name: &str) -> bool {
    name.split(['.', '-', '_']).any(|word| {
        matches!(word, "example" | "sample" | "template" | "dist" | "defaults" | "schema" | "tmpl")
    })
}

/// Folders of a home whose files are data or internal to programs, not settings.
const NOT_SETTINGS: &[&str] = &[
    ".cache",
    ".local",
    ".npm",
    ".cargo",
    ".rustup",
    ".pyenv",
    ".nvm",
    ".claude",
    ".codex",
    ".gemini",
    ".cursor",
    ".copilot",
    ".ssh",
    ".m2",
    ".gradle",
    ".Trash",
    ".wine",
    ".steam",
    ".minikube",
    ".vagrant.d",
    ".terraform.d",
    ".venv",
    ".virtualenvs",
    ".ollama",
    ".android",
    ".conda",
    ".julia",
    ".nuget",
    ".dotnet",
    ".bun",
    ".deno",
    ".yarn",
    ".pnpm-store",
    ".git",
    ".trash",
    ".thumbnails",
    ".config",
    ".factory",
    ".vscode",
    ".kube",
    ".countersign",
    ".data",
];

/// Settings in those folders that make programs run code.
const RUN_SETTINGS: &[&str] = &[
    ".local/bin/",
    ".local/lib/",
    ".cargo/config",
    ".cargo/bin/",
    ".m2/settings",
    ".gradle/init",
    ".gradle/gradle.properties",
    ".local/share/applications/",
    ".local/share/dbus-1/",
    ".local/share/systemd/",
    ".local/share/nvim/site/",
    ".local/share/bash-completion/",
    ".local/share/fish/",
    ".local/share/gnome-shell/extensions/",
    ".local/share/nautilus/scripts/",
    ".local/share/kservices5/",
    ".julia/config/",
    "bin/",
    ".yarn/",
    ".ssh/rc",
];

/// Programs whose settings in `.config` only affect appearance or lists.
const MILD_SETTINGS: &[&str] = &["/gtk-", "/fontconfig", "/user-dirs", "/htop", "/Trash"];

/// Matches settings of the user's programs, which may run code when they start: `~/.screenrc`,
/// `~/.config/nvim/init.lua`, `~/.local/bin/ls`.
fn is_start_up_by_form(path: &str, scene: &Scene<'_>) -> bool {
    let home = clean(scene.home());
    let Some(inside) = path.strip_prefix(&*home).and_then(|rest| rest.strip_prefix('/')) else {
        return false;
    };
    if scene.workspace().is_some_and(|workspace| is_below(path, &clean(workspace))) {
        return false;
    }
    let first = inside.split('/').next().unwrap_or_default();
    let in_config = inside.strip_prefix(".config/").is_some_and(|rest| {
        rest.contains('/') && !MILD_SETTINGS.iter().any(|mild| inside.contains(mild))
    });
    RUN_SETTINGS.iter().any(|start| inside.starts_with(start))
        || in_config
        || (first.starts_with('.') && !NOT_SETTINGS.contains(&first))
}

/// Matches build output, only inside the workspace: `/usr/lib/build` is not build output.
fn is_build_output(path: &str, name: &str, scene: &Scene<'_>) -> bool {
    let Some(workspace) = scene.workspace().map(clean) else { return false };
    let Some(inside) = path.strip_prefix(&*workspace) else { return false };
    if inside.contains("/.git/") || inside.ends_with("/.git") {
        return false;
    }
    is_made_by_builds(inside, name)
}

fn is_made_by_builds(inside: &str, name: &str) -> bool {
    BUILD_ENDINGS.iter().any(|ending| name.ends_with(ending))
        || inside.split('/').any(|part| BUILD_FOLDERS.contains(&part))
}
