//! The gate from outside: what an agent, a person and a clock can do, over real stores.

mod approvals;
mod found;
mod model;
mod world;
