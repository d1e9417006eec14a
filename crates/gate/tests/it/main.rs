//! The gate from outside: what an agent, a person and a clock can do, over real stores.

mod approvals;
mod audit;
mod canary;
mod defects;
mod identity;
mod sessions;
mod tamper;
mod world;
