//! Changes of a user's preferences.

use countersign_core::policy::Lock;
use serde_json::json;

use crate::audit;
use crate::caller::Person;
use crate::config::Erasure;
use crate::document::{self, Versioned};
use crate::gate::people::PeopleError;
use crate::gate::{Gate, GateError, TRIES};
use crate::preferences::Preferences;

impl Gate {
    /// The preferences of a person.
    ///
    /// # Errors
    /// The store failed.
    pub async fn settings(&self, person: &Person) -> Result<Preferences, PeopleError> {
        Ok(self.settings_of(&person.user().id).await?)
    }

    /// Changes the preferences of a person, from the next action on.
    ///
    /// # Errors
    /// The organisation has locked the preference, a shorter retention is not theirs to choose, or
    /// the store failed.
    pub async fn change_settings(
        &self,
        person: &Person,
        change: impl Fn(&mut Preferences),
    ) -> Result<Preferences, PeopleError> {
        let user = &person.user().id;
        for _ in 0..TRIES {
            let versioned: Option<Versioned<Preferences>> = self.get(user.as_str()).await?;
            let before = versioned.as_ref().map(|versioned| versioned.value.clone());
            let before = before.unwrap_or_else(|| Preferences::of(user.clone()));
            let mut next = before.clone();
            change(&mut next);
            next.user = user.clone();
            self.check_settings(person, &before, &next)?;
            let shortens =
                next.retention_days.is_some() && next.retention_days != before.retention_days;
            if shortens && self.config.erasure == Erasure::Administrators {
                return Err(PeopleError::Kept);
            }
            let write = match versioned {
                Some(versioned) => versioned.replace(&next)?,
                None => document::insert(&next)?,
            };
            let payload = json!({
                "autonomous": next.autonomous,
                "logging": next.logging,
                "confirm_programs": next.confirm_programs,
                "retention_days": next.retention_days,
                "skills_changed": next.skills != before.skills,
            });
            let event = audit::Event::SettingsChanged;
            match self.change_people(vec![write], event, user, payload).await {
                Ok(()) => return Ok(next),
                Err(GateError::Busy) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(GateError::Busy.into())
    }

    /// Refuses preferences that the organisation has locked, in any workspace of theirs. A
    /// preference set before the lock stays set, without effect.
    fn check_settings(
        &self,
        person: &Person,
        before: &Preferences,
        next: &Preferences,
    ) -> Result<(), PeopleError> {
        let policies = person.user().workspaces.keys().map(|workspace| self.policy_in(workspace));
        let policies: Vec<_> = policies.chain([self.policy()]).collect();
        let locked = |lock| policies.iter().any(|policy| policy.is_locked(lock));
        let changes = [
            (Lock::Autonomous, next.autonomous && !before.autonomous),
            (Lock::ProgramKeys, !next.confirm_programs && before.confirm_programs),
            (
                Lock::Retention,
                next.retention_days.is_some() && next.retention_days != before.retention_days,
            ),
        ];
        match changes.into_iter().find(|(lock, changed)| *changed && locked(*lock)) {
            Some((lock, _)) => Err(PeopleError::Locked(lock.as_str())),
            None => Ok(()),
        }
    }

    /// The number of days after which a user wants their records to lose their content, if they may
    /// choose that.
    pub(super) fn own_retention(&self, settings: &Preferences) -> Option<u32> {
        match self.config.erasure {
            Erasure::People if !self.policy().is_locked(Lock::Retention) => settings.retention_days,
            Erasure::People | Erasure::Administrators => None,
        }
    }
}
