//! The executors as a server would use them, and what must not get past them.

#![cfg(target_os = "linux")]

mod applescript;
mod file;
mod http;
mod shell;
mod support;
