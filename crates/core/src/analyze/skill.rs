//! App skills, by their declaration or by their name and parameters.

use crate::action::Action;
use crate::analyze::purpose::{self, Effect, Purpose};
use crate::analyze::{Analysis, arguments, whole};
use crate::app::{Access, Skill};
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::location::Scene;

/// Returns the facts of using a skill, given its declaration.
#[must_use]
pub fn analyze(action: &Action, declared: Option<Skill>, scene: &Scene<'_>) -> Analysis {
    let Action::Skill { skill, params } = action else { return Analysis::default() };
    let span = whole(skill);
    let name = skill.rsplit('.').next().unwrap_or_default();
    let purpose = purpose::of_name(name);
    let owner = skill.split('.').next().unwrap_or_default();
    let call = arguments::Call { owner, name, purpose, schema: None };
    let mut analysis = arguments::analyze(params, call, scene).analysis;
    let fact = match declared {
        Some(skill) => known(skill),
        None => Some(undeclared(name, purpose)),
    };
    let told = fact.map(|(kind, tags)| Fact::new(kind, skill).tagged(tags).at(span));
    analysis.facts.extend(told);
    analysis
}

const fn known(skill: Skill) -> Option<(FactKind, Tags)> {
    match (skill.access, skill.confirm) {
        (Access::Sensitive, _) => Some((FactKind::SkillSensitive, Tags::NONE)),
        (Access::Read | Access::Write, true) => Some((FactKind::SkillWrite, Tags::NONE)),
        (Access::Read | Access::Write, false) => None,
    }
}

fn undeclared(name: &str, purpose: Purpose) -> (FactKind, Tags) {
    match purpose {
        Purpose::Known(Effect::Read) if !shows_a_secret(name) => {
            (FactKind::SkillUndeclared, Tags::of(&[Tag::ReadOnly]))
        }
        Purpose::Known(Effect::Write) => (FactKind::SkillWrite, Tags::NONE),
        Purpose::Known(_) => (FactKind::SkillSensitive, Tags::NONE),
        Purpose::Unknown => (FactKind::SkillUndeclared, Tags::NONE),
    }
}

/// Reports whether a name reads a secret, which is not harmless: `get_password`, `read_api_keys`.
fn shows_a_secret(name: &str) -> bool {
    const SECRETS: [&str; 10] = [
        "password",
        "passwords",
        "passphrase",
        "secret",
        "secrets",
        "credential",
        "credentials",
        "token",
        "tokens",
        "keys",
    ];
    purpose::split(name).last().is_some_and(|word| SECRETS.contains(&&**word))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::context::Context;

    fn kind(skill: &str, declared: Option<Skill>) -> Option<(FactKind, bool)> {
        let action = Action::Skill { skill: skill.to_owned(), params: BTreeMap::new() };
        let context = Context::default();
        let analysis = analyze(&action, declared, &Scene::new(&context, &[]));
        analysis.facts.first().map(|fact| (fact.kind, fact.tags.has(Tag::ReadOnly)))
    }

    #[test]
    fn what_was_declared_holds() {
        let skill = |access, confirm| Some(Skill { access, confirm, timeout: None });
        assert_eq!(kind("a.delete", skill(Access::Read, false)), None);
        assert_eq!(kind("a.x", skill(Access::Write, true)), Some((FactKind::SkillWrite, false)));
        assert_eq!(
            kind("a.get", skill(Access::Sensitive, false)),
            Some((FactKind::SkillSensitive, false))
        );
    }

    #[test]
    fn an_undeclared_skill_is_judged_by_its_name() {
        assert_eq!(kind("a.get_x", None), Some((FactKind::SkillUndeclared, true)));
        assert_eq!(kind("a.frob", None), Some((FactKind::SkillUndeclared, false)));
        assert_eq!(kind("a.update_x", None), Some((FactKind::SkillWrite, false)));
        assert_eq!(kind("a.send_money", None), Some((FactKind::SkillSensitive, false)));
        assert_eq!(kind("a.get_password", None), Some((FactKind::SkillSensitive, false)));
    }
}
