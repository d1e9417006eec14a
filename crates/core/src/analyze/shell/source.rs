//! Files that hold the source text which a program runs.

use super::Walker;
use super::value::{Arg, Stream};
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::place;

/// Whether a file's name ends like this, in capitals or not.
pub(super) fn ends_in(path: &str, ending: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, last)| last.eq_ignore_ascii_case(ending))
}

impl Walker<'_> {
    /// The source text in a file, when it is known. A file of the workspace, and what is
    /// made of such files, is taken for what it is, as a script given to a shell is; any other one
    /// is code that nobody has seen.
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
        let place = place::locate(&file.text, &self.scene_now());
        let piped = file.stream.is_some() || file.text == "-";
        let own = place.any(Tags::of(&[Tag::Workspace, Tag::System])) && !piped;
        let doubtful = content.taint.any(Tags::of(&[Tag::Fetched, Tag::Decoded, Tag::Unknown]));
        let kind = if fetched { FactKind::RemoteCode } else { FactKind::UnknownCode };
        if doubtful || (!own && !piped) || (own && self.made_here(&file.text)) {
            self.note(Fact::new(kind, program).at(file.span));
        }
        None
    }
}
