//! The effects of a parsed statement.

use sqlparser::ast::{
    AlterTableOperation, CopySource, CopyTarget, Delete, Expr, FromTable, Merge, MergeAction,
    Query, SetExpr, Statement, Update,
};

use super::flavour::Flavour;
use super::guess;
use super::lexeme::Lexeme;
use super::truth;
use crate::fact::FactKind;

/// Returns all effects of a statement; none for one that only reads.
pub(super) fn kinds(statement: &Statement, run: &[Lexeme], flavour: Flavour) -> Vec<FactKind> {
    let mut kinds = guess::nested(run, flavour);
    match statement {
        Statement::Query(query) => query_kinds(query, &mut kinds),
        Statement::Case(_) | Statement::If(_) | Statement::While(_) => {
            // The statements of branches are delimited by keywords, not by brackets.
            kinds.extend(guess::branches(run));
        }
        Statement::StartTransaction { statements, .. } if !statements.is_empty() => {
            kinds.extend(guess::branches(run));
        }
        statement => kinds.extend(kind(statement)),
    }
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

/// Returns the effect of one statement that is neither a query nor made of others.
fn kind(statement: &Statement) -> Option<FactKind> {
    match statement {
        Statement::Update(update) => Some(of_update(update)),
        Statement::Delete(delete) => Some(of_delete(delete)),
        Statement::Merge(merge) => Some(of_merge(merge)),
        Statement::Truncate(_) => Some(FactKind::SqlTruncate),
        Statement::Drop { .. }
        | Statement::DropFunction(_)
        | Statement::DropDomain(_)
        | Statement::DropProcedure { .. }
        | Statement::DropSecret { .. }
        | Statement::DropPolicy(_)
        | Statement::DropConnector { .. }
        | Statement::DropExtension(_)
        | Statement::DropOperator(_)
        | Statement::DropOperatorFamily(_)
        | Statement::DropOperatorClass(_)
        | Statement::DropTrigger(_) => Some(FactKind::SqlDrop),
        Statement::AlterTable(alter) => Some(of_alter(&alter.operations)),
        Statement::CreateTable(table) if table.or_replace => Some(FactKind::SqlDrop),
        Statement::Copy { source, to, target, .. } => of_copy(source, *to, target),
        Statement::AttachDatabase { .. } | Statement::AttachDuckDBDatabase { .. } => {
            Some(FactKind::SqlEscape)
        }
        // Statements that only show something, or configure this session.
        Statement::ExplainTable { .. }
        | Statement::Explain { .. }
        | Statement::ShowFunctions { .. }
        | Statement::ShowVariable { .. }
        | Statement::ShowStatus { .. }
        | Statement::ShowVariables { .. }
        | Statement::ShowCreate { .. }
        | Statement::ShowColumns { .. }
        | Statement::ShowCatalogs { .. }
        | Statement::ShowDatabases { .. }
        | Statement::ShowProcessList { .. }
        | Statement::ShowSchemas { .. }
        | Statement::ShowCharset(_)
        | Statement::ShowObjects(_)
        | Statement::ShowTables { .. }
        | Statement::ShowViews { .. }
        | Statement::ShowCollation { .. }
        | Statement::List(_)
        | Statement::Use(_)
        | Statement::StartTransaction { .. }
        | Statement::Commit { .. }
        | Statement::Rollback { .. }
        | Statement::Savepoint { .. }
        | Statement::ReleaseSavepoint { .. }
        | Statement::Fetch { .. }
        | Statement::Close { .. }
        | Statement::Print(_)
        | Statement::Return(_) => None,
        _ => Some(FactKind::SqlWrite),
    }
}

/// Collects writes in the body of a query or in its `WITH` clause.
fn query_kinds(query: &Query, kinds: &mut Vec<FactKind>) {
    let mut bodies = vec![&*query.body];
    for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
        bodies.push(&*cte.query.body);
    }
    while let Some(body) = bodies.pop() {
        match body {
            SetExpr::Insert(statement)
            | SetExpr::Update(statement)
            | SetExpr::Delete(statement)
            | SetExpr::Merge(statement) => kinds.extend(kind(statement)),
            SetExpr::SetOperation { left, right, .. } => bodies.extend([&**left, &**right]),
            SetExpr::Query(inner) => bodies.push(&*inner.body),
            SetExpr::Select(select) if select.into.is_some() => kinds.push(FactKind::SqlWrite),
            SetExpr::Select(_) | SetExpr::Values(_) | SetExpr::Table(_) => {}
        }
    }
}

fn of_update(update: &Update) -> FactKind {
    let limited = update.limit.is_some() || !update.table.joins.is_empty();
    if narrows(update.selection.as_ref(), limited) {
        FactKind::SqlWrite
    } else {
        FactKind::SqlEveryRow
    }
}

fn of_delete(delete: &Delete) -> FactKind {
    let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
    let joined = from.iter().any(|table| !table.joins.is_empty());
    if narrows(delete.selection.as_ref(), delete.limit.is_some() || joined) {
        FactKind::SqlDelete
    } else {
        FactKind::SqlEveryRow
    }
}

/// Reports whether a condition excludes some rows.
fn narrows(condition: Option<&Expr>, otherwise: bool) -> bool {
    condition.map_or(otherwise, |condition| !truth::always(condition))
}

fn of_merge(merge: &Merge) -> FactKind {
    let deletes =
        merge.clauses.iter().any(|clause| matches!(clause.action, MergeAction::Delete { .. }));
    if deletes { FactKind::SqlDelete } else { FactKind::SqlWrite }
}

fn of_alter(operations: &[AlterTableOperation]) -> FactKind {
    let loses = operations.iter().any(|operation| {
        matches!(
            operation,
            AlterTableOperation::DropColumn { .. }
                | AlterTableOperation::DropPartitions { .. }
                | AlterTableOperation::DropProjection { .. }
        )
    });
    if loses { FactKind::SqlDrop } else { FactKind::SqlWrite }
}

fn of_copy(source: &CopySource, to: bool, target: &CopyTarget) -> Option<FactKind> {
    match (target, to) {
        (CopyTarget::Program { .. }, _) | (CopyTarget::File { .. }, true) => {
            Some(FactKind::SqlEscape)
        }
        (CopyTarget::Stdin | CopyTarget::File { .. } | CopyTarget::Stdout, false) => {
            Some(FactKind::SqlWrite)
        }
        (CopyTarget::Stdout | CopyTarget::Stdin, true) => match source {
            CopySource::Table { .. } => None,
            CopySource::Query(query) => {
                let mut kinds = Vec::new();
                query_kinds(query, &mut kinds);
                kinds.into_iter().max()
            }
        },
    }
}
