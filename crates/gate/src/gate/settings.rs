//! A user changes what they have set.

use countersign_core::policy::Lock;
use serde_json::json;

use crate::audit;
use crate::caller::Person;
use crate::document::{self, Held};
use crate::gate::people::PeopleError;
use crate::gate::{Gate, GateError, TRIES};
use crate::settings::Settings;

impl Gate {
    /// What a person has set.
    ///
    /// # Errors
    /// The store failed.
    pub async fn settings(&self, person: &Person) -> Result<Settings, PeopleError> {
        Ok(self.settings_of(&person.user().id).await?)
    }

    /// Changes what a person has set, from the next action on.
    ///
    /// # Errors
    /// The store failed.
    pub async fn change_settings(
        &self,
        person: &Person,
        change: impl Fn(&mut Settings),
    ) -> Result<Settings, PeopleError> {
        let user = &person.user().id;
        for _ in 0..TRIES {
            let held: Option<Held<Settings>> = self.get(user.as_str()).await?;
            let before = held.as_ref().map(|held| held.value.clone());
            let before = before.unwrap_or_else(|| Settings::of(user.clone()));
            let mut next = before.clone();
            change(&mut next);
            next.user = user.clone();
            self.check_settings(person, &before, &next)?;
            let write = match held {
                Some(held) => held.replace(&next)?,
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

    /// Refuses what the organisation has pinned, in any workspace of theirs. What was set before it
    /// did stays set, and has no effect.
    fn check_settings(
        &self,
        person: &Person,
        before: &Settings,
        next: &Settings,
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
}
