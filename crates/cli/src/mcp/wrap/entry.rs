//! The entry of one server.

use crate::host::edit::{Kind, Member, Node};
use crate::host::servers::{Layout, Started, Syntax};

use super::{Became, Edit, Edits, How, is_ours, quoted};

/// The entry of one server in a file.
pub(super) struct Entry<'a> {
    pub(super) text: &'a str,
    pub(super) layout: &'a Layout,
    pub(super) name: &'a str,
    node: &'a Node,
}

/// The spelling of `--name`, which records whether the entry had the usual fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spelled {
    /// `--name x`.
    Usual,
    /// `--name=x`.
    Otherwise,
}

impl<'a> Entry<'a> {
    /// Returns an entry, if it is an object.
    pub(super) fn new(
        text: &'a str,
        layout: &'a Layout,
        name: &'a str,
        node: &'a Node,
    ) -> Option<Self> {
        matches!(node.kind, Kind::Object(_)).then_some(Self { text, layout, name, node })
    }

    pub(super) fn field(&self, name: &str) -> Option<&'a Member> {
        self.node.member(name)
    }

    pub(super) fn string(&self, name: &str) -> Option<&'a str> {
        self.field(name)?.value.as_str()
    }

    /// The exact text of a node.
    pub(super) fn raw(&self, node: &Node) -> &'a str {
        self.text.get(node.start..node.end).unwrap_or_default()
    }

    /// The command and its arguments, if there is a command.
    fn words(&self) -> Option<Vec<&'a str>> {
        let command = &self.field("command")?.value;
        match self.layout.started {
            Started::List => command.as_words(),
            Started::Words => {
                let mut words = vec![command.as_str()?];
                if let Some(args) = self.field("args") {
                    words.extend(args.value.as_words()?);
                }
                Some(words)
            }
        }
    }

    /// Reports whether the entry starts our program.
    pub(super) fn is_ours(&self) -> bool {
        self.words().is_some_and(|words| is_ours(&words))
    }

    /// Puts the proxy in front.
    pub(super) fn wrap(&self, how: &How<'_>) -> Edits {
        if self.is_ours() {
            return Err(Became::Same);
        }
        if self.field("command").is_some() {
            return self.wrap_program(how);
        }
        self.wrap_url(how)
    }

    /// Removes the proxy.
    pub(super) fn unwrap(&self) -> Edits {
        let words = self.words().filter(|words| is_ours(words) && words.get(2) == Some(&"proxy"));
        let Some(words) = words else { return Err(Became::Same) };
        match words.iter().position(|word| matches!(*word, "--" | "--http")) {
            Some(at) if words.get(at) == Some(&"--http") => self.unwrap_url(&words, at),
            Some(at) => self.unwrap_program(&words, at),
            None => Err(left("its arguments were not written by `wrap`")),
        }
    }

    fn wrap_program(&self, how: &How<'_>) -> Edits {
        if self.words().is_none_or(|words| words.is_empty()) {
            return Err(left("its command is not a list of strings"));
        }
        let Some(command) = self.field("command") else { return Err(Became::Same) };
        let program = quoted(how.program);
        if self.layout.started == Started::List {
            let front = format!("{program}, {}", self.front(Spelled::Usual));
            return Ok(vec![self.at_front(&command.value, &front)]);
        }
        let raw = self.raw(&command.value);
        let put = (command.value.start..command.value.end, program);
        let Some(args) = self.field("args") else {
            let front = format!("{}, {raw}", self.front(Spelled::Otherwise));
            let (at, new) = self.after(command, "args", &format!("[{front}]"));
            return Ok(vec![put, (at..at, new)]);
        };
        let front = format!("{}, {raw}", self.front(Spelled::Usual));
        Ok(vec![put, self.at_front(&args.value, &front)])
    }

    fn unwrap_program(&self, words: &[&str], at: usize) -> Edits {
        let Some(command) = self.field("command") else { return Err(Became::Same) };
        if self.layout.started == Started::List {
            return Ok(vec![self.without(&command.value, at)]);
        }
        let Some(args) = self.field("args") else { return Err(Became::Same) };
        // `words` begin with the command, the list does not; the original command follows.
        let Some(theirs) = items(&args.value).get(at) else {
            return Err(left("there is no command behind the proxy"));
        };
        let put = (command.value.start..command.value.end, self.raw(theirs).to_owned());
        if spelled(words) == Spelled::Usual {
            return Ok(vec![put, self.without(&args.value, at)]);
        }
        if items(&args.value).len() > at + 1 || !self.follow(command, args) {
            return Err(left("somebody has changed it since"));
        }
        Ok(vec![put, (self.end_of_line(command)..args.value.end, String::new())])
    }

    /// The arguments of the proxy, up to the command that it starts.
    pub(super) fn front(&self, spelled: Spelled) -> String {
        [self.beginning(spelled), quoted("--")].join(", ")
    }

    /// The arguments of the proxy, up to the server's command or URL.
    pub(super) fn beginning(&self, spelled: Spelled) -> String {
        let name = called(self.name);
        let mut words = vec!["mcp".to_owned(), "proxy".to_owned()];
        match spelled {
            Spelled::Usual => words.extend(["--name".to_owned(), name]),
            Spelled::Otherwise => words.push(format!("--name={name}")),
        }
        words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(", ")
    }

    /// Inserts words at the front of a list.
    fn at_front(&self, list: &Node, words: &str) -> Edit {
        let at = list.start + 1;
        let follows = self.text.get(at..).and_then(|rest| rest.chars().next());
        let gap = match (items(list).is_empty(), follows) {
            (true, _) => "",
            // The original items follow, on lines of their own.
            (false, Some('\r' | '\n')) => ",",
            (false, _) => ", ",
        };
        (at..at, format!("{words}{gap}"))
    }

    /// Removes the words up to this one from the front of a list.
    fn without(&self, list: &Node, at: usize) -> Edit {
        let (start, items) = (list.start + 1, items(list));
        let Some(ours) = items.get(at) else { return (start..start, String::new()) };
        let Some(next) = items.get(at + 1) else { return (start..ours.end, String::new()) };
        let between = self.text.get(ours.end..next.start).unwrap_or_default();
        let comma = between.find(',').map_or(0, |comma| comma + 1);
        let space = usize::from(between.get(comma..).is_some_and(|rest| rest.starts_with(' ')));
        (start..ours.end + comma + space, String::new())
    }

    /// Adds a field after another: the position, and the text.
    fn after(&self, member: &Member, name: &str, value: &str) -> (usize, String) {
        let at = self.end_of_line(member);
        (at, format!("{}{}{value}", self.gap(), self.key(name, Equals::Too)))
    }

    /// The position at which a field after this one is inserted.
    fn end_of_line(&self, member: &Member) -> usize {
        let end = member.value.end;
        if self.is_inline() {
            return end;
        }
        // A comment after it stays on its line.
        let rest = self.text.get(end..).unwrap_or_default();
        let line = rest.split('\n').next().unwrap_or_default();
        end + line.strip_suffix('\r').unwrap_or(line).len()
    }

    /// Reports whether a field directly follows another.
    pub(super) fn follow(&self, first: &Member, second: &Member) -> bool {
        let between = self.text.get(first.value.end..second.start).unwrap_or_default();
        let own = if self.is_inline() { "," } else { "" };
        let line = self.end_of_line(first).saturating_sub(first.value.end);
        let behind = if self.is_inline() { between } else { between.get(line..).unwrap_or("?") };
        behind.trim() == own
    }

    /// The separator between two fields.
    pub(super) fn gap(&self) -> &'static str {
        match (self.is_inline(), self.text.contains("\r\n")) {
            (true, _) => ", ",
            (false, true) => "\r\n",
            (false, false) => "\n",
        }
    }

    /// A field's name in the syntax of the file.
    pub(super) fn key(&self, name: &str, equals: Equals) -> String {
        match (self.layout.syntax, equals) {
            (Syntax::Json, Equals::Not) => quoted(name),
            (Syntax::Json, Equals::Too) => format!("{}: ", quoted(name)),
            (Syntax::Toml, Equals::Not) => name.to_owned(),
            (Syntax::Toml, Equals::Too) => format!("{name} = "),
        }
    }

    /// Reports whether its fields are in brackets, and not on the lines of a table.
    fn is_inline(&self) -> bool {
        self.layout.syntax == Syntax::Json || self.node.end > self.node.start
    }
}

/// The separator between a name and its value: included or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Equals {
    Too,
    Not,
}

pub(super) fn left(why: &str) -> Became {
    Became::Left(why.to_owned())
}

pub(super) fn items(list: &Node) -> &[Node] {
    match &list.kind {
        Kind::Array(items) => items,
        Kind::Object(_) | Kind::Plain(_) => &[],
    }
}

/// The spelling of `--name` among our arguments.
pub(super) fn spelled(words: &[&str]) -> Spelled {
    let joined = words.get(3).is_some_and(|word| word.starts_with("--name="));
    if joined { Spelled::Otherwise } else { Spelled::Usual }
}

/// A server's name as the proxy accepts it.
fn called(name: &str) -> String {
    let name: String = name.chars().map(|char| if char == '/' { '.' } else { char }).collect();
    let name: String = name.chars().filter(|char| !char.is_control()).collect();
    let name = name.trim_start_matches('-');
    if name.is_empty() { "server".to_owned() } else { name.to_owned() }
}
