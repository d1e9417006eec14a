//! What may not get worse.

use super::Outcome;
use super::happened::Class;
use super::report::totals;
use crate::Result;

/// The lowest recall and precision of a class, a little below what was measured.
const FLOORS: &[(Class, f64, f64)] = &[];

/// Compares with the floors.
///
/// # Errors
/// One is missed.
pub(crate) fn check(outcomes: &[Outcome]) -> Result {
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
