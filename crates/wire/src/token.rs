//! The token that answers a question.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The token that answers a question. It is not printed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Token(String);

impl Token {
    /// A token from its text.
    #[must_use]
    pub const fn new(text: String) -> Self {
        Self(text)
    }

    /// The text of the token, which must not reach a log.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_not_printed() {
        let token = Token::new("told".to_owned());
        assert_eq!(format!("{token:?}"), "Token(…)");
        assert_eq!(serde_json::to_value(&token).unwrap(), "told");
    }
}
