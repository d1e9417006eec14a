//! `a && b`, `a || b`, `a | b`: flattened, so that a long chain does not need a deep stack.

use shuck_ast::{BinaryCommand, BinaryOp, Command, Stmt};

use super::Walker;
use super::state::SharedState;
use super::value::Stream;

impl Walker<'_> {
    pub(super) fn chain(&mut self, src: &str, binary: &BinaryCommand, stdin: Stream) -> Stream {
        match binary.op {
            BinaryOp::Pipe | BinaryOp::PipeAll => self.pipeline(src, binary, stdin),
            BinaryOp::And | BinaryOp::Or => self.and_or(src, binary, &stdin),
        }
    }

    fn and_or(&mut self, src: &str, binary: &BinaryCommand, stdin: &Stream) -> Stream {
        let links = flatten(binary, |op| matches!(op, BinaryOp::And | BinaryOp::Or));
        // A later `;` may be reached from any link, so every state in between is possible there.
        let mut possible: Option<SharedState> = None;
        let mut out = Stream::empty();
        for (op, stmt) in links {
            let before = op.map(|_| self.state.clone());
            let printed = if op == Some(BinaryOp::Or) {
                self.perhaps(|walker| walker.stmt(src, stmt, stdin.clone()))
            } else {
                self.stmt(src, stmt, stdin.clone())
            };
            out = super::output::concat(out, printed);
            let Some(before) = before.filter(|before| !self.state.is_same(before)) else {
                continue;
            };
            if op == Some(BinaryOp::Or) {
                self.state.join(&before);
            }
            match &mut possible {
                Some(possible) => possible.join(&before),
                None => possible = Some(before),
            }
        }
        if let Some(possible) = &possible {
            self.state.join(possible);
        }
        out
    }

    fn pipeline(&mut self, src: &str, binary: &BinaryCommand, stdin: Stream) -> Stream {
        let stages = flatten(binary, |op| matches!(op, BinaryOp::Pipe | BinaryOp::PipeAll));
        let mut flow = stdin;
        self.beside += 1;
        let outer_start = self.pipe_start.replace(self.analysis.facts.len());
        for (_, stage) in stages {
            let outer = self.state.clone();
            flow = self.stmt(src, stage, flow);
            self.leave_subshell(outer);
        }
        self.pipe_start = outer_start;
        self.beside -= 1;
        flow
    }
}

/// Returns the links of a left-leaning chain, first to last, each with the operator before it.
fn flatten(
    binary: &BinaryCommand,
    belongs: impl Fn(BinaryOp) -> bool,
) -> Vec<(Option<BinaryOp>, &Stmt)> {
    let mut links = vec![(Some(binary.op), &*binary.right)];
    let mut left = &*binary.left;
    while let Command::Binary(inner) = &left.command
        && belongs(inner.op)
        && left.redirects.is_empty()
    {
        links.push((Some(inner.op), &*inner.right));
        left = &inner.left;
    }
    links.push((None, left));
    links.reverse();
    links
}
