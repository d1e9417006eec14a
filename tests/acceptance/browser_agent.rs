//! A browser or desktop app driven by a model.
