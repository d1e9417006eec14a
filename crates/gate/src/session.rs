//! A bounded run of an agent: its mode, its limits, and how it ends.
//!
//! ```text
//! Active ──flood──► Paused ──a person──► Active
//!    └─────────────────┴──► Ended (completed, stopped, max steps, timeout, errors, …)
//! ```
//!
//! Every action counts as a step, refused ones too: a refused agent cannot try for ever. The counts
//! are in the store's counters, whose limits hold under any concurrency.

use std::time::Duration;

use countersign_core::action::Action;
use countersign_core::context::Mode;
use countersign_core::policy::profile::Limits;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::document::{Document, IndexKeys};
use crate::id::{KeyId, SessionId, UserId, WorkspaceId};
use crate::process::Process;
use crate::rate::Rate;
use crate::store::{Count, CountStep, Kind, Pace};

mod hit;

pub use hit::Hit;

/// A bounded run of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// The user for whom the agent works.
    pub user: UserId,
    /// The workspace in which the agent works.
    pub workspace: WorkspaceId,
    /// The API key with which it was started.
    pub key: Option<KeyId>,
    /// The plan with which it was started.
    pub plan: Plan,
    /// The limits of the session.
    pub limits: Limits,
    /// True when it was given credentials, which are gone with the process that holds them.
    pub has_credentials: bool,
    /// The time at which it began.
    pub started_at: Timestamp,
    /// The time at which it ends at the latest.
    pub deadline: Option<Timestamp>,
    /// The state.
    pub state: SessionState,
}

/// The plan of a session.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Plan {
    /// The profile to judge by, where not the policy's own.
    pub profile: Option<String>,
    /// Explore or task.
    pub mode: Option<Mode>,
    /// Confirmations are given without asking, and recorded as such.
    pub auto_confirm: bool,
    /// The rules, families, kinds or risks that `auto_confirm` is for; all, where none is named.
    pub auto_confirm_rules: Option<Vec<String>>,
    /// Origins the agent may open.
    pub allowed_origins: Option<Vec<String>>,
    /// The task of the agent.
    pub task: Option<String>,
    /// By which template it works.
    pub flow: Option<String>,
    /// The agent's own process, where that is known.
    pub process: Option<Process>,
    /// Limits to use in place of the profile's; never more than those.
    pub limits: Limits,
}

/// The state of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum SessionState {
    /// It runs.
    Active,
    /// It asked too much too fast, and waits for a person to let it go on.
    Paused {
        /// Since when.
        since: Timestamp,
    },
    /// It is over.
    Ended {
        /// The time of the end.
        at: Timestamp,
        /// The reason.
        reason: End,
    },
}

/// The reason for which a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "SessionEnd"))]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The task is done.
    Completed,
    /// A person stopped it.
    Stopped,
    /// It took as many steps as it may.
    MaxSteps,
    /// It lasted as long as it may.
    Timeout,
    /// Too much went wrong.
    Errors,
    /// The agent's process is gone.
    ProcessGone,
    /// The server was started again, and the credentials were in its memory.
    CredentialsGone,
    /// No worker came that could do its work.
    NoWorker,
}

impl End {
    /// The name of the reason.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Stopped => "stopped",
            Self::MaxSteps => "max_steps",
            Self::Timeout => "timeout",
            Self::Errors => "errors",
            Self::ProcessGone => "process_gone",
            Self::CredentialsGone => "credentials_gone",
            Self::NoWorker => "no_worker",
        }
    }
}

/// A session limit that was hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Violation {
    /// Too fast: wait, then go on.
    RateLimit,
    /// Blocked: skip it, go on.
    BlockedAction,
    /// Not on an allowed origin: skip it, go on.
    BlockedOrigin,
    /// As many steps as it may take: the session ends.
    MaxSteps,
    /// As long as it may last: the session ends.
    Timeout,
    /// As many screenshots as it may take: skip it, go on.
    MaxScreenshots,
    /// As many files as it may move: skip it, go on.
    MaxFiles,
    /// More questions than a person can answer: the session pauses.
    PromptFlood,
    /// An action that took longer than it may: it is taken for over, and the session goes on.
    StepTimeout,
}

impl Violation {
    /// All violations.
    pub const ALL: &'static [Self] = &[
        Self::RateLimit,
        Self::BlockedAction,
        Self::BlockedOrigin,
        Self::MaxSteps,
        Self::Timeout,
        Self::MaxScreenshots,
        Self::MaxFiles,
        Self::PromptFlood,
        Self::StepTimeout,
    ];

    /// The name of the violation.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RateLimit => "rate_limit",
            Self::BlockedAction => "blocked_action",
            Self::BlockedOrigin => "blocked_origin",
            Self::MaxSteps => "max_steps",
            Self::Timeout => "timeout",
            Self::MaxScreenshots => "max_screenshots",
            Self::MaxFiles => "max_files",
            Self::PromptFlood => "prompt_flood",
            Self::StepTimeout => "step_timeout",
        }
    }

    /// The effect on the session.
    #[must_use]
    pub const fn response(self) -> Response {
        match self {
            Self::RateLimit => Response::Wait,
            Self::BlockedAction
            | Self::BlockedOrigin
            | Self::MaxScreenshots
            | Self::MaxFiles
            | Self::StepTimeout => Response::Skip,
            Self::MaxSteps => Response::End(End::MaxSteps),
            Self::Timeout => Response::End(End::Timeout),
            Self::PromptFlood => Response::Pause,
        }
    }
}

