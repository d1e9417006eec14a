//! The process of one browser and the folder of its profile.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
#[cfg(target_os = "linux")]
use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
use serde_json::json;

use super::failed::Failed;
use super::proxy::Ports;
use super::settings::{BrowserSettings, Sandbox};

/// A running browser. It ends, with everything that it started, when this is dropped; then its
/// profile is removed.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    profile: Profile,
}

/// The two pipes of a browser.
pub(super) struct Pipes {
    pub(super) to_browser: ChildStdin,
    pub(super) from_browser: ChildStdout,
}

/// Chromium reads commands from descriptor 3 and writes to 4. The shell puts the pipes there and
/// becomes Chromium, so that nothing here is unsafe.
const PLACE: &str = "exec \"$0\" \"$@\" 3<&0 4>&1 0</dev/null 1>/dev/null 2>/dev/null";

/// The tries to end what is left, and the time between two.
const MOST_TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(20);

const FLAGS: &[&str] = &[
    "--headless=new",
    "--remote-debugging-pipe",
    // The accessible role and name of an element, where our script can read them.
    "--enable-blink-features=ComputedAccessibilityInfo",
    // Nothing leaves except through our proxy: no QUIC, no UDP of WebRTC.
    "--disable-quic",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--proxy-bypass-list=<-loopback>",
    "--disable-background-networking",
    "--disable-client-side-phishing-detection",
    "--disable-component-extensions-with-background-pages",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-sync",
    "--disable-features=AsyncDns,AutofillServerCommunication,DialMediaRouteProvider,DnsOverHttps,\
     HttpsUpgrades,MediaRouter,NetworkTimeServiceQuerying,OptimizationHints,Prerender2,Translate",
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-search-engine-choice-screen",
    "--deny-permission-prompts",
    "--metrics-recording-only",
    "--mute-audio",
    "--no-default-browser-check",
    "--no-first-run",
    "--no-pings",
    "--password-store=basic",
    "--use-mock-keychain",
    // Timers of a page that nobody looks at run as fast as those of one that is looked at.
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--window-size=1280,900",
];

impl Process {
    /// Starts a browser with a fresh profile, of which the proxy is the only route.
    pub(super) fn start(settings: &BrowserSettings, ports: Ports) -> Result<(Self, Pipes), Failed> {
        let cannot = |error: io::Error| {
            let program = settings.program.display();
            Failed::because("NoBrowser", format!("cannot start `{program}`: {error}"))
        };
        let profile = Profile::create(&settings.folder).map_err(cannot)?;
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(PLACE).arg(&settings.program).args(FLAGS);
        if settings.sandbox == Sandbox::DangerOff {
            command.arg("--no-sandbox");
        }
        command
            .arg(format!("--user-data-dir={}", profile.0.join("data").display()))
            .arg(ports.flag())
            .arg("about:blank")
            .env_clear()
            .env("HOME", &profile.0)
            .env("TMPDIR", &profile.0)
            .env("LANG", "C.UTF-8")
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .current_dir(&profile.0)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().map_err(cannot)?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let process = Self { child, profile };
        let (to_browser, from_browser) =
            pipes.ok_or_else(|| cannot(io::Error::from(io::ErrorKind::BrokenPipe)))?;
        Ok((process, Pipes { to_browser, from_browser }))
    }

    /// The folder into which the browser writes downloads.
    pub(super) fn downloads(&self) -> PathBuf {
        self.profile.0.join("downloads")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.wait();
        // What has left the group is known by the home folder that it was given. A process that is
        // being killed is there for a moment more.
        for _ in 0..MOST_TRIES {
            if end_all(&self.profile.0) == 0 {
                return;
            }
            thread::sleep(PAUSE);
        }
    }
}

/// Ends every process that was started with this home folder; returns how many there were.
fn end_all(home: &Path) -> usize {
    let home = [b"HOME=", home.as_os_str().as_bytes()].concat();
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = all.filter_map(|it| it.file_name().to_str()?.parse().ok());
    numbers.filter_map(Pid::from_raw).filter(|pid| end(*pid, &home).is_some()).count()
}

/// Ends a process, if its environment says so. The handle is taken first, so that it cannot be
/// another process with the same number by then.
#[cfg(target_os = "linux")]
fn end(pid: Pid, home: &[u8]) -> Option<()> {
    let handle = pidfd_open(pid, PidfdFlags::empty()).ok()?;
    let environment = fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero())).ok()?;
    environment.split(|byte| *byte == 0).find(|entry| *entry == home)?;
    pidfd_send_signal(handle, Signal::KILL).ok()
}

/// Without `/proc` only the group is known.
#[cfg(not(target_os = "linux"))]
const fn end(_: Pid, _: &[u8]) -> Option<()> {
    None
}

/// A folder that only we can read, and that is removed when this is dropped.
#[derive(Debug)]
struct Profile(PathBuf);

/// Switches off what Chromium does by itself and no flag reaches.
fn preferences() -> String {
    json!({
        "autofill": {"credit_card_enabled": false, "profile_enabled": false},
        "credentials_enable_service": false,
        "net": {"network_prediction_options": 2},
        "safebrowsing": {"enabled": false},
        "signin": {"allowed": false},
        "webrtc": {"ip_handling_policy": "disable_non_proxied_udp"},
    })
    .to_string()
}

impl Profile {
    fn create(folder: &Path) -> io::Result<Self> {
        static LAST: AtomicU64 = AtomicU64::new(0);
        DirBuilder::new().mode(0o700).recursive(true).create(folder)?;
        let profile = loop {
            let number = LAST.fetch_add(1, Ordering::Relaxed);
            let name = format!("countersign-browser-{}-{number}", std::process::id());
            // Never a folder that is already there: somebody else may have put it.
            match DirBuilder::new().mode(0o700).create(folder.join(&name)) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                result => break result.map(|()| Self(folder.join(&name)))?,
            }
        };
        fs::create_dir(profile.0.join("downloads"))?;
        fs::create_dir_all(profile.0.join("data/Default"))?;
        fs::write(profile.0.join("data/Default/Preferences"), preferences())?;
        Ok(profile)
    }
}

impl Drop for Profile {
    fn drop(&mut self) {
        // A process that is being killed may still write for a moment.
        for _ in 0..MOST_TRIES {
            match fs::remove_dir_all(&self.0) {
                Ok(()) => return,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return,
                Err(_) => thread::sleep(PAUSE),
            }
        }
    }
}
