//! A script runs on a Mac.
