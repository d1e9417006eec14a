//! The loading of a policy from configuration texts.
//!
//! Apart from [`crate::policy`], because the examples of a file's rules are judged by the policy
//! that contains them.

use crate::example::{example_context, example_matches};
use crate::policy::Policy;
use crate::policy::config::Sources;
use crate::policy::error::ConfigError;

impl Policy {
    /// Makes a policy from the configuration files. Does not read files itself.
    ///
    /// # Errors
    /// A file is not YAML of the expected shape, names a rule, option or profile that does not
    /// exist, has a pattern that does not compile, or a rule whose examples fail. The caller then
    /// keeps the gate closed.
    pub fn load(sources: &Sources) -> Result<Self, ConfigError> {
        Self::read(sources, |rule, text, policy| {
            example_matches(rule, text, policy, &example_context())
        })
    }
}
