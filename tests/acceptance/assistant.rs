//! A chat assistant's app skills.
