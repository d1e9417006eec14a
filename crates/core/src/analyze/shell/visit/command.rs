//! The parts of commands.

use shuck_ast::{
    ArithmeticForCommand, Assignment, BuiltinCommand, Command, CompoundCommand, DeclOperand, Word,
};

use super::tree::{Node, Visitor};

impl<'t> Visitor<'_, 't> {
    pub(super) fn command(&mut self, command: &'t Command) {
        match command {
            Command::Simple(simple) => {
                self.assignments(&simple.assignments);
                self.words(std::iter::once(&simple.name).chain(&simple.args));
            }
            Command::Builtin(builtin) => {
                let (word, more, assignments) = flow_parts(builtin);
                self.assignments(assignments);
                self.words(word.iter().chain(more));
            }
            Command::Decl(clause) => {
                self.assignments(&clause.assignments);
                self.waiting.extend(clause.operands.iter().map(|operand| match operand {
                    DeclOperand::Flag(word) | DeclOperand::Dynamic(word) => Node::Word(word),
                    DeclOperand::Name(reference) => Node::Reference(reference),
                    DeclOperand::Assignment(assignment) => Node::Assignment(assignment),
                }));
            }
            Command::Binary(binary) => {
                self.waiting.extend([&*binary.left, &*binary.right].map(Node::Stmt));
            }
            Command::Compound(compound) => self.compound(compound),
            // A body is stored as text, and is a script of its own where it is called.
            Command::Function(function) => {
                self.quiet(function.body.span);
                self.words(function.header.entries.iter().map(|entry| &entry.word));
            }
            Command::AnonymousFunction(function) => {
                self.waiting.push(Node::Stmt(&function.body));
                self.words(&function.args);
            }
        }
    }

    fn compound(&mut self, compound: &'t CompoundCommand) {
        match compound {
            CompoundCommand::If(command) => {
                self.waiting.extend([&command.condition, &command.then_branch].map(Node::Seq));
                let branches = command.elif_branches.iter().flat_map(|(a, b)| [a, b]);
                self.waiting.extend(branches.chain(&command.else_branch).map(Node::Seq));
            }
            CompoundCommand::For(command) => {
                self.words(command.targets.iter().map(|target| &target.word));
                self.words(command.words.iter().flatten());
                self.waiting.push(Node::Seq(&command.body));
            }
            CompoundCommand::Repeat(command) => {
                self.words([&command.count]);
                self.waiting.push(Node::Seq(&command.body));
            }
            CompoundCommand::Foreach(command) => {
                self.words(&command.words);
                self.waiting.push(Node::Seq(&command.body));
            }
            CompoundCommand::Select(command) => {
                self.words(&command.words);
                self.waiting.push(Node::Seq(&command.body));
            }
            CompoundCommand::ArithmeticFor(command) => self.arithmetic_for(command),
            CompoundCommand::While(command) => {
                self.waiting.extend([&command.condition, &command.body].map(Node::Seq));
            }
            CompoundCommand::Until(command) => {
                self.waiting.extend([&command.condition, &command.body].map(Node::Seq));
            }
            CompoundCommand::Case(command) => {
                self.words([&command.word]);
                for case in &command.cases {
                    self.waiting.extend(case.patterns.iter().map(Node::Pattern));
                    self.waiting.push(Node::Seq(&case.body));
                }
            }
            CompoundCommand::Subshell(body) | CompoundCommand::BraceGroup(body) => {
                self.waiting.push(Node::Seq(body));
            }
            CompoundCommand::Arithmetic(command) => {
                self.expression(command.expr_ast.as_ref(), command.expr_span);
            }
            CompoundCommand::Time(command) => {
                self.waiting.extend(command.command.as_deref().map(Node::Stmt));
            }
            CompoundCommand::Conditional(command) => {
                self.waiting.push(Node::Condition(&command.expression));
            }
            CompoundCommand::Coproc(command) => self.waiting.push(Node::Stmt(&command.body)),
            CompoundCommand::Always(command) => {
                self.waiting.extend([&command.body, &command.always_body].map(Node::Seq));
            }
        }
    }

    fn arithmetic_for(&mut self, command: &'t ArithmeticForCommand) {
        self.expression(command.init_ast.as_ref(), command.init_span);
        self.expression(command.condition_ast.as_ref(), command.condition_span);
        self.expression(command.step_ast.as_ref(), command.step_span);
        self.waiting.push(Node::Seq(&command.body));
    }
}

type FlowParts<'t> = (&'t Option<Word>, &'t [Word], &'t [Assignment]);

/// Returns the words and assignments of `break`, `continue`, `return` and `exit`.
pub(crate) fn flow_parts(builtin: &BuiltinCommand) -> FlowParts<'_> {
    match builtin {
        BuiltinCommand::Break(command) => {
            (&command.depth, &command.extra_args, &command.assignments)
        }
        BuiltinCommand::Continue(command) => {
            (&command.depth, &command.extra_args, &command.assignments)
        }
        BuiltinCommand::Return(command) => {
            (&command.code, &command.extra_args, &command.assignments)
        }
        BuiltinCommand::Exit(command) => (&command.code, &command.extra_args, &command.assignments),
    }
}
