//! Python, JavaScript, Perl and Ruby: read into one common form, then followed step by step.

mod lex;
mod parse;
mod tree;
mod value;
