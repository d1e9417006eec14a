//! Session limits of the layers, and which layer may raise or lower them.
//!
//! | layer | may |
//! |---|---|
//! | organisation | raise and lower the profile's limits |
//! | workspace, user | the same, but not above a limit set by a layer above |
//! | project | only lower: the agent can write that file |

use crate::policy::Policy;
use crate::policy::config::SourceRef;
use crate::policy::error::{ConfigError, Problem};
use crate::policy::layer::{Layer, NotApplied};
use crate::policy::lock::Lock;
use crate::policy::profile::{Limits, Profile};
use crate::policy::rank::Rank;
use crate::policy::spot::To;

impl Limits {
    /// Every limit with its name.
    #[must_use]
    pub const fn entries(&self) -> [(&'static str, Option<u32>); 11] {
        [
            ("steps_exploring", self.steps_exploring),
            ("steps", self.steps),
            ("screenshots", self.screenshots),
            ("files", self.files),
            ("errors", self.errors),
            ("step_seconds", self.step_seconds),
            ("download_seconds", self.download_seconds),
            ("session_seconds", self.session_seconds),
            ("actions_per_minute", self.actions_per_minute),
            ("sessions_per_hour", self.sessions_per_hour),
            ("sessions_at_once", self.sessions_at_once),
        ]
    }

    /// The lower of both, limit by limit. `None` is higher than any limit.
    #[must_use]
    pub fn lowest(self, other: Self) -> Self {
        self.joined(other, |one, other| match (one, other) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        })
    }

    /// These limits, and those of the other where these are `None`.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        self.joined(other, Option::or)
    }

    fn joined(self, other: Self, join: impl Fn(Option<u32>, Option<u32>) -> Option<u32>) -> Self {
        Self {
            steps_exploring: join(self.steps_exploring, other.steps_exploring),
            steps: join(self.steps, other.steps),
            screenshots: join(self.screenshots, other.screenshots),
            files: join(self.files, other.files),
            errors: join(self.errors, other.errors),
            step_seconds: join(self.step_seconds, other.step_seconds),
            download_seconds: join(self.download_seconds, other.download_seconds),
            session_seconds: join(self.session_seconds, other.session_seconds),
            actions_per_minute: join(self.actions_per_minute, other.actions_per_minute),
            sessions_per_hour: join(self.sessions_per_hour, other.sessions_per_hour),
            sessions_at_once: join(self.sessions_at_once, other.sessions_at_once),
        }
    }
}

impl Policy {
    /// The limits of a session, by the profile of that name or the policy's own, and by the
    /// configuration files. `None` if there is no such profile.
    #[must_use]
    pub fn limits(&self, profile: Option<&str>) -> Option<Limits> {
        let named = profile.map_or(Some(self.profile), Profile::named)?;
        let profile = if self.is_locked(Lock::Profile) { self.profile } else { named };
        Some(settled(profile.limits, &self.layers))
    }
}

fn settled(profile: Limits, layers: &[Layer]) -> Limits {
    let of = |rank| {
        let layer = layers.iter().find(|layer| layer.rank == rank);
        layer.map_or_else(Limits::default, |layer| layer.limits)
    };
    let above = of(Rank::Organisation).lowest(of(Rank::Workspace));
    let trusted = above.lowest(of(Rank::User)).or(profile);
    trusted.lowest(of(Rank::Project))
}

/// The limits of a layer that are not followed, given the layers before it.
pub(super) fn unheard(
    layer: &Layer,
    profile: Limits,
    before: &[Layer],
) -> Vec<(&'static str, String)> {
    let (most, not_applied) = match layer.rank {
        Rank::Organisation => return Vec::new(),
        Rank::Workspace | Rank::User => {
            (settled(Limits::default(), before), NotApplied::Settled(Rank::Organisation))
        }
        Rank::Project => (settled(profile, before), NotApplied::Project),
    };
    let passed_over = |((name, said), (_, most)): (_, (_, Option<u32>))| {
        let said: u32 = Option::filter(said, |said| most.is_some_and(|most| *said > most))?;
        Some((name, format!("`{name}: {said}` is ignored: {}", not_applied.why())))
    };
    layer.limits.entries().into_iter().zip(most.entries()).filter_map(passed_over).collect()
}

