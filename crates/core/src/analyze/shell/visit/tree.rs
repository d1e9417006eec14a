//! The visitor of the syntax tree: lists the children of each node.

use shuck_ast::{
    ArithmeticExpr, ArithmeticExprNode, ArithmeticLvalue, ArrayElem, Assignment, AssignmentValue,
    BourneParameterExpansion as Bourne, CommandSubstitutionSyntax, Comment, ConditionalExpr,
    HeredocBodyPart, ParameterExpansion, ParameterOp, Pattern, PatternPart, Redirect,
    RedirectTarget, SourceText, Span as SyntaxSpan, Stmt, StmtSeq, Subscript, TextRange, VarRef,
    Word, WordPart, WordPartNode,
};

use super::{Found, Runs, script_in_brackets};

/// A part of the tree that can contain a substitution.
#[derive(Clone, Copy)]
pub(crate) enum Node<'t> {
    Seq(&'t StmtSeq),
    Stmt(&'t Stmt),
    Word(&'t Word),
    Part(&'t WordPartNode),
    Pattern(&'t Pattern),
    Arithmetic(&'t ArithmeticExprNode),
    Reference(&'t VarRef),
    Subscript(&'t Subscript),
    Parameter(&'t ParameterExpansion),
    Operator(&'t ParameterOp),
    Condition(&'t ConditionalExpr),
    Assignment(&'t Assignment),
    Redirect(&'t Redirect),
    /// A text that the grammar leaves unread.
    Text(&'t SourceText),
    /// The span of such a text.
    SyntaxSpan(SyntaxSpan),
}

/// The substitutions in a part of the tree.
#[derive(Default)]
pub(super) struct Tree<'t> {
    /// Substitutions, in the order of the text.
    pub(super) found: Vec<Found<'t>>,
    /// Positions at which substitutions and expressions open.
    pub(super) opened: Vec<usize>,
    /// Ranges of the text in which no substitution opens: quotes, comments, and text that is read
    /// elsewhere.
    pub(super) quiet: Vec<(usize, usize)>,
}

/// Returns every substitution, including nested ones.
pub(super) fn whole<'t>(src: &str, node: Node<'t>) -> Tree<'t> {
    Visitor { src, inside: true, waiting: vec![node], tree: Tree::default() }.visit()
}

/// Returns every substitution that is not inside another.
pub(super) fn outermost<'t>(src: &str, node: Node<'t>) -> Vec<Found<'t>> {
    Visitor { src, inside: false, waiting: vec![node], tree: Tree::default() }.visit().found
}

pub(super) struct Visitor<'s, 't> {
    src: &'s str,
    /// True when the bodies of substitutions are visited too.
    inside: bool,
    pub(super) waiting: Vec<Node<'t>>,
    tree: Tree<'t>,
}

impl<'t> Visitor<'_, 't> {
    /// Visits in the order of the text. Uses a stack instead of recursion, because a tree may be
    /// deep.
    fn visit(mut self) -> Tree<'t> {
        while let Some(node) = self.waiting.pop() {
            self.node(node);
        }
        // An expression is in the tree both as a word and as arithmetic.
        let start = |found: &mut Found<'_>| found.syntax_span.start.offset();
        self.tree.found.sort_by_key(|found| found.syntax_span.start.offset());
        self.tree.found.dedup_by_key(start);
        self.tree
    }

    fn node(&mut self, node: Node<'t>) {
        match node {
            Node::Seq(seq) => {
                self.comments(seq.leading_comments.iter().chain(&seq.trailing_comments));
                self.waiting.extend(seq.iter().map(Node::Stmt));
            }
            Node::Stmt(stmt) => {
                self.comments(stmt.leading_comments.iter().chain(&stmt.inline_comment));
                self.waiting.extend(stmt.redirects.iter().map(Node::Redirect));
                self.command(&stmt.command);
            }
            Node::Word(word) => self.waiting.extend(word.parts.iter().map(Node::Part)),
            Node::Part(part) => self.part(part),
            Node::Pattern(pattern) => self.pattern(pattern),
            Node::Arithmetic(expression) => self.arithmetic(expression),
            Node::Reference(reference) => {
                self.waiting.extend(reference.subscript.as_deref().map(Node::Subscript));
            }
            Node::Subscript(subscript) => self.subscript(subscript),
            Node::Parameter(parameter) => self.parameter(parameter),
            Node::Operator(operator) => self.operator(operator),
            Node::Condition(expression) => self.condition(expression),
            Node::Assignment(assignment) => self.assignment(assignment),
            Node::Redirect(redirect) => self.redirect(redirect),
            Node::Text(text) => self.text(text.slice(self.src), text.span()),
            Node::SyntaxSpan(syntax_span) => self.text(syntax_span.slice(self.src), syntax_span),
        }
    }

    pub(super) fn words(&mut self, words: impl IntoIterator<Item = &'t Word>) {
        self.waiting.extend(words.into_iter().map(Node::Word));
    }

    pub(super) fn assignments(&mut self, assignments: &'t [Assignment]) {
        self.waiting.extend(assignments.iter().map(Node::Assignment));
    }

    fn comments(&mut self, comments: impl Iterator<Item = &'t Comment>) {
        let ranges = comments.map(|comment| comment.range);
        let bounds = |range: TextRange| (range.start().into(), range.end().into());
        self.tree.quiet.extend(ranges.map(bounds));
    }

    /// Records that no substitution opens here, or that it is read in another way.
    pub(super) fn quiet(&mut self, syntax_span: SyntaxSpan) {
        self.tree.quiet.push((syntax_span.start.offset(), syntax_span.end.offset()));
    }

    fn text(&mut self, text: &str, syntax_span: SyntaxSpan) {
        self.quiet(syntax_span);
        if text.contains("$(") || text.contains('`') {
            self.tree.found.push(Found { runs: Runs::Text(text.to_owned()), syntax_span });
        }
    }

    /// Visits an expression, or its text where the grammar does not parse it.
    pub(super) fn expression(
        &mut self,
        expression: Option<&'t ArithmeticExprNode>,
        syntax_span: Option<SyntaxSpan>,
    ) {
        let unread = syntax_span.map(Node::SyntaxSpan);
        self.waiting.extend(expression.map(Node::Arithmetic).or(unread));
    }

    fn part(&mut self, part: &'t WordPartNode) {
        match &part.kind {
            WordPart::SingleQuoted { .. } => self.quiet(part.span),
            WordPart::Literal(_) | WordPart::Variable(_) | WordPart::PrefixMatch { .. } => {}
            WordPart::ZshQualifiedGlob(_) => self.waiting.push(Node::SyntaxSpan(part.span)),
            WordPart::DoubleQuoted { parts, .. } => {
                self.waiting.extend(parts.iter().map(Node::Part));
            }
            WordPart::CommandSubstitution { body, syntax } => {
                self.command_substitution(body, *syntax, part.span);
            }
            WordPart::ProcessSubstitution { body, is_input } => {
                let runs = Runs::Process { body, is_input: *is_input };
                self.tree.found.push(Found { runs, syntax_span: part.span });
                self.waiting.extend(self.inside.then_some(Node::Seq(body)));
            }
            WordPart::ArithmeticExpansion { expression_word_ast, .. } => {
                self.expansion(expression_word_ast, part.span);
            }
            WordPart::Parameter(parameter) => self.waiting.push(Node::Parameter(parameter)),
            WordPart::ParameterExpansion { reference, operator, operand_word_ast, .. } => {
                self.waiting.extend([Node::Reference(reference), Node::Operator(operator)]);
                self.words(operand_word_ast.as_deref());
            }
            WordPart::Length(reference)
            | WordPart::ArrayAccess(reference)
            | WordPart::ArrayLength(reference)
            | WordPart::ArrayIndices(reference)
            | WordPart::Transformation { reference, .. } => {
                self.waiting.push(Node::Reference(reference));
            }
            WordPart::Substring { reference, offset_word_ast, length_word_ast, .. }
            | WordPart::ArraySlice { reference, offset_word_ast, length_word_ast, .. } => {
                self.waiting.push(Node::Reference(reference));
                self.words(std::iter::once(&**offset_word_ast).chain(length_word_ast.as_deref()));
            }
            WordPart::IndirectExpansion { reference, operator, operand_word_ast, .. } => {
                self.waiting.push(Node::Reference(reference));
                self.waiting.extend(operator.as_deref().map(Node::Operator));
                self.words(operand_word_ast.as_deref());
            }
        }
    }

    /// Visits `$((…))`.
    fn expansion(&mut self, word: &'t Word, syntax_span: SyntaxSpan) {
        self.tree.opened.push(syntax_span.start.offset());
        match script_in_brackets(syntax_span.slice(self.src)) {
            Some(script) => {
                self.quiet(syntax_span);
                self.tree.found.push(Found { runs: Runs::Script(script.to_owned()), syntax_span });
            }
            None => self.words([word]),
        }
    }

    fn command_substitution(
        &mut self,
        body: &'t StmtSeq,
        syntax: CommandSubstitutionSyntax,
        syntax_span: SyntaxSpan,
    ) {
        if let Some(text) = cut_short(self.src, syntax, syntax_span) {
            self.tree.opened.push(syntax_span.start.offset());
            let runs = Runs::Text(text.to_owned());
            return self.tree.found.push(Found { runs, syntax_span });
        }
        // Between backticks, a text with backslashes is parsed again as another text.
        let anew = syntax == CommandSubstitutionSyntax::Backtick
            && syntax_span.slice(self.src).contains('\\');
        self.waiting.extend((self.inside && !anew).then_some(Node::Seq(body)));
        self.tree.opened.push(syntax_span.start.offset());
        if anew {
            self.quiet(syntax_span);
        }
        self.tree.found.push(Found { runs: Runs::Command(body, syntax), syntax_span });
    }

    fn parameter(&mut self, parameter: &'t ParameterExpansion) {
        let Some(bourne) = parameter.bourne() else {
            self.waiting.push(Node::SyntaxSpan(parameter.span));
            return;
        };
        match bourne {
            Bourne::Access { reference }
            | Bourne::Length { reference }
            | Bourne::Indices { reference }
            | Bourne::Transformation { reference, .. } => {
                self.waiting.push(Node::Reference(reference));
            }
            Bourne::Indirect { reference, operator, operand_word_ast, .. } => {
                self.waiting.push(Node::Reference(reference));
                self.waiting.extend(operator.as_deref().map(Node::Operator));
                self.words(operand_word_ast.as_deref());
            }
            Bourne::Operation { reference, operator, operand_word_ast, .. } => {
                self.waiting.extend([Node::Reference(reference), Node::Operator(operator)]);
                self.words(operand_word_ast.as_deref());
            }
            Bourne::Slice { reference, offset_word_ast, length_word_ast, .. } => {
                self.waiting.push(Node::Reference(reference));
                self.words(std::iter::once(&**offset_word_ast).chain(length_word_ast.as_deref()));
            }
            Bourne::PrefixMatch { .. } => {}
        }
    }

    fn operator(&mut self, operator: &'t ParameterOp) {
        match operator {
            ParameterOp::RemovePrefixShort { pattern }
            | ParameterOp::RemovePrefixLong { pattern }
            | ParameterOp::RemoveSuffixShort { pattern }
            | ParameterOp::RemoveSuffixLong { pattern } => {
                self.waiting.push(Node::Pattern(pattern));
            }
            ParameterOp::ReplaceFirst { pattern, replacement_word_ast, .. }
            | ParameterOp::ReplaceAll { pattern, replacement_word_ast, .. } => {
                self.waiting.push(Node::Pattern(pattern));
                self.words([&**replacement_word_ast]);
            }
            ParameterOp::UseDefault
            | ParameterOp::AssignDefault
            | ParameterOp::UseReplacement
            | ParameterOp::Error
            | ParameterOp::UpperFirst
            | ParameterOp::UpperAll
            | ParameterOp::LowerFirst
            | ParameterOp::LowerAll => {}
        }
    }

    fn pattern(&mut self, pattern: &'t Pattern) {
        for part in &pattern.parts {
            match &part.kind {
                PatternPart::Literal(_) | PatternPart::AnyString | PatternPart::AnyChar => {}
                PatternPart::CharClass(text) => self.waiting.push(Node::Text(text)),
                PatternPart::Group { patterns, .. } => {
                    self.waiting.extend(patterns.iter().map(Node::Pattern));
                }
                PatternPart::Word(word) => self.words([word]),
            }
        }
    }

    fn arithmetic(&mut self, expression: &'t ArithmeticExprNode) {
        let mut push = |parts: &[&'t ArithmeticExprNode]| {
            self.waiting.extend(parts.iter().map(|part| Node::Arithmetic(part)));
        };
        match &expression.kind {
            ArithmeticExpr::Number(text) => self.waiting.push(Node::Text(text)),
            ArithmeticExpr::Variable(_) => {}
            ArithmeticExpr::Indexed { index, .. } => push(&[index]),
            ArithmeticExpr::ShellWord(word) => self.words([word]),
            ArithmeticExpr::Parenthesized { expression } => push(&[expression]),
            ArithmeticExpr::Unary { expr, .. } | ArithmeticExpr::Postfix { expr, .. } => {
                push(&[expr]);
            }
            ArithmeticExpr::Binary { left, right, .. } => push(&[left, right]),
            ArithmeticExpr::Conditional { condition, then_expr, else_expr } => {
                push(&[condition, then_expr, else_expr]);
            }
            ArithmeticExpr::Assignment { target, value, .. } => {
                push(&[value]);
                if let ArithmeticLvalue::Indexed { index, .. } = target {
                    push(&[index]);
                }
            }
        }
    }

    fn subscript(&mut self, subscript: &'t Subscript) {
        let word = subscript.word_ast.as_ref().map(Node::Word);
        let expression = subscript.arithmetic_ast.as_ref().map(Node::Arithmetic);
        let unread = Node::Text(subscript.syntax_source_text());
        self.waiting.push(word.or(expression).unwrap_or(unread));
    }

    fn condition(&mut self, expression: &'t ConditionalExpr) {
        match expression {
            ConditionalExpr::Binary(binary) => {
                self.waiting.extend([&*binary.left, &*binary.right].map(Node::Condition));
            }
            ConditionalExpr::Unary(unary) => self.waiting.push(Node::Condition(&unary.expr)),
            ConditionalExpr::Parenthesized(inner) => {
                self.waiting.push(Node::Condition(&inner.expr));
            }
            ConditionalExpr::Word(word) | ConditionalExpr::Regex(word) => self.words([word]),
            ConditionalExpr::Pattern(pattern) => self.waiting.push(Node::Pattern(pattern)),
            ConditionalExpr::VarRef(reference) => self.waiting.push(Node::Reference(reference)),
        }
    }

    fn assignment(&mut self, assignment: &'t Assignment) {
        self.waiting.push(Node::Reference(&assignment.target));
        match &assignment.value {
            AssignmentValue::Scalar(word) => self.words([word]),
            AssignmentValue::Compound(array) => {
                for element in &array.elements {
                    if let ArrayElem::Keyed { key, .. } | ArrayElem::KeyedAppend { key, .. } =
                        element
                    {
                        self.waiting.push(Node::Subscript(key));
                    }
                    self.words([&element.value().word]);
                }
            }
        }
    }

    fn redirect(&mut self, redirect: &'t Redirect) {
        let heredoc = match &redirect.target {
            RedirectTarget::Word(word) => return self.words([word]),
            RedirectTarget::Heredoc(heredoc) => heredoc,
        };
        if !heredoc.body.mode.expands() {
            self.quiet(heredoc.body.span);
        }
        for (part, syntax_span) in heredoc.body.parts_with_spans() {
            match part {
                HeredocBodyPart::Literal(_) | HeredocBodyPart::Variable(_) => {}
                HeredocBodyPart::CommandSubstitution { body, syntax } => {
                    self.command_substitution(body, *syntax, syntax_span);
                }
                HeredocBodyPart::ArithmeticExpansion { expression_word_ast, .. } => {
                    self.expansion(expression_word_ast, syntax_span);
                }
                HeredocBodyPart::Parameter(parameter) => {
                    self.waiting.push(Node::Parameter(parameter));
                }
            }
        }
    }
}

/// Returns the whole of a substitution that the grammar ends too early: in `${x/$(rm /y)/z}` it
/// takes the slash for the end of the pattern.
fn cut_short(
    src: &str,
    syntax: CommandSubstitutionSyntax,
    syntax_span: SyntaxSpan,
) -> Option<&str> {
    let rest = src.get(syntax_span.start.offset()..)?;
    let read = syntax_span.slice(src);
    let end = match syntax {
        CommandSubstitutionSyntax::DollarParen
            if rest.starts_with("$(") && !read.ends_with(')') =>
        {
            closing_bracket(rest)
        }
        CommandSubstitutionSyntax::Backtick
            if rest.starts_with('`') && (read.len() < 2 || !read.ends_with('`')) =>
        {
            rest.get(1..)?.find('`').map(|at| at + 2)
        }
        _ => return None,
    };
    Some(end.and_then(|end| rest.get(..end)).unwrap_or(rest))
}

/// Returns the position after the bracket that closes the first one.
fn closing_bracket(text: &str) -> Option<usize> {
    let mut open = 0_usize;
    for (at, char) in text.char_indices() {
        match char {
            '(' => open += 1,
            ')' if open == 1 => return Some(at + 1),
            ')' => open = open.saturating_sub(1),
            _ => {}
        }
    }
    None
}
