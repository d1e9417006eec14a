//! Measures, as ratios in one run.

fn main() {}
