//! The gate from outside: what an agent, a person and a clock can do, over real stores.

#![cfg(test)]

mod announce;
mod approvals;
mod audit;
mod canary;
mod defects;
mod files;
mod found;
mod idempotency;
mod identity;
mod lists;
mod model;
mod sessions;
mod tamper;
mod world;
