//! Relaxation by a session or a remembered answer: *confirm* becomes *allow*, and nothing else.
//!
//! A session does not go below a verdict that a file has set, unless the `auto_confirm` of that
//! very file names it. A remembered answer is a person's, so it is limited only by rules that
//! always ask.

use crate::action::Action;
use crate::policy::Policy;
use crate::policy::layer::{By, Ruling, strictest};
use crate::policy::lock::Lock;
use crate::policy::rank::Rank;
use crate::policy::rule_target::{RuleTarget, reach};
use crate::policy::session::Session;
use crate::verdict::{Step, Unasked, Verdict};

/// The session option that confirms without asking.
pub(super) const AUTO_CONFIRM: &str = "auto_confirm";
const AUTONOMOUS: &str = "autonomous mode";
const PROGRAMMATIC: &str = "programmatic access";

impl Policy {
    /// Reports whether the organisation has locked this.
    #[must_use]
    pub fn is_locked(&self, lock: Lock) -> bool {
        self.layers.iter().any(|layer| layer.locks.contains(&lock))
    }

    /// All locks of the organisation, in the order of [`Lock::ALL`].
    #[must_use]
    pub fn locks(&self) -> Vec<Lock> {
        Lock::ALL.into_iter().filter(|lock| self.is_locked(*lock)).collect()
    }

    /// The options of the session that are in force, without locked ones.
    #[must_use]
    pub fn session_in_force(&self) -> Session {
        let Session { auto_confirm, autonomous, programmatic } = self.session;
        Session {
            auto_confirm: auto_confirm && self.may_auto_confirm(),
            autonomous: autonomous && !self.is_locked(Lock::Autonomous),
            programmatic: programmatic && !self.is_locked(Lock::ProgramKeys),
        }
    }

    /// Reports whether a session may confirm anything by itself: not where that is locked, unless
    /// the organisation or the workspace lists rules for it.
    #[must_use]
    pub fn may_auto_confirm(&self) -> bool {
        let mut above = self.layers.iter().filter(|layer| layer.rank <= Rank::Workspace);
        !self.is_locked(Lock::AutoConfirm) || above.any(|layer| layer.auto_confirm.is_some())
    }

    /// Reports whether the session answers questions of an agent to its person: not where it
    /// confirms only named rules.
    #[must_use]
    pub fn answers_questions(&self) -> bool {
        let session = self.session_in_force();
        let limited = self.auto_confirm_rules.is_some()
            || self.layers.iter().any(|layer| layer.auto_confirm.is_some());
        session.autonomous || (session.auto_confirm && !limited)
    }

    /// Applies the session, and names the rules that it lowered.
    pub(super) fn hear_session(&self, action: &Action, rulings: &mut [Ruling<'_>]) -> Option<Step> {
        let asked = self.session;
        let session = self.session_in_force();
        let (mut because, mut unasked) = (Vec::new(), None);
        let mut tell = |by, option, covered: &str| {
            because.push(told(option, covered));
            // The first that confirmed something is the reason.
            unasked = unasked.or((!covered.is_empty()).then_some(by));
        };
        if session.auto_confirm {
            let covered = relax(rulings, AUTO_CONFIRM, |ruling| self.is_auto_confirmed(ruling));
            tell(Unasked::AutoConfirm, AUTO_CONFIRM, &covered);
        }
        if session.autonomous {
            let covered = relax(rulings, AUTONOMOUS, is_free);
            tell(Unasked::Autonomous, AUTONOMOUS, &covered);
        }
        if session.programmatic && !session.auto_confirm && !session.autonomous {
            let covered = self.relax_skill(action, rulings, PROGRAMMATIC);
            tell(Unasked::Program, PROGRAMMATIC, &covered);
        }
        let flags = [
            (AUTO_CONFIRM, asked.auto_confirm, session.auto_confirm),
            (AUTONOMOUS, asked.autonomous, session.autonomous),
            (PROGRAMMATIC, asked.programmatic, session.programmatic),
        ];
        let locked = flags.into_iter().filter(|(_, asked, in_force)| *asked && !in_force);
        because
            .extend(locked.map(|(option, ..)| {
                format!("{option} is ignored: the organisation has locked it")
            }));
        if because.is_empty() {
            return None;
        }
        let because = because.join("; ");
        let said = strictest(rulings);
        Some(Step { layer: "session".to_owned(), said, because, unasked })
    }

    /// Applies the remembered answers, and names the rules that they lowered.
    pub(super) fn hear_remembered(&self, digest: &str, rulings: &mut [Ruling<'_>]) -> Option<Step> {
        let answer = self.remembered.iter().find(|answer| answer.digest == digest)?;
        let relaxed = relax(rulings, "a remembered yes", |ruling| match ruling.target {
            RuleTarget::Rule(id) => answer.rules.iter().any(|known| known == id),
            // These are about the action as a whole, which is the very one that was answered.
            RuleTarget::Kind(_) | RuleTarget::Risk(_) | RuleTarget::Skill(_) => true,
            RuleTarget::UnknownProfile(_) => false,
        });
        let because = match relaxed.as_str() {
            "" => "the remembered yes was not about this".to_owned(),
            rules => format!("a person said yes to this very action: {rules}"),
        };
        let unasked = (!relaxed.is_empty()).then_some(Unasked::Remembered);
        let said = strictest(rulings);
        Some(Step { layer: "remembered".to_owned(), said, because, unasked })
    }

    /// Reports whether a session with `auto_confirm` confirms this by itself.
    pub(super) fn is_auto_confirmed(&self, ruling: &Ruling<'_>) -> bool {
        let target = ruling.target;
        let names = |list: &[String]| list.iter().any(|words| reach(words, target).is_some());
        let lists = || {
            let of = |layer: &'_ super::Layer| Some((layer.rank, layer.auto_confirm.clone()?));
            self.layers.iter().filter_map(of)
        };
        let own = self.auto_confirm_rules.as_deref();
        if !lists().all(|(_, list)| names(&list)) || !own.is_none_or(names) {
            return false;
        }
        let mut asking = Rank::ALL.into_iter().filter(|rank| ruling.is_asked_by(*rank));
        asking.all(|rank| lists().any(|(from, _)| from == rank))
    }
}

/// Reports whether no file requires that a person is asked about this.
fn is_free(ruling: &Ruling<'_>) -> bool {
    ruling.asked_by(Rank::Project).is_none()
}

fn told(option: &str, relaxed: &str) -> String {
    match relaxed {
        "" => format!("{option} has nothing to confirm here"),
        rules => format!("auto-confirmed by {option}: {rules}"),
    }
}

/// Turns confirm into allow where the verdict is not held, and names the rules.
pub(super) fn relax<'a>(
    rulings: &mut [Ruling<'a>],
    by: &'static str,
    covers: impl Fn(&Ruling<'a>) -> bool,
) -> String {
    const MOST_NAMES: usize = 8;
    let mut names = Vec::new();
    for ruling in rulings {
        if ruling.verdict == Verdict::Confirm && !ruling.fixed && covers(ruling) {
            (ruling.verdict, ruling.by) = (Verdict::Allow, By::Relaxed(by));
            if names.len() < MOST_NAMES && !names.contains(&ruling.target) {
                names.push(ruling.target);
            }
        }
    }
    names.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
