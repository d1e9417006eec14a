//! A temporary folder: a home for the host, a project with a remote, the hook, and harmless
//! substitutes for programs that must never really run.
//!
//! ```text
//! home/      the host's own settings, and the hook, put there by `countersign install`
//! project/   where the agent works
//! remote.git the remote to which it pushes
//! bin/       the hook's program
//! tools/     first on the path: an `mkfs.ext4` that only creates a file
//! ```

use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, bail};
use countersign_gate::clock::{Clock, System, random};

use super::recipe::Recipe;
use crate::host::codex::trust;

/// The program that runs as the hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Program {
    /// Our own binary.
    Ours,
    /// Writes nothing for a long time.
    Hanging,
    /// Writes something that is not an answer.
    Garbage,
}

/// Longer than the timeout of any host that was set to [`super::SHORT`] seconds, or cannot be set.
const HANGS: &str = "45";
/// A port at which nothing listens, for the other traffic of hosts.
const NOWHERE: &str = "http://127.0.0.1:9";

/// The folder, removed when this value is dropped.
#[derive(Debug)]
pub(super) struct Stage {
    folder: PathBuf,
}

impl Stage {
    /// Creates the folder with everything but the host's settings.
    ///
    /// # Errors
    /// A part of it cannot be created.
    pub(super) fn make() -> Result<Self> {
        let name: [u8; 8] = random(&System as &dyn Clock)?;
        let name = format!("countersign-live-{:016x}", u64::from_le_bytes(name));
        let folder = std::env::temp_dir().join(name);
        let made = DirBuilder::new().mode(0o700).create(&folder);
        made.with_context(|| format!("cannot make `{}`", folder.display()))?;
        // From here on, a failure removes the folder.
        let mut stage = Self { folder };
        stage.folder = stage.folder.canonicalize()?;
        for part in ["home", "project", "bin", "tools", "tmp"] {
            fs::create_dir(stage.at(part))?;
        }
        stage.stand_ins()?;
        stage.repository()?;
        stage.put(Program::Ours)?;
        Ok(stage)
    }

    fn at(&self, part: &str) -> PathBuf {
        self.folder.join(part)
    }

    /// The host's home folder.
    pub(super) fn home(&self) -> PathBuf {
        self.at("home")
    }

    /// The data folder of a server for this home folder.
    pub(super) fn data(&self) -> PathBuf {
        self.home().join(".local/share/countersign")
    }

    /// The path of the hook's program.
    pub(super) fn program(&self) -> PathBuf {
        self.at("bin/countersign")
    }

    /// Reports whether the branch was pushed.
    pub(super) fn is_pushed(&self, branch: &str) -> bool {
        self.at("remote.git/refs/heads").join(branch).exists()
    }

    /// Reports whether the substitute for `mkfs.ext4` was run.
    pub(super) fn is_formatted(&self) -> bool {
        self.at("formatted").exists()
    }

    fn stand_ins(&self) -> Result<()> {
        let mark = crate::quote::join([&*self.at("formatted").to_string_lossy()]);
        let script = format!("#!/bin/sh\n: > {mark}\necho formatted\n");
        executable(&self.at("tools/mkfs.ext4"), &script)?;
        // Some hosts start a shell that resets `PATH`.
        let tools = crate::quote::join([&*self.at("tools").to_string_lossy()]);
        for file in [".profile", ".bash_profile", ".bashrc", ".zshenv"] {
            fs::write(self.home().join(file), format!("export PATH={tools}:\"$PATH\"\n"))?;
        }
        Ok(())
    }

    /// Creates a project with one commit, and an empty remote.
    fn repository(&self) -> Result<()> {
        let (project, remote) = (self.at("project"), self.at("remote.git"));
        fs::write(project.join("README.md"), "A project to try things in.\n")?;
        self.git(&["init", "--quiet", "--bare", &remote.to_string_lossy()])?;
        self.git(&["init", "--quiet"])?;
        self.git(&["checkout", "--quiet", "-b", "main"])?;
        self.git(&["config", "user.name", "Nobody"])?;
        self.git(&["config", "user.email", "nobody@localhost"])?;
        self.git(&["add", "README.md"])?;
        self.git(&["commit", "--quiet", "--message", "Begin"])?;
        self.git(&["remote", "add", "origin", &remote.to_string_lossy()])
    }

