//! The Model Context Protocol: the proxy between a client and its tools, and a server of our own.

mod active_config;
pub(crate) mod http;
mod json;
mod message;
mod pins;
mod proxy;
mod serve;
mod stdio;
mod to_action;
mod tools;
pub(crate) mod wrap;

pub(crate) use serve::{Hands, Tools, serve};
pub(crate) use stdio::relay as relay_program;
