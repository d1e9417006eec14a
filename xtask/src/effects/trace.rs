//! The output of `strace -f -y`: one system call per line, sometimes in two pieces.

use std::collections::BTreeMap;

/// One completed system call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    /// The process that made the call.
    pub(crate) pid: u32,
    pub(crate) name: String,
    /// The arguments as they are printed.
    pub(crate) args: Vec<String>,
    pub(crate) end: End,
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    Done,
    /// The name of the error, such as `EACCES`.
    Failed(String),
}

/// Returns every call of a trace, in the order in which they ended.
pub(crate) fn calls(trace: &str) -> Vec<Call> {
    let mut begun: BTreeMap<u32, String> = BTreeMap::new();
    trace.lines().filter_map(|line| whole(line, &mut begun)).collect()
}

/// Returns the call that a line completes; lines that only begin one are kept until it is resumed.
fn whole(line: &str, begun: &mut BTreeMap<u32, String>) -> Option<Call> {
    let (pid, rest) = line.trim_start().split_once(' ')?;
    let (pid, rest) = (pid.parse().ok()?, rest.trim_start());
    if let Some(start) = rest.strip_suffix("<unfinished ...>") {
        begun.insert(pid, start.trim_end().to_owned());
        return None;
    }
    if let Some(resumed) = rest.strip_prefix("<... ") {
        let (_, tail) = resumed.split_once(" resumed>")?;
        let start = begun.remove(&pid)?;
        return call(pid, &format!("{start}{tail}"));
    }
    call(pid, rest)
}

fn call(pid: u32, text: &str) -> Option<Call> {
    let (name, rest) = text.split_once('(')?;
    if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return None;
    }
    let (args, after) = arguments(rest);
    let result = after.trim_start().strip_prefix('=')?.trim_start();
    let end = match result.strip_prefix("-1 ") {
        Some(error) => End::Failed(error.split(' ').next().unwrap_or_default().to_owned()),
        // Killed during the call.
        None if result.starts_with('?') => return None,
        None => End::Done,
    };
    Some(Call { pid, name: name.to_owned(), args, end })
}

/// Returns the arguments up to the closing bracket, and the text after it.
fn arguments(text: &str) -> (Vec<String>, &str) {
    let (mut args, mut depth, mut quoted) = (vec![String::new()], 0_usize, false);
    let mut chars = text.char_indices();
    while let Some((at, char)) = chars.next() {
        let Some(last) = args.last_mut() else { break };
        match char {
            '\\' if quoted => {
                last.push(char);
                last.extend(chars.next().map(|(_, next)| next));
                continue;
            }
            '"' => quoted = !quoted,
            _ if quoted => {}
            '(' | '[' | '{' | '<' => depth += 1,
            ')' if depth == 0 => {
                return (trimmed(args), text.get(at + 1..).unwrap_or_default());
            }
            // An arrow, as in `{flags=…} => {…}`, is not a closing bracket.
            '>' if last.ends_with('=') => {}
            ')' | ']' | '}' | '>' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                args.push(String::new());
                continue;
            }
            _ => {}
        }
        last.push(char);
    }
    (trimmed(args), "")
}

fn trimmed(args: Vec<String>) -> Vec<String> {
    args.into_iter().map(|arg| arg.trim().to_owned()).collect()
}

impl Call {
    /// Returns a string argument, without its quotes.
    pub(crate) fn text(&self, at: usize) -> Option<String> {
        unquoted(self.args.get(at)?)
    }

    /// Returns the file of a descriptor, such as `3</etc>` or `AT_FDCWD</home>`.
    pub(crate) fn folder(&self, at: usize) -> Option<&str> {
        let (_, rest) = self.args.get(at)?.split_once('<')?;
        rest.strip_suffix('>')
    }

    /// Returns the flags, or any other argument as it is printed.
    pub(crate) fn raw(&self, at: usize) -> &str {
        self.args.get(at).map_or("", String::as_str)
    }
}