    fn git(&self, words: &[&str]) -> Result<()> {
        let mut command = self.command("git");
        let ended = command.args(words).output().context("`git` cannot be started")?;
        if !ended.status.success() {
            bail!("`git {}`: {}", words.join(" "), String::from_utf8_lossy(&ended.stderr).trim());
        }
        Ok(())
    }

    /// Replaces the hook's program.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn put(&self, program: Program) -> Result<()> {
        let path = self.program();
        // A new file, so that a running program keeps its own.
        let _ = fs::remove_file(&path);
        match program {
            Program::Ours => {
                let ours = std::env::current_exe().context("cannot find our own binary")?;
                fs::copy(ours, &path).context("cannot copy our own binary")?;
                Ok(())
            }
            Program::Hanging => executable(&path, &format!("#!/bin/sh\nexec sleep {HANGS}\n")),
            Program::Garbage => executable(&path, "#!/bin/sh\necho '} this is not an answer {'\n"),
        }
    }

    /// A command in the project, with the environment of the trial and none of the user's.
    pub(super) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.at("project")).env_clear().stdin(Stdio::null());
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.at("tools").display()));
        command.env("HOME", self.home()).env("TMPDIR", self.at("tmp"));
        command.env("LANG", "C.UTF-8").env("TERM", "dumb").env("SHELL", "/bin/sh");
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_TERMINAL_PROMPT", "0");
        command.env("DO_NOT_TRACK", "1").env("NO_COLOR", "1");
        for (way, to) in [("HTTP_PROXY", NOWHERE), ("HTTPS_PROXY", NOWHERE)] {
            command.env(way, to).env(way.to_lowercase(), to);
        }
        command.env("NO_PROXY", "127.0.0.1,localhost").env("no_proxy", "127.0.0.1,localhost");
        command
    }

    /// Writes the host's settings, and installs the hook as a user would.
    ///
    /// # Errors
    /// It cannot be installed.
    pub(super) fn install(&self, recipe: &Recipe, url: &str, seconds: u64) -> Result<()> {
        for (file, text) in (recipe.files)(url) {
            let path = self.home().join(file);
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::write(path, text)?;
        }
        let mut command = self.command(&self.program().to_string_lossy());
        let seconds = seconds.to_string();
        command.args(["install", recipe.host, "--user", "--yes", "--timeout", &seconds]);
        let ended = command.output().context("the hook's program cannot be started")?;
        if !ended.status.success() {
            let said = String::from_utf8_lossy(&ended.stderr).trim().to_owned();
            bail!("the hook cannot be installed: {said}");
        }
        self.accept(recipe)
    }

    /// Accepts the hook in place of the host's user, where the host would otherwise skip it.
    fn accept(&self, recipe: &Recipe) -> Result<()> {
        if recipe.host != "codex" {
            return Ok(());
        }
        let hooks = self.home().join(".codex/hooks.json");
        let config = self.home().join(".codex/config.toml");
        let accepted = trust::danger_accepted(&hooks, &fs::read_to_string(&hooks)?);
        fs::write(&config, format!("{}{accepted}", fs::read_to_string(&config)?))?;
        Ok(())
    }

    /// Starts the host in a process group of its own, with its output redirected to files.
    ///
    /// # Errors
    /// It cannot be started.
    pub(super) fn start(&self, recipe: &Recipe, url: &str) -> Result<Child> {
        let mut command = self.command(recipe.program);
        command.args(recipe.words).envs((recipe.variables)(url)).process_group(0);
        command.stdout(File::create(self.at("out"))?).stderr(File::create(self.at("err"))?);
        command.spawn().with_context(|| format!("`{}` cannot be started", recipe.program))
    }

    /// The last lines of the host's output.
    pub(super) fn printed(&self) -> String {
        let read = |file: &str| fs::read(self.at(file)).unwrap_or_default();
        let (err, out) = (read("err"), read("out"));
        let text = if out.trim_ascii().is_empty() { err } else { out };
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = lines.len().saturating_sub(3);
        lines.get(last..).unwrap_or_default().join(" ")
    }

    /// Replaces the path of this folder in a text by an ellipsis.
    pub(super) fn unnamed(&self, text: &str) -> String {
        text.replace(&*self.folder.to_string_lossy(), "…")
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn executable(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
    Ok(())
}
