//! Judging without asking anybody: nothing runs, nothing waits, nothing is stored.

use axum::Json;
use axum::extract::State;
use countersign_core::{Action, Context, JudgementWithEffects};
use countersign_gate::GateError;
use countersign_gate::judging::Lane;
use countersign_wire::path;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::app::App;
use crate::auth::Identity;
use crate::body;
use crate::error::Problem;
use crate::route::{Route, Who, post};

/// An action and what is true around it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Check {
    action: Action,
    #[serde(default)]
    context: Context,
}

pub(super) fn routes() -> Vec<Route> {
    vec![
        post(path::CHECK, "check")
            .by(Who::Either)
            .says("Judges an action with the current policy, says what it would touch, and does nothing else.")
            .takes::<Check>()
            .gives::<JudgementWithEffects>(200)
            .to(check),
    ]
}

async fn check(
    State(app): State<App>,
    identity: Identity,
    body::Json(Check { action, context }): body::Json<Check>,
) -> Result<Json<JudgementWithEffects>, Problem> {
    let (lane, policy) = match &identity {
        Identity::Caller(caller) => {
            (Lane::of_caller(caller), app.gate.policy_in(caller.workspace()))
        }
        Identity::Person(person) => (Lane::of_person(person), app.gate.policy()),
    };
    let judged = app.gate.judge_with_effects(&lane, &action, &policy, &context).await;
    Ok(Json(judged.map_err(GateError::from)?))
}