/// Decodes a C string, without its quotes and escapes.
fn unquoted(printed: &str) -> Option<String> {
    let inner = printed.strip_prefix('"')?.trim_end_matches("...").strip_suffix('"')?;
    let mut bytes = Vec::new();
    let mut chars = inner.chars().peekable();
    while let Some(char) = chars.next() {
        if char != '\\' {
            bytes.extend(char.to_string().into_bytes());
            continue;
        }
        match chars.next()? {
            'n' => bytes.push(b'\n'),
            't' => bytes.push(b'\t'),
            'r' => bytes.push(b'\r'),
            'v' => bytes.push(0x0b),
            'f' => bytes.push(0x0c),
            first @ '0'..='7' => {
                let mut value = first.to_digit(8)?;
                while let Some(digit) = chars.peek().and_then(|next| next.to_digit(8)) {
                    if value * 8 + digit > 255 {
                        break;
                    }
                    value = value * 8 + digit;
                    chars.next();
                }
                bytes.push(u8::try_from(value).ok()?);
            }
            other => bytes.extend(other.to_string().into_bytes()),
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(line: &str) -> Call {
        calls(line).into_iter().next().unwrap()
    }

    #[test]
    fn a_call_has_arguments_and_an_end() {
        let open =
            one(r#"7  openat(AT_FDCWD</home>, "a, \"b\")", O_RDONLY|O_CLOEXEC) = 3</home/x>"#);
        assert_eq!((open.pid, open.name.as_str(), open.end.clone()), (7, "openat", End::Done));
        assert_eq!(open.folder(0), Some("/home"));
        assert_eq!(open.text(1).unwrap(), "a, \"b\")");
        assert_eq!(open.raw(2), "O_RDONLY|O_CLOEXEC");
        let failed = one(r#"7 unlink("x") = -1 ENOENT (No such file or directory)"#);
        assert_eq!(failed.end, End::Failed("ENOENT".into()));
    }

    #[test]
    fn two_pieces_make_one_call() {
        let trace = "5 openat(AT_FDCWD</w>, \"a\", O_WRONLY <unfinished ...>\n\
                     6 kill(5, SIGTERM) = 0\n\
                     5 <... openat resumed>|O_CREAT, 0666) = 3</w/a>\n";
        let found = calls(trace);
        assert_eq!(found.len(), 2);
        let open = found.get(1).unwrap();
        assert_eq!((open.pid, open.text(1).unwrap().as_str()), (5, "a"));
        assert_eq!(open.raw(2), "O_WRONLY|O_CREAT");
    }

    #[test]
    fn what_is_no_call_is_left_out() {
        for line in [
            "5 +++ exited with 0 +++",
            "5 --- SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED} ---",
            "5 execve(\"/bin/x\", [\"x\"], 0x7 /* 3 vars */) = ?",
            "5 <... openat resumed>) = 3",
            "",
            "nonsense",
        ] {
            assert_eq!(calls(line), [], "{line}");
        }
    }

    #[test]
    fn lists_and_structures_are_one_argument() {
        let exec = one(r#"5 execve("/bin/rm", ["rm", "-r", "a,b"], 0x7ffd /* 9 vars */) = 0"#);
        assert_eq!((exec.args.len(), exec.raw(1)), (3, r#"["rm", "-r", "a,b"]"#));
        let connect = one(
            r#"5 connect(3<socket:[1]>, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("127.0.0.1")}, 16) = -1 ENETUNREACH (Network is unreachable)"#,
        );
        assert_eq!(connect.args.len(), 3);
        assert!(connect.raw(1).starts_with("{sa_family=AF_INET,"));
        let under = one(r#"5 unlinkat(4</home/a b>, "c", 0) = 0"#);
        assert_eq!(under.folder(0), Some("/home/a b"));
    }

    #[test]
    fn escapes_are_those_of_c() {
        assert_eq!(unquoted(r#""a\tb\\\"\303\251\0""#).unwrap(), "a\tb\\\"é\0");
        assert_eq!(unquoted("0x7ffd"), None);
    }
}
