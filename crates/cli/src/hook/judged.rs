//! An event judged here, before anybody is asked: the agent's context, the files of its session, the
//! kill switch, and the configuration in force.

use std::path::{Path, PathBuf};

use anyhow::Result;
use countersign_core::{Context, Verdict};

use super::words::{HALTED, refusal};
use crate::approval_client::JudgedAction;
use crate::context_options::ContextOptions;
use crate::home::home;
use crate::hook_options::Options;
use crate::host::{HookEvent, Host, What};
use crate::made::Made;
use crate::served_policy::Served;
use crate::show::one_line;
use crate::{data, judging, settings};

/// The result of judging, before anybody is asked.
pub(crate) enum Judged<'a> {
    /// Nothing to say about it.
    Neutral,
    /// It is refused, for this reason.
    Deny(String),
    /// The actions about which somebody must be asked; perhaps none.
    Ask(Vec<JudgedAction<'a>>, Options),
    /// All of it, by the host alone: no server can be reached, and the policy here is too old; why.
    Outdated(Vec<JudgedAction<'a>>, Options, String),
}

/// Judges what a host's agent is about to do.
///
/// # Errors
/// The configuration is wrong, or judging failed.
pub(crate) fn judged<'a>(host: &dyn Host, hook_event: &'a HookEvent) -> Result<Judged<'a>> {
    let (actions, prompt) = match &hook_event.what {
        What::Nothing => return Ok(Judged::Neutral),
        What::Refused(why) => return Ok(Judged::Deny(why.clone())),
        What::Acts(actions) => (actions, false),
        What::Prompts(actions) => (actions, true),
    };
    if is_halted() {
        return Ok(Judged::Deny(HALTED.to_owned()));
    }
    let around = surroundings(host, hook_event)?;
    let Served { layers, outdated } = settings::served_layers(&around)?;
    let options = Options::read(&layers)?;
    let outdated = match outdated {
        // Nobody but the organisation says that its own policy may be too old.
        Some(why) if !Options::leaves_it_to_hosts(&layers, &options)? => return Err(why),
        outdated => outdated,
    };
    let policy = settings::policy_of(layers)?;
    let made = made_by(host, hook_event, &around);
    let mut judged_actions = Vec::new();
    for action in actions {
        let mut context = around.clone();
        let judgement = judging::judge_in_session(action, &policy, &mut context, made.as_ref())?;
        if judgement.verdict == Verdict::Block {
            return Ok(Judged::Deny(refusal(&judgement)));
        }
        judged_actions.push(JudgedAction { action, context, judgement });
    }
    // A person answers the host's own question there.
    if prompt {
        return Ok(Judged::Neutral);
    }
    if let Some(why) = outdated {
        return Ok(Judged::Outdated(
            judged_actions,
            options,
            one_line(&format!("{why:#}")).into_owned(),
        ));
    }
    judged_actions.retain(|judged_action| options.record || judged_action.must_ask());
    Ok(Judged::Ask(judged_actions, options))
}

/// The paths that the agent made in its session, if the host names the session.
pub(super) fn made_by(host: &dyn Host, hook_event: &HookEvent, around: &Context) -> Option<Made> {
    let session = hook_event.session.as_deref().filter(|session| !session.is_empty())?;
    let session = format!("{}\0{session}", host.name());
    Made::open(&data::usual_folder()?, &session, around.workspace.as_deref()?)
}

/// Reports whether the kill switch of the local server has been thrown.
fn is_halted() -> bool {
    data::usual_folder().is_some_and(|folder| is_halted_in(&folder))
}

/// Reports whether the kill switch of the server with this data folder has been thrown.
pub(crate) fn is_halted_in(folder: &Path) -> bool {
    folder.join(data::HALTED).exists()
}

/// The context of the agent. A project that the host names is the workspace: it stays the same when
/// the agent changes its folder.
pub(super) fn surroundings(host: &dyn Host, hook_event: &HookEvent) -> Result<Context> {
    let cwd = hook_event.cwd.as_deref().filter(|cwd| !cwd.is_empty()).map(PathBuf::from);
    let named = host.project_variable().and_then(std::env::var_os).map(PathBuf::from);
    let home = home();
    let project = named.filter(|project| {
        let inside = cwd.as_deref().is_none_or(|cwd| cwd.starts_with(project));
        let too_wide = project.parent().is_none()
            || home.as_deref().is_some_and(|home: &Path| home.starts_with(project));
        project.is_absolute() && inside && !too_wide
    });
    ContextOptions::at(cwd, project).context()
}
