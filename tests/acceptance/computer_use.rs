//! An engine that fills forms on allowed origins.
