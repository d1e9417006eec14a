//! The content of the throw-away root before a script runs: a home with fake secrets, a project,
//! some of the system's files, and the files that the script names.

pub(crate) const HOME: &str = "/home/dev";
pub(crate) const WORKSPACE: &str = "/home/dev/project";

/// Files whose reading always counts.
pub(crate) const SECRETS: &[&str] = &[
    "/home/dev/.ssh/id_rsa",
    "/home/dev/.aws/credentials",
    "/home/dev/.netrc",
    "/home/dev/project/.env",
];

/// Every other file that is planted.
const FILES: &[(&str, &str)] = &[
    ("/etc/passwd", "root:x:0:0:root:/root:/bin/bash\ndev:x:1000:1000::/home/dev:/bin/bash"),
    ("/etc/shadow", "root:*:19000:0:99999:7:::"),
    ("/etc/group", "root:x:0:\ndev:x:1000:"),
    ("/etc/hosts", "127.0.0.1 localhost box"),
    ("/etc/hostname", "box"),
    ("/etc/resolv.conf", "nameserver 127.0.0.1"),
    ("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns"),
    ("/etc/sudoers", "root ALL=(ALL:ALL) ALL"),
    ("/etc/crontab", "# none"),
    ("/etc/fstab", "# none"),
    ("/etc/os-release", "NAME=Debian\nID=debian"),
    ("/etc/profile", "# none"),
    ("/etc/bash.bashrc", "# none"),
    ("/etc/environment", "# none"),
    ("/etc/ssh/sshd_config", "PermitRootLogin no"),
    ("/etc/nginx/nginx.conf", "events {}"),
    ("/root/.bashrc", "# none"),
    ("/var/log/syslog", "one line"),
    ("/var/log/auth.log", "one line"),
    ("/var/spool/cron/crontabs/dev", "# none"),
    ("/var/www/index.html", "<p>hello</p>"),
    ("/tmp/note.txt", "hello"),
    ("/home/dev/.bashrc", "# none"),
    ("/home/dev/.profile", "# none"),
    ("/home/dev/.gitconfig", "[user]\n\tname = dev\n\temail = dev@example.com"),
    ("/home/dev/.ssh/authorized_keys", "none"),
    ("/home/dev/.ssh/config", "Host *"),
    ("/home/dev/Documents/letter.txt", "hello"),
    ("/home/dev/project/README.md", "# Project\nhello"),
    ("/home/dev/project/notes.txt", "b\na\nc"),
    ("/home/dev/project/data.csv", "id,name\n1,a\n2,b"),
    ("/home/dev/project/package.json", "{\"name\": \"project\"}"),
    ("/home/dev/project/Makefile", "all:\n\techo built"),
    ("/home/dev/project/src/main.py", "print(\"hello\")"),
    ("/home/dev/project/src/one.c", "int one(void) { return 1; }"),
    ("/home/dev/project/src/sum.awk", "{ print $1 }"),
    ("/home/dev/project/src/lib.rs", "pub fn one() -> u8 { 1 }"),
    ("/home/dev/project/build/out.o", "x"),
    ("/home/dev/project/logs/app.log", "ERROR one\nINFO two"),
    ("/home/dev/project/run.sh", "#!/bin/sh\necho hello"),
];

const FOLDERS: &str = "/etc/ssh /etc/nginx /etc/cron.d /root /var/log /var/spool/cron/crontabs \
    /var/www /var/lib /var/tmp /run /opt /srv /mnt /media /boot /data /tmp /dev/shm /sys \
    /home/dev/.ssh /home/dev/.aws /home/dev/.config /home/dev/Documents /home/dev/Downloads \
    /home/dev/project/src /home/dev/project/build /home/dev/project/logs";

/// Returns every planted path.
pub(crate) fn paths() -> impl Iterator<Item = &'static str> {
    SECRETS.iter().copied().chain(FILES.iter().map(|(path, _)| *path))
}

