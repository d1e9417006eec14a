//! Measures, as ratios in one run: what is compared is measured in turns, so that a busy machine
//! slows both sides alike.
//!
//! `bench PATH-TO-COUNTERSIGN` prints Markdown tables; `cargo xtask bench` keeps them in
//! `docs/performance.md`. No number here decides whether anything passes.

#![expect(clippy::print_stdout, reason = "its tables are its output")]

use std::path::PathBuf;
use std::process::ExitCode;

mod cold;
mod curve;
mod gate;
mod kinds;
mod memory;
mod sample;
mod warm;

fn main() -> ExitCode {
    let Some(binary) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: bench PATH-TO-COUNTERSIGN");
        return ExitCode::from(2);
    };
    let tables = [
        warm::table(),
        kinds::table(),
        curve::table(),
        cold::table(&binary),
        memory::table(&binary),
        gate::table(),
    ];
    let mut failed = false;
    for table in tables {
        match table {
            Ok(table) => println!("{table}"),
            Err(error) => {
                eprintln!("bench: {error}");
                failed = true;
            }
        }
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
