//! Conditions that are always true: `WHERE 1=1` deletes as much as a missing `WHERE`.

use sqlparser::ast::{BinaryOperator, Expr, SetExpr, UnaryOperator, Value};

/// Reports whether this condition lets every row through.
pub(super) fn always(condition: &Expr) -> bool {
    known(condition) == Some(true)
}

/// Returns the condition's value, where it does not depend on the row.
fn known(condition: &Expr) -> Option<bool> {
    match condition {
        Expr::Nested(inner) | Expr::IsTrue(inner) | Expr::Cast { expr: inner, .. } => known(inner),
        Expr::IsFalse(inner) => known(inner).map(|value| !value),
        Expr::Value(value) => truthy(&value.value),
        Expr::UnaryOp { op: UnaryOperator::Not | UnaryOperator::BangNot, expr } => {
            known(expr).map(|value| !value)
        }
        Expr::BinaryOp { left, op, right } => binary(left, op, right),
        Expr::Like { negated, pattern, .. } | Expr::ILike { negated, pattern, .. } => {
            let all = text(pattern)
                .is_some_and(|text| !text.is_empty() && text.chars().all(|c| c == '%'));
            all.then_some(!negated)
        }
        Expr::Between { expr, negated, low, high } => {
            let inside = number(low)? <= number(expr)? && number(expr)? <= number(high)?;
            Some(inside != *negated)
        }
        Expr::InList { expr, list, negated } => {
            list.iter().any(|item| constant(item) && item == &**expr).then_some(!negated)
        }
        Expr::IsNotNull(inner) => constant(inner).then_some(true),
        Expr::Exists { subquery, negated } => match &*subquery.body {
            SetExpr::Select(select) if select.from.is_empty() && select.selection.is_none() => {
                Some(!negated)
            }
            _ => None,
        },
        _ => None,
    }
}

fn binary(left: &Expr, op: &BinaryOperator, right: &Expr) -> Option<bool> {
    match op {
        BinaryOperator::And => match (known(left), known(right)) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        },
        BinaryOperator::Or => match (known(left), known(right)) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (Some(false), Some(false)) => Some(false),
            _ => None,
        },
        // A column equals itself in every row, except where it is NULL.
        BinaryOperator::Eq | BinaryOperator::GtEq | BinaryOperator::LtEq if left == right => {
            Some(true)
        }
        BinaryOperator::Eq => Some(number(left)?.total_cmp(&number(right)?).is_eq()),
        BinaryOperator::NotEq => match (text(left), text(right)) {
            (Some(left), Some(right)) => Some(left != right),
            _ => Some(number(left)?.total_cmp(&number(right)?).is_ne()),
        },
        BinaryOperator::Gt => Some(number(left)? > number(right)?),
        BinaryOperator::Lt => Some(number(left)? < number(right)?),
        BinaryOperator::GtEq => Some(number(left)? >= number(right)?),
        BinaryOperator::LtEq => Some(number(left)? <= number(right)?),
        _ => None,
    }
}

fn truthy(value: &Value) -> Option<bool> {
    match value {
        Value::Boolean(value) => Some(*value),
        Value::Number(number, _) => number.parse::<f64>().ok().map(|number| number != 0.0),
        Value::SingleQuotedString(text) => match text.to_ascii_lowercase().as_str() {
            "t" | "true" | "yes" | "on" | "1" => Some(true),
            "f" | "false" | "no" | "off" | "0" => Some(false),
            _ => None,
        },
        Value::Null => Some(false),
        _ => None,
    }
}

fn constant(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(value) if !matches!(value.value, Value::Null | Value::Placeholder(_)))
}

fn text(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) | Value::DoubleQuotedString(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

fn number(expr: &Expr) -> Option<f64> {
    match expr {
        Expr::Nested(inner) => number(inner),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => number(expr).map(|number| -number),
        Expr::Value(value) => match &value.value {
            Value::Number(number, _) => number.parse().ok(),
            _ => None,
        },
        _ => None,
    }
}
