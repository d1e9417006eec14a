//! Judging without asking anybody: nothing runs, nothing waits, nothing is kept.

use axum::Json;
use axum::extract::State;
use countersign_core::{Action, Context, Judgement, judge};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::app::App;
use crate::body;
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
        post("/api/check", "check")
            .by(Who::Either)
            .says("Judges an action by the policy in force, and does nothing else.")
            .takes::<Check>()
            .gives::<Judgement>(200)
            .to(check),
    ]
}

async fn check(State(app): State<App>, body::Json(check): body::Json<Check>) -> Json<Judgement> {
    Json(judge(&check.action, &app.gate.policy(), &check.context))
}