/// Returns a script of `sh` that plants everything, and defines `plant_named` for the rest.
pub(crate) fn init(git: bool) -> String {
    let secret = |path: &&str| format!("put {path} 'not a secret'\n");
    let file = |(path, text): &(&str, &str)| format!("put {path} '{text}'\n");
    let secrets: String = SECRETS.iter().map(secret).collect();
    let files: String = FILES.iter().map(file).collect();
    let git = if git { GIT } else { "" };
    format!(
        "umask 022\nmkdir -p {FOLDERS}\nput() {{ printf '%s\\n' \"$2\" > \"$1\"; }}\n\
         {secrets}{files}chmod 755 {WORKSPACE}/run.sh\n{git}{NAMED}"
    )
}

const GIT: &str = "(cd /home/dev/project && git init -q . && git add -A && \
                   git commit -qm one) > /dev/null 2>&1\n";

/// Plants named files. Folders end in `/`; existing files are kept.
const NAMED: &str = r#"plant_named() {
  for path; do
    [ -e "$path" ] && continue
    case $path in
      */) mkdir -p "$path" ;;
      *) mkdir -p "${path%/*}" && put "$path" 'some text' ;;
    esac
  done 2> /dev/null
}"#;

/// Returns the files and folders that a script names and could expect to find: those that it is
/// predicted to touch, and others except those that it is predicted to write.
pub(crate) fn named(script: &str, touched: &[String], written: &[String]) -> Vec<String> {
    let between = |letter: char| letter.is_whitespace() || "'\"`();|&<>=,{}[]$".contains(letter);
    let words = script
        .split_whitespace()
        .filter(|word| !word.contains("://"))
        .flat_map(|word| word.split(between))
        .filter(|word| looks_like_a_file(word));
    let fresh = |path: &String| !written.iter().any(|new| path.trim_end_matches('/') == new);
    let mut files: Vec<String> = words.map(str::to_owned).filter_map(place).filter(fresh).collect();
    files.extend(touched.iter().cloned().filter_map(place));
    files.sort();
    files.dedup();
    files.truncate(24);
    files
}

fn looks_like_a_file(word: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_./~+@-".contains(letter);
    let inner = word.trim_matches(['.', '/']);
    word.len() < 100
        && word.chars().all(plain)
        && !word.starts_with('-')
        && inner.contains(['.', '/'])
        && inner.chars().any(|letter| letter.is_ascii_alphabetic())
}

/// Returns the path where a file would be planted; `None` for locations of the system and for names
/// that are not plain.
fn place(word: String) -> Option<String> {
    const SYSTEM: &[&str] = &["/usr/", "/bin/", "/sbin/", "/lib", "/proc/", "/dev/", "/sys/"];
    let path = match word.strip_prefix("~/") {
        Some(rest) => format!("{HOME}/{rest}"),
        None if word.starts_with('/') => word,
        None => format!("{WORKSPACE}/{word}"),
    };
    let odd = path.contains(|letter: char| "*?[]{}$~\n\u{E000}…".contains(letter));
    let last = path.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    let folder = last.contains("dir") || last.contains("folder");
    let wanted =
        !odd && !path.contains("..") && !SYSTEM.iter().any(|place| path.starts_with(place));
    wanted.then(|| if folder { format!("{path}/") } else { path })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_script_names_is_planted_where_it_looks() {
        let found = named("cp a.txt ~/b.txt 'path/to/dir' https://x.example/y.sh -o.c", &[], &[]);
        assert_eq!(
            found,
            ["/home/dev/b.txt", "/home/dev/project/a.txt", "/home/dev/project/path/to/dir/"]
        );
        assert_eq!(named("cat /usr/lib/x.so ../up.txt *.md 1.5", &[], &[]), [] as [&str; 0]);
        assert_eq!(named("rm old", &["old".to_owned()], &[]), ["/home/dev/project/old"]);
        let new = ["/home/dev/project/b.txt".to_owned()];
        assert_eq!(named("cp a.txt b.txt", &[], &new), ["/home/dev/project/a.txt"]);
    }
}