/// The effect of a violation on its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Response {
    /// The agent waits, then goes on.
    Wait,
    /// The action is skipped; the session goes on.
    Skip,
    /// The session pauses until a person resumes it.
    Pause,
    /// The session ends.
    End(End),
}

/// The rate of questions that a session may ask; more is a flood.
pub const PROMPTS: Rate = Rate { uses: 20, seconds: 300 };

/// The limits that one action counts against, each with its violation.
#[derive(Debug, Default)]
pub(crate) struct Use {
    pub(crate) counts: Vec<(Count, Violation)>,
    pub(crate) paces: Vec<(Pace, Violation)>,
}

impl Session {
    /// The most steps it may take.
    #[must_use]
    pub const fn most_steps(&self) -> Option<u32> {
        match self.plan.mode {
            Some(Mode::Explore) => self.limits.steps_exploring,
            Some(Mode::Task) | None => self.limits.steps,
        }
    }

    /// The name of the limit on its steps.
    #[must_use]
    pub const fn steps_limit(&self) -> &'static str {
        match self.plan.mode {
            Some(Mode::Explore) => "steps_exploring",
            Some(Mode::Task) | None => "steps",
        }
    }

    /// The time that one action may take before its outcome counts as unknown.
    #[must_use]
    pub fn patience(&self, action: &Action) -> Option<Duration> {
        let (_, seconds) = self.time_limit(action.kind())?;
        Some(Duration::from_secs(seconds.into()))
    }

    /// The name and value of the limit on the time of an action of this kind.
    pub(crate) fn time_limit(&self, kind: &str) -> Option<(&'static str, u32)> {
        let step = self.limits.step_seconds.map(|seconds| ("step_seconds", seconds));
        let download = self.limits.download_seconds.map(|seconds| ("download_seconds", seconds));
        if kind == "download" { download.or(step) } else { step }
    }

    /// The time that is used, if it is limited.
    #[must_use]
    pub fn time_used(&self, now: Timestamp) -> Option<Hit> {
        let seconds = self.limits.session_seconds?;
        Some(Hit::used("session_seconds", seconds.into(), now.since(self.started_at).as_secs()))
    }

    /// The key of one of its counters.
    #[must_use]
    pub fn counter(&self, what: &str) -> String {
        format!("session:{}:{what}", self.id)
    }

    /// The names of all its counters.
    pub(crate) const COUNTERS: [&'static str; 6] =
        ["steps", "errors", "screenshots", "files", "uploads", "upload_bytes"];

    /// The limits that an action counts against, whatever its outcome.
    pub(crate) fn uses(&self, action: &Action, now: Timestamp) -> Use {
        let mut used = Use::default();
        let mut count = |what: &str, most: Option<u32>, violation| {
            let most = most.map_or(u64::MAX, u64::from);
            let step = CountStep::Up { most };
            used.counts.push((Count { key: self.counter(what), step }, violation));
        };
        count("steps", self.most_steps(), Violation::MaxSteps);
        match action {
            Action::Screenshot {} => {
                count("screenshots", self.limits.screenshots, Violation::MaxScreenshots);
            }
            Action::Download { files } => {
                for _ in files.iter().take(MOST_COUNTED) {
                    count("files", self.limits.files, Violation::MaxFiles);
                }
            }
            _ => {}
        }
        if let Some(uses) = self.limits.actions_per_minute {
            let pace = Pace { key: self.counter("actions"), rate: Rate::per_minute(uses), now };
            used.paces.push((pace, Violation::RateLimit));
        }
        used
    }

    /// The writes that release its counters.
    pub(crate) fn forgotten(&self) -> impl Iterator<Item = Count> {
        Self::COUNTERS.iter().map(|what| Count { key: self.counter(what), step: CountStep::Forget })
    }

    /// Reports whether it has not ended.
    #[must_use]
    pub const fn is_alive(&self) -> bool {
        match self.state {
            SessionState::Active | SessionState::Paused { .. } => true,
            SessionState::Ended { .. } => false,
        }
    }
}

/// The most files of one download that are counted, more than any session may move.
const MOST_COUNTED: usize = 10_000;

impl SessionState {
    /// The name of the state.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Paused { .. } => "paused",
            Self::Ended { .. } => "ended",
        }
    }
}

impl Document for Session {
    const KIND: Kind = Kind::Session;

    fn id(&self) -> &str {
        self.id.as_str()
    }

    fn index_keys(&self) -> IndexKeys<'_> {
        IndexKeys {
            owner: Some(self.user.as_str()),
            workspace: Some(self.workspace.as_str()),
            session: Some(self.id.as_str()),
            state: self.state.as_str(),
            due: self.deadline.filter(|_| self.is_alive()),
            ..IndexKeys::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_violation_has_its_response() {
        for violation in Violation::ALL {
            let ends = matches!(violation.response(), Response::End(_));
            assert_eq!(ends, matches!(violation, Violation::MaxSteps | Violation::Timeout));
        }
    }
}
