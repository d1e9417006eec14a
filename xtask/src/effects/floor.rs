//! Lower bounds that may not be missed.

use super::Outcome;
use super::report::totals;
use super::thing::Class;
use crate::Result;

/// The lowest recall and precision of a class, a little below the measured values for scripts of
/// our own. They only rise.
const FLOORS: &[(Class, f64, f64)] = &[
    (Class::Read, 0.95, 0.97),
    (Class::Write, 0.97, 0.97),
    (Class::Delete, 0.95, 0.94),
    (Class::Move, 0.85, 0.95),
    (Class::Connect, 0.95, 0.95),
    (Class::Execute, 0.98, 0.95),
];

/// The number of scripts below which the result is meaningless.
const FEWEST: usize = 100;

/// Compares with the floors.
///
/// # Errors
/// One is missed, or hardly anything could run.
pub(crate) fn check(outcomes: &[Outcome]) -> Result {
    let ran = outcomes.iter().filter(|outcome| outcome.ran()).count();
    if ran < FEWEST {
        return Err(format!("only {ran} scripts could run, {FEWEST} are needed").into());
    }
    let totals = totals(outcomes.iter());
    let mut missed = Vec::new();
    for (class, recall, precision) in FLOORS {
        let Some(score) = totals.get(class) else { continue };
        for (what, share, floor) in
            [("recall", score.recall(), recall), ("precision", score.precision(), precision)]
        {
            if let Some(share) = share.filter(|share| share < floor) {
                missed.push(format!("{what} of {} is {share:.3}, not {floor}", class.name()));
            }
        }
    }
    if missed.is_empty() { Ok(()) } else { Err(missed.join("; ").into()) }
}
