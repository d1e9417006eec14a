//! Files of `/proc` and `/sys` that describe the machine and contain nothing private.

use crate::analysis::UNKNOWN;

/// Files and folders of `/proc` about the size and load of the machine, its mounts and connections,
/// and its settings.
const OF_THE_MACHINE: &[&str] = &[
    "buddyinfo",
    "cgroups",
    "cmdline",
    "cpuinfo",
    "diskstats",
    "filesystems",
    "interrupts",
    "loadavg",
    "locks",
    "mdstat",
    "meminfo",
    "mounts",
    "net",
    "partitions",
    "pressure",
    "schedstat",
    "softirqs",
    "stat",
    "swaps",
    "sys",
    "uptime",
    "version",
    "version_signature",
    "vmstat",
    "zoneinfo",
];

/// Files of a process about its state, as `ps` and `top` show it. Its memory, environment, open
/// files, working folder and root are not among them.
const OF_A_PROCESS: &[&str] = &[
    "status",
    "stat",
    "statm",
    "comm",
    "cmdline",
    "limits",
    "cgroup",
    "io",
    "sched",
    "schedstat",
    "mounts",
    "mountinfo",
    "mountstats",
    "oom_score",
    "oom_score_adj",
    "oom_adj",
    "loginuid",
    "sessionid",
    "uid_map",
    "gid_map",
    "wchan",
    "cpuset",
    "autogroup",
    "timerslack_ns",
];

/// Folders of `/sys` that describe devices and limits. Those of the kernel itself and of the
/// firmware are not among them.
const DESCRIPTIONS: &[&str] = &["block", "bus", "class", "dev", "devices", "fs", "power"];

/// Reports whether everybody may read this file, and it contains nothing private. A process may be
/// unknown, and what is below a folder that is public as a whole.
pub(super) fn is_public(path: &str) -> bool {
    if path.contains(['*', '?', '[']) {
        return false;
    }
    let mut parts = path.split('/').skip(1);
    match (parts.next(), parts.next()) {
        (Some("proc"), Some("self" | "thread-self")) => is_of_a_process(parts),
        (Some("proc"), Some(first)) if may_be_a_number(first) => is_of_a_process(parts),
        (Some("proc"), Some(first)) => OF_THE_MACHINE.contains(&first),
        (Some("sys"), Some("kernel")) => parts.next() == Some("mm"),
        (Some("sys"), Some(first)) => DESCRIPTIONS.contains(&first),
        _ => false,
    }
}

/// Reports whether a name is that of a process or a thread, or nothing is known of it.
fn may_be_a_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) || text.chars().all(|char| char == UNKNOWN)
}

fn is_of_a_process<'a>(mut parts: impl Iterator<Item = &'a str>) -> bool {
    match (parts.next(), parts.next()) {
        (Some("net"), Some(_)) => true,
        (Some("task"), Some(thread)) if may_be_a_number(thread) => is_of_a_thread(parts),
        (Some(file), None) => OF_A_PROCESS.contains(&file),
        _ => false,
    }
}

fn is_of_a_thread<'a>(mut parts: impl Iterator<Item = &'a str>) -> bool {
    matches!((parts.next(), parts.next()), (Some(file), None) if OF_A_PROCESS.contains(&file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_of_the_machine_is_public() {
        for path in [
            "/proc/cpuinfo",
            "/proc/meminfo",
            "/proc/self/status",
            "/proc/1/cgroup",
            "/proc/1/task/1/comm",
            "/proc/net/tcp",
            "/proc/self/net/dev",
            "/proc/sys/vm/swappiness",
            "/sys/class/net/eth0/mtu",
            "/sys/fs/cgroup/memory.max",
        ] {
            assert!(is_public(path), "{path}");
        }
    }

    #[test]
    fn memory_environments_keys_and_open_files_are_not() {
        for path in [
            "/proc",
            "/sys",
            "/proc/1/environ",
            "/proc/self/environ",
            "/proc/self/mem",
            "/proc/1/root/etc/shadow",
            "/proc/self/fd/3",
            "/proc/self/cwd/.env",
            "/proc/1/task/1/environ",
            "/proc/1/task/1/root/comm",
            "/proc/kcore",
            "/proc/keys",
            "/proc/*/status",
            "/sys/kernel/debug/x",
            "/sys/kernel/kexec_loaded",
            "/sys/firmware/efi/efivars/x",
        ] {
            assert!(!is_public(path), "{path}");
        }
    }
}
