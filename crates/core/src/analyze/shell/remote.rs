//! Scheduled jobs.

use super::Walker;
use super::arguments::Arguments;
use super::catalogue::Code;
use super::value::Stream;
use crate::fact::{Fact, FactKind};
use crate::verdict::Span;

impl Walker<'_> {
    /// Follows `crontab FILE`, `… | crontab -`, `crontab -r`.
    pub(super) fn crontab(&mut self, args: &Arguments<'_>, stdin: &Stream, span: Option<Span>) {
        if args.has("-l") {
            return;
        }
        let subject = if args.has("-r") { "removes every job" } else { "crontab" };
        self.note(Fact::new(FactKind::Schedule, subject).at(span));
        if args.operand(0) == Some("-")
            && let Some(text) = &stdin.text
        {
            for line in text.lines() {
                let command = line.split_whitespace().skip(5).collect::<Vec<_>>().join(" ");
                if !command.is_empty() {
                    let content = Stream::known(command, stdin.taint);
                    self.follow_text(Code::Shell, &content, span, &Stream::empty());
                }
            }
        }
    }
}
