//! The Model Context Protocol: what stands between a client and its tools.

mod json;
mod message;
