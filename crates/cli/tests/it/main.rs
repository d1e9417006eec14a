//! Tests of the binary from the outside: its output, its exit codes, what it runs and what it does
//! not.

// As modules marked `test`, so that the lints treat their helpers like tests.
#[cfg(test)]
mod audit;
#[cfg(test)]
#[cfg(unix)]
mod backup;
#[cfg(test)]
mod batch;
#[cfg(test)]
mod check;
#[cfg(test)]
mod config;
#[cfg(test)]
mod generated;
#[cfg(test)]
mod host;
#[cfg(test)]
#[cfg(unix)]
mod host_ends;
#[cfg(test)]
#[cfg(unix)]
mod live;
#[cfg(test)]
#[cfg(unix)]
mod made;
#[cfg(test)]
#[cfg(unix)]
mod run;
#[cfg(test)]
mod sandbox;
#[cfg(test)]
#[cfg(unix)]
mod server;
#[cfg(test)]
#[cfg(unix)]
mod shell;
#[cfg(test)]
#[path = "../../../../tests/support/start.rs"]
mod start;
#[cfg(test)]
#[cfg(unix)]
mod transcripts;
#[cfg(test)]
mod wrap;