/// Reads the limits. A limit of zero is refused: such a session could do nothing, which is surely a
/// mistake.
pub(super) fn read(limits: Option<Limits>, at: SourceRef<'_>) -> Result<Limits, ConfigError> {
    let limits = limits.unwrap_or_default();
    // Zero screenshots or files is a valid choice.
    let may_be_none = |name: &str| matches!(name, "screenshots" | "files");
    let wrong =
        limits.entries().into_iter().find(|(name, limit)| *limit == Some(0) && !may_be_none(name));
    match wrong {
        None => Ok(limits),
        Some((field, _)) => Err(at.error(
            &[To::Key("limits"), To::Key(field)],
            Problem::Value { field, problem: "is out of range" },
            "1 or more; leave it out for what the profile says",
        )),
    }
}

#[cfg(test)]
mod tests {
    use crate::policy::testing::load;

    /// The steps of a session in `computer-use`, whose own limit is 50.
    fn steps(files: [&str; 3]) -> Option<u32> {
        load(files).unwrap().limits(Some("computer-use")).unwrap().steps
    }

    #[test]
    fn the_trusted_raise_and_lower_and_a_project_only_lowers() {
        let limit = |steps: u32| format!("limits: {{steps: {steps}}}");
        let (low, high, higher) = (&*limit(10), &*limit(80), &*limit(200));
        let rows: [([&str; 3], u32); 12] = [
            (["", "", ""], 50),
            ([low, "", ""], 10),
            ([high, "", ""], 80),
            (["", low, ""], 10),
            (["", high, ""], 80),
            // The user may stay below the organisation, not rise above it.
            ([high, low, ""], 10),
            ([high, higher, ""], 80),
            ([low, high, ""], 10),
            (["", "", low], 10),
            (["", "", high], 50),
            ([high, "", higher], 80),
            ([higher, high, low], 10),
        ];
        for (files, expected) in rows {
            assert_eq!(steps(files), Some(expected), "{files:?}");
        }
    }

    #[test]
    fn a_limit_that_the_profile_does_not_have_can_be_set_by_anybody() {
        let text = "limits: {errors: 3, session_seconds: 60}";
        for files in [[text, "", ""], ["", text, ""], ["", "", text]] {
            let limits = load(files).unwrap().limits(None).unwrap();
            assert_eq!((limits.errors, limits.session_seconds), (Some(3), Some(60)));
            assert_eq!(limits.actions_per_minute, Some(600), "what is not named stays");
        }
    }

    #[test]
    fn every_limit_of_a_project_is_lowered_and_none_is_raised() {
        let names = crate::policy::profile::Limits::default().entries().map(|(name, _)| name);
        for name in names {
            let limit = |value: u32| format!("limits: {{{name}: {value}}}");
            let value = |files: [&str; 3]| {
                let limits = load(files).unwrap().limits(None).unwrap();
                let found = limits.entries().into_iter().find(|(known, _)| *known == name);
                found.unwrap().1
            };
            assert_eq!(value([&limit(7), "", &limit(3)]), Some(3), "{name}");
            assert_eq!(value([&limit(7), "", &limit(9)]), Some(7), "{name}");
            assert_eq!(value(["", &limit(7), &limit(9)]), Some(7), "{name}");
            assert_eq!(value(["", &limit(7), ""]), Some(7), "{name}");
        }
    }

    #[test]
    fn what_is_passed_over_is_told() {
        let notices = |files: [&str; 3]| {
            let policy = load(files).unwrap();
            policy.notices().iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(
            notices(["", "", "limits:\n  actions_per_minute: 601\n"]),
            [".countersign.yaml:2:3: `actions_per_minute: 601` is ignored: a project file may \
              only tighten"]
        );
        assert_eq!(
            notices(["limits: {steps: 5}", "limits:\n  steps: 6\n", ""]),
            ["user.yaml:2:3: `steps: 6` is ignored: the organisation has settled this"]
        );
        assert_eq!(notices(["limits: {steps: 5}", "limits: {steps: 4}", ""]), [""; 0]);
    }

    #[test]
    fn none_at_all_is_meant_only_where_it_can_be() {
        for good in ["limits: {screenshots: 0, files: 0}", "limits: {steps: 1}", "limits: {}"] {
            assert!(load(["", good, ""]).is_ok(), "{good}");
        }
        let error = load(["", "limits:\n  steps: 0\n", ""]).unwrap_err();
        assert_eq!(error.to_string(), "user.yaml:2:3: `steps` is out of range");
        assert!(load(["", "limits: {step: 1}", ""]).is_err());
        assert!(load(["", "limits: {steps: -1}", ""]).is_err());
    }
}
