//! The executors as a server would use them, and what must not get past them.

#![cfg(target_os = "linux")]

// As modules marked `test`, so that the lints treat their helpers like tests.
#[cfg(test)]
mod applescript;
#[cfg(test)]
mod file;
#[cfg(test)]
mod http;
#[cfg(test)]
mod shell;
#[cfg(test)]
mod support;
