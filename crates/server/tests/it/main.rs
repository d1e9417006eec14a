//! The server from outside: real connections, real stores, and everybody who might ask.

#![cfg(test)]

mod batch;
mod idempotency;
mod live;
mod pages;
mod recall;
mod roles;
mod security;
mod waiting;
mod world;
