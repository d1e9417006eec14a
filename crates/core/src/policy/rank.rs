//! The ranks of configuration files, most trusted first.

/// The owner of a configuration file. The order is the order of the layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rank {
    /// The organisation that runs the machines.
    Organisation,
    /// One workspace of a server, set by the people who run the server.
    Workspace,
    /// The person the agent works for.
    User,
    /// The repository the agent works in: not to be trusted.
    Project,
}

impl Rank {
    /// Every one, in the order of the layers.
    pub const ALL: [Self; 4] = [Self::Organisation, Self::Workspace, Self::User, Self::Project];

    /// The layer that this rule or pattern belongs to, if it is not built in.
    pub(crate) fn of_rule(id: &str) -> Option<Self> {
        let (first, _) = id.split_once('.')?;
        Self::ALL.into_iter().find(|rank| rank.as_str() == first)
    }

    /// The layer's name in a trace and in the ids of its rules.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Organisation => "organisation",
            Self::Workspace => "workspace",
            Self::User => "user",
            Self::Project => "project",
        }
    }
}
