//! The gate from outside: the operations of agents, people and the clock, over real stores.

#![cfg(test)]

mod announce;
mod approvals;
mod asker;
mod audit;
mod canary;
mod defects;
mod files;
mod forward;
mod found;
#[cfg(unix)]
mod full_disk;
mod idempotency;
mod identity;
mod lists;
mod model;
mod moment;
mod offline;
mod people;
mod quorum;
mod rights;
mod sessions;
mod socket;
mod tamper;
mod time;
mod violations;
mod work;
mod world;
