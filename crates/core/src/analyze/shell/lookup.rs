//! The names that a shell looks up before it searches for a program: functions and aliases.

use super::Walker;
use super::follow::quote;
use super::value::{Arg, Stream};
use crate::fact::Tags;

impl Walker<'_> {
    /// Follows a command that the shell itself looks up: only here can its name stand for a
    /// function or an alias. What another program starts is always a program.
    pub(super) fn shell_command(&mut self, args: Vec<Arg>, stdin: Stream) -> Stream {
        self.within_bounds(args, stdin, Self::function_or_program)
    }

    /// Follows the function or alias that a name stands for, and the program where it may.
    fn function_or_program(&mut self, args: Vec<Arg>, stdin: Stream) -> Stream {
        let Some(first) = args.first() else { return Stream::empty() };
        let name = first.text.clone();
        if let Some(functions) = self.state.functions(&name).cloned() {
            let several = functions.may_be_program || functions.bodies.len() > 1;
            let mut out = Stream::unknown(Tags::NONE);
            for function in &functions.bodies {
                out = self.call(&name, function, args.clone(), stdin.clone());
            }
            if functions.may_be_program {
                self.follow_inside(args, stdin);
            }
            return if several { Stream::unknown(out.taint) } else { out };
        }
        if self.state.aliases.contains_key(&name) && !self.replacing.contains(&name) {
            // Only interactive shells expand aliases, and only on later lines.
            let out = self.follow_alias(&name, &args, stdin.clone());
            let same = self.follow_inside(args, stdin);
            return Stream::unknown(out.taint.and(same.taint));
        }
        self.follow_inside(args, stdin)
    }

    /// Follows an alias's text with the words after it; inside it, the name means the program
    /// again.
    fn follow_alias(&mut self, name: &str, args: &[Arg], stdin: Stream) -> Stream {
        let Some(mut line) = self.state.aliases.get(name).cloned() else { return Stream::empty() };
        for arg in args.iter().skip(1) {
            line.push(' ');
            line.push_str(&quote(&arg.text));
        }
        let span = args.first().and_then(|first| first.span);
        self.replacing.push(name.to_owned());
        let out = self.nested_script(&line, span, stdin);
        self.replacing.pop();
        out
    }
}
