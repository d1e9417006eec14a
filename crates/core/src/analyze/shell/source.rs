//! Files that contain the source text which a program runs.

use super::Walker;
use super::value::{Arg, Stream};
use crate::analyze::Analysis;
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::location;
use crate::verdict::Span;

/// Reports whether a file's name has this extension, ignoring case.
pub(super) fn ends_in(path: &str, ending: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, last)| last.eq_ignore_ascii_case(ending))
}

impl Walker<'_> {
    /// Returns the source text in a file, when it is known. An existing file of the workspace or
    /// the system is trusted like a script given to a shell, and so is piped text of known origin;
    /// any other file is recorded as code that nobody has seen.
    pub(super) fn file_of_code(
        &mut self,
        program: &str,
        file: &Arg,
        content: Stream,
    ) -> Option<Arg> {
        if let Some(text) = content.text {
            return Some(Arg { text, taint: content.taint, span: file.span, ..Arg::default() });
        }
        let fetched = content.taint.has(Tag::Fetched);
        let place = location::locate(&file.text, &self.scene_now());
        let piped = file.stream.is_some() || file.text == "-";
        let own = place.any(Tags::of(&[Tag::Workspace, Tag::System])) && !piped;
        let doubtful = content.taint.any(Tags::of(&[Tag::Fetched, Tag::Decoded, Tag::Unknown]));
        let kind = if fetched { FactKind::RemoteCode } else { FactKind::UnknownCode };
        if doubtful || (!own && !piped) || (own && self.made_here(&file.text)) {
            self.note(Fact::new(kind, program).at(file.span));
        }
        None
    }

    /// Adopts the findings in a source text, and records files that it empties and servers that it
    /// starts.
    pub(super) fn found_in_source(&mut self, text: &str, found: Analysis, span: Option<Span>) {
        const SERVERS: &[&str] =
            &["DRb.start_service", "WEBrick::HTTPServer", "SimpleXMLRPCServer("];
        let emptied = emptied_by(text, &found);
        self.merge(found, span);
        for path in emptied {
            self.note(Fact::new(FactKind::Empty, path).at(span));
        }
        if SERVERS.iter().any(|server| text.contains(server)) {
            self.note(Fact::new(FactKind::Listen, "a server in source text").at(span));
        }
    }
}

/// Returns the files that a text opens for writing and writes nothing to.
fn emptied_by(text: &str, found: &Analysis) -> Vec<String> {
    const WRITES: &[&str] = &[
        "write", "print", "puts", "dump", "save", "copy", "say", "<<", "to_", "pipe", "append",
        "move", "rename", "replace", "truncate", "Write", "stdout", "out=", "f.", "log",
    ];
    if WRITES.iter().any(|call| text.contains(call)) {
        return Vec::new();
    }
    let written = found.facts.iter().filter(|fact| {
        fact.kind == FactKind::Write
            && !fact.tags.any(Tags::of(&[Tag::Temp, Tag::BuildOutput, Tag::Created, Tag::Unknown]))
            && location::is_source(location::base_name(&fact.subject))
    });
    written.map(|fact| fact.subject.clone()).collect()
}
