//! `if`, `for`, `while`, `case`, subshells, functions: every branch is followed.

use std::rc::Rc;

use shuck_ast::{
    ArithmeticExprNode, ArithmeticForCommand, CaseCommand, CompoundCommand, ConditionalExpr,
    ForCommand, FunctionDef, IfCommand, Span as SyntaxSpan, Stmt, StmtSeq, StmtTerminator,
};

use super::Walker;
use super::state::{Function, SharedState};
use super::value::{Arg, Stream};
use super::visit::Node;
use crate::fact::{Fact, FactKind, Tag, Tags};

/// Commands that pause a loop or end it.
const PAUSES: &[&str] =
    &["sleep", "wait", "break", "exit", "read", "return", "inotifywait", "select"];

/// The sense of a loop's condition.
#[derive(Debug, Clone, Copy)]
enum Round {
    /// Repeats as long as it holds.
    While,
    /// Repeats as long as it does not hold.
    Until,
}

/// The depth of nested function calls that is followed.
const MOST_CALLS: usize = 16;

impl Walker<'_> {
    pub(super) fn compound(
        &mut self,
        src: &str,
        compound: &CompoundCommand,
        stdin: Stream,
    ) -> Stream {
        match compound {
            CompoundCommand::If(command) => self.branch(src, command, &stdin),
            CompoundCommand::For(command) => self.for_each(src, command, &stdin),
            CompoundCommand::Foreach(command) => {
                let words = self.words(src, &command.words);
                self.loop_over(src, command.variable.as_str(), words, &command.body, &stdin)
            }
            CompoundCommand::Select(command) => {
                let words = self.words(src, &command.words);
                self.loop_over(src, command.variable.as_str(), words, &command.body, &stdin)
            }
            CompoundCommand::Repeat(command) => {
                self.one(src, &command.count);
                self.repeat(src, &[&command.body], &stdin)
            }
            CompoundCommand::ArithmeticFor(command) => self.arithmetic_for(src, command, &stdin),
            CompoundCommand::While(command) => {
                self.endless(src, Round::While, &command.condition, &command.body);
                self.repeat_if(src, &command.condition, &command.body, &stdin)
            }
            CompoundCommand::Until(command) => {
                self.endless(src, Round::Until, &command.condition, &command.body);
                self.repeat_if(src, &command.condition, &command.body, &stdin)
            }
            CompoundCommand::Case(command) => self.case(src, command, &stdin),
            CompoundCommand::Subshell(body) => {
                let outer = self.state.clone();
                let out = self.seq(src, body, stdin);
                self.leave_subshell(outer);
                out
            }
            CompoundCommand::BraceGroup(body) => self.seq(src, body, stdin),
            CompoundCommand::Arithmetic(command) => {
                self.expression(src, command.expr_ast.as_ref(), command.expr_span);
                Stream::empty()
            }
            CompoundCommand::Time(command) => match &command.command {
                Some(stmt) => self.stmt(src, stmt, stdin),
                None => Stream::empty(),
            },
            CompoundCommand::Conditional(command) => {
                self.condition(src, &command.expression);
                Stream::empty()
            }
            CompoundCommand::Coproc(command) => self.coprocess(src, &command.body, stdin),
            CompoundCommand::Always(command) => {
                self.seq(src, &command.body, stdin);
                self.seq(src, &command.always_body, Stream::caller())
            }
        }
    }

    /// Follows a process beside this one. Its input is a descriptor that later commands may write
    /// to, which is not followed.
    fn coprocess(&mut self, src: &str, body: &Stmt, stdin: Stream) -> Stream {
        self.beside += 1;
        // Nested coprocesses are read once, since each reads its body.
        if self.beside == 1 {
            self.stmt(src, body, stdin);
        }
        let out = self.stmt(src, body, Stream::unknown(Tags::NONE));
        self.beside -= 1;
        out
    }

    /// Follows `for ((…; …; …))`.
    fn arithmetic_for(
        &mut self,
        src: &str,
        command: &ArithmeticForCommand,
        stdin: &Stream,
    ) -> Stream {
        for (expression, syntax_span) in [
            (&command.init_ast, command.init_span),
            (&command.condition_ast, command.condition_span),
            (&command.step_ast, command.step_span),
        ] {
            self.expression(src, expression.as_ref(), syntax_span);
        }
        if command.condition_span.is_none_or(|span| span.slice(src).trim().is_empty()) {
            self.spawns(src, &command.body);
        }
        self.repeat(src, &[&command.body], stdin)
    }

    /// Follows the commands in an arithmetic expression.
    fn expression(
        &mut self,
        src: &str,
        expression: Option<&ArithmeticExprNode>,
        syntax_span: Option<SyntaxSpan>,
    ) {
        let Some(syntax_span) = syntax_span else { return };
        let node = expression.map_or(Node::SyntaxSpan(syntax_span), Node::Arithmetic);
        self.calculate(src, node, syntax_span.slice(src));
    }

    fn branch(&mut self, src: &str, command: &IfCommand, stdin: &Stream) -> Stream {
        self.seq(src, &command.condition, stdin.clone());
        let mut branches = vec![&command.then_branch];
        for (condition, body) in &command.elif_branches {
            self.seq(src, condition, stdin.clone());
            branches.push(body);
        }
        branches.extend(&command.else_branch);
        self.any_of(src, &branches, stdin)
    }

    fn case(&mut self, src: &str, command: &CaseCommand, stdin: &Stream) -> Stream {
        self.one(src, &command.word);
        for pattern in command.cases.iter().flat_map(|case| &case.patterns) {
            self.follow_in(src, Node::Pattern(pattern));
        }
        let bodies: Vec<_> = command.cases.iter().map(|case| &case.body).collect();
        self.any_of(src, &bodies, stdin)
    }

    /// Follows bodies of which one runs, or none.
    fn any_of(&mut self, src: &str, bodies: &[&StmtSeq], stdin: &Stream) -> Stream {
        let before = self.state.clone();
        let mut after = before.clone();
        let mut taint = Tags::NONE;
        for body in bodies {
            self.state = before.clone();
            let out = self.perhaps(|walker| walker.seq(src, body, stdin.clone()));
            taint = taint.and(out.taint);
            after.join(&self.state);
        }
        self.state = after;
        Stream::unknown(taint)
    }

    fn for_each(&mut self, src: &str, command: &ForCommand, stdin: &Stream) -> Stream {
        for target in &command.targets {
            self.follow_in(src, Node::Word(&target.word));
        }
        let words = match &command.words {
            Some(words) => self.words(src, words),
            None => self.variable("@"),
        };
        match command.targets.first().and_then(|target| target.name.as_ref()) {
            Some(name) => self.loop_over(src, name.as_str(), words, &command.body, stdin),
            None => self.repeat(src, &[&command.body], stdin),
        }
    }

    fn loop_over(
        &mut self,
        src: &str,
        name: &str,
        words: Vec<Arg>,
        body: &StmtSeq,
        stdin: &Stream,
    ) -> Stream {
        if words.is_empty() {
            self.state.set(name, vec![Arg::unknown(Tags::NONE)]);
        } else {
            self.state.set_any(name, words.into_iter().map(|word| vec![word]).collect());
        }
        self.repeat(src, &[body], stdin)
    }

    /// Follows a loop twice, so that the second round sees the variables set in the first. Inner
    /// loops get one round, or a nest of them would double the work at every level.
    fn repeat(&mut self, src: &str, bodies: &[&StmtSeq], stdin: &Stream) -> Stream {
        let rounds = if self.loops == 0 { 2 } else { 1 };
        let before = self.state.clone();
        let mut taint = stdin.taint;
        self.loops += 1;
        for _ in 0..rounds {
            for body in bodies {
                taint = taint.and(self.seq(src, body, stdin.clone()).taint);
            }
            self.state.join(&before);
        }
        self.loops -= 1;
        Stream::unknown(taint)
    }

    /// Follows a loop whose body may never run.
    fn repeat_if(
        &mut self,
        src: &str,
        condition: &StmtSeq,
        body: &StmtSeq,
        stdin: &Stream,
    ) -> Stream {
        self.perhaps(|walker| walker.repeat(src, &[condition, body], stdin))
    }

    /// Records a loop that never ends and starts a background process in every round.
    fn endless(&mut self, src: &str, round: Round, condition: &StmtSeq, body: &StmtSeq) {
        let always = condition.iter().all(|stmt| {
            let text = stmt.span.slice(src).trim().trim_end_matches(';').trim();
            match round {
                Round::While => {
                    matches!(
                        text,
                        ":" | "true"
                            | "((1))"
                            | "(( 1 ))"
                            | "[ 1 ]"
                            | "/bin/true"
                            | "[[ 1 ]]"
                            | "! false"
                            | "test 1"
                    )
                }
                Round::Until => {
                    matches!(text, "false" | "((0))" | "[ ]" | "! true" | "! :" | "/bin/false")
                }
            }
        });
        if always {
            self.spawns(src, body);
        }
    }

    /// Records a body that starts background processes and never waits, or that only fills a file.
    fn spawns(&mut self, src: &str, body: &StmtSeq) {
        let is_beside =
            |stmt: &&Stmt| matches!(stmt.terminator, Some(StmtTerminator::Background(_)));
        let text = body.span.slice(src);
        let in_group = text.contains("&)") || text.contains("& )") || text.contains("& }");
        let spawns = in_group || body.iter().any(|stmt| is_beside(&stmt));
        // A background process does not hold up the loop.
        let waits = body.iter().filter(|stmt| !is_beside(stmt)).any(|stmt| {
            let text = stmt.span.slice(src);
            PAUSES.iter().any(|word| text.contains(word))
        });
        let fills = matches!(body.iter().collect::<Vec<_>>().as_slice(), [only]
            if only.span.slice(src).contains(">>") && !only.span.slice(src).contains('|'));
        if (spawns || fills) && !waits {
            let subject =
                if spawns { "a loop that starts processes" } else { "a loop that fills a file" };
            self.note(Fact::new(FactKind::Exhaust, subject).at(self.span(body.span)));
        }
    }

    /// Follows `[[ … ]]`, which runs commands only through substitutions in its words.
    fn condition(&mut self, src: &str, expression: &ConditionalExpr) {
        let mut waiting = vec![expression];
        while let Some(expression) = waiting.pop() {
            match expression {
                ConditionalExpr::Binary(binary) => waiting.extend([&*binary.left, &*binary.right]),
                ConditionalExpr::Unary(unary) => waiting.push(&unary.expr),
                ConditionalExpr::Parenthesized(inner) => waiting.push(&inner.expr),
                ConditionalExpr::Word(word) | ConditionalExpr::Regex(word) => {
                    // `-v` and `-eq` evaluate the text of the word.
                    let said = self.one(src, word).text;
                    self.arithmetic(&said);
                }
                ConditionalExpr::Pattern(pattern) => self.follow_in(src, Node::Pattern(pattern)),
                ConditionalExpr::VarRef(reference) => self.subscript(src, reference),
            }
        }
    }

    pub(super) fn define(&mut self, src: &str, function: &FunctionDef) -> Stream {
        let body = function.body.span.slice(src).to_owned();
        for entry in &function.header.entries {
            self.follow_in(src, Node::Word(&entry.word));
        }
        if function.static_names().next().is_none() {
            return self.stmt(src, &function.body, Stream::caller());
        }
        for name in function.static_names() {
            self.replaces_ours(name.as_str(), self.span(function.body.span));
            let function = Function { body: body.clone(), called: false.into() };
            self.state.define(name.as_str(), function);
        }
        Stream::empty()
    }

    /// Follows a function with these words as `$1`, `$2`…
    pub(super) fn call(
        &mut self,
        name: &str,
        function: &Rc<Function>,
        args: Vec<Arg>,
        stdin: Stream,
    ) -> Stream {
        function.called.set(true);
        let same =
            |caller: &(String, Rc<Function>)| caller.0 == name && caller.1.body == function.body;
        if self.calls.iter().any(same) {
            if self.beside > 0 {
                let span = args.first().and_then(|arg| arg.span);
                self.note(Fact::new(FactKind::ForkBomb, name).at(span));
            }
            return Stream::unknown(Tags::NONE);
        }
        if self.calls.len() >= MOST_CALLS {
            self.note(Fact::new(FactKind::Bound, "functions call one another too deeply"));
            return Stream::unknown(Tags::NONE);
        }
        let span = args.first().and_then(|arg| arg.span);
        let words = args.into_iter().skip(1).collect();
        let outer = self.state.positional.replace(words);
        self.calls.push((name.to_owned(), Rc::clone(function)));
        let out = self.nested_script(&function.body, span, stdin);
        self.calls.pop();
        self.state.positional = outer;
        out
    }

    /// Follows functions that are defined but not called: a later command may call them, and in a
    /// subshell a command there may.
    pub(super) fn uncalled_functions(&mut self, outer: Option<&SharedState>) {
        if self.is_exhausted() {
            return;
        }
        let known = |name: &str, function: &Rc<Function>| {
            outer.is_some_and(|outer| outer.has_function(name, function))
        };
        self.state.work().entries(self.state.all_functions().count());
        let uncalled: Vec<_> = self
            .state
            .all_functions()
            .filter(|(name, function)| !function.called.get() && !known(name, function))
            .map(|(name, function)| (name.to_owned(), Rc::clone(function)))
            .collect();
        for (name, function) in uncalled {
            self.state.positional = None;
            function.called.set(true);
            self.calls.push((name, Rc::clone(&function)));
            let input = Stream::unknown(Tags::of(&[Tag::Unknown]));
            self.perhaps(|walker| walker.nested_script(&function.body, None, input));
            self.calls.pop();
        }
    }
}
