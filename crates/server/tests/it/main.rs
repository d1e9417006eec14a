//! The server from outside: real connections, real stores, and everybody who might ask.

#![cfg(test)]

mod batch;
mod idempotency;
mod judging;
mod live;
mod local;
mod operations;
mod pages;
mod people;
mod recall;
mod rights;
mod roles;
mod security;
mod waiting;
mod worker;
mod world;
