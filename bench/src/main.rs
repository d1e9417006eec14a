//! Measures, as ratios in one run: what is compared is measured in turns, so that a busy machine
//! slows both sides alike.
//!
//! `bench PATH-TO-COUNTERSIGN` prints Markdown tables; `cargo xtask bench` keeps them in
//! `docs/performance.md`. No number here decides whether anything passes.
//!
//! `bench gate` is the table of the gate alone. `bench cold PATH-TO-COUNTERSIGN` is that of starts. `$BENCH_PEERS` names other guards
//! to start in the same turns: `name = command line; …`.
//!
//! `bench soak PATH-TO-COUNTERSIGN MINUTES` keeps a server busy and prints what it takes up.
//! `bench echo` is the bare server that ours is compared with, `bench mcp-echo` and
//! `bench mcp-echo-http` are those behind the proxy, `bench mcp-relay PROGRAM WORDS…` stands in the
//! proxy's place and only copies. `bench mcp PATH-TO-COUNTERSIGN` prints what a proxy adds to a
//! call, `bench server …` what the server alone does, `bench attack …` what people wait for while
//! callers send it the slowest inputs, `bench waiting …` what hooks do while they wait for people.

#![expect(clippy::print_stdout, reason = "its tables are its output")]

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

mod cold;
mod curve;
mod gate;
mod kinds;
mod mcp;
mod memory;
mod sample;
mod server;
mod warm;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let words: Vec<_> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["echo"] => told(server::echo().map(|()| String::new())),
        ["cold", binary] => told(cold::table(Path::new(binary))),
        ["gate"] => told(gate::table()),
        ["mcp-echo"] => silent(mcp::echo()),
        ["mcp-echo-http"] => silent(mcp::echo_http()),
        ["mcp-relay", program, words @ ..] => silent(mcp::relay(program, words)),
        ["mcp", binary] => told(mcp::table(Path::new(binary))),
        ["server", binary] => told(server::table(Path::new(binary))),
        ["attack", binary] => told(server::attack(Path::new(binary))),
        ["waiting", binary] => told(server::waiting(Path::new(binary))),
        ["soak", binary, minutes] => match minutes.parse() {
            Ok(minutes) => told(server::soak(Path::new(binary), minutes)),
            Err(_) => usage(),
        },
        [binary] => all(Path::new(binary)),
        _ => usage(),
    }
}

fn usage() -> ExitCode {
    eprintln!(
        "usage: bench [cold | server | waiting | attack | mcp | soak] PATH-TO-COUNTERSIGN [MINUTES]"
    );
    ExitCode::from(2)
}

/// Of a server that talks to somebody else.
fn silent(outcome: Result<(), Box<dyn Error>>) -> ExitCode {
    outcome.map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS)
}

fn told(table: Result<String, Box<dyn Error>>) -> ExitCode {
    match table {
        Ok(table) => {
            println!("{table}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn all(binary: &Path) -> ExitCode {
    let tables = [
        warm::table(),
        kinds::table(),
        curve::table(),
        cold::table(binary),
        memory::table(binary),
        gate::table(),
        server::table(binary),
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
