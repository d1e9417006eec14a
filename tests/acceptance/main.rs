//! The promises of each built-in profile, row by row, through the binary's own command line and
//! through its server.
//!
//! One file per profile, and one more under `server/`; `mcp.rs` tests traffic through our proxy. A
//! test's name is the row in plain words; its letter and number are in the file so that a reader
//! can find it.

// As modules marked `test`, so that the lints treat their helpers like tests.
#[cfg(test)]
mod applescript;
#[cfg(test)]
mod assistant;
#[cfg(test)]
mod browser_agent;
#[cfg(test)]
mod check;
#[cfg(test)]
mod coding_agent;
#[cfg(test)]
mod computer_use;
#[cfg(test)]
mod mcp;
#[cfg(test)]
mod server;
#[cfg(test)]
#[path = "../support/start.rs"]
mod start;
