//! Files that an agent hands in.

mod name;

pub use name::FileName;
