//! The audit chain: its last records, a check of it, a copy of it.

use askama::Template;
use axum::extract::State;
use axum::response::Html;
use countersign_gate::audit::Report;
use countersign_gate::store::{Order, RecordQuery};

use crate::app::App;
use crate::console::Frame;
use crate::console::piece::How;
use crate::console::record::RecordView;
use crate::error::Problem;
use crate::html::show;
use crate::route::{Route, form, page};

/// The number of records on the page.
const MOST: usize = 50;

pub(super) fn routes() -> Vec<Route> {
    vec![
        page("/audit", "audit").says("The audit chain.").to(look),
        form("/audit/verify", "verify_form")
            .says("Verifies the chain, or says where it is damaged.")
            .gives_media(200, "text/html")
            .to(verify),
    ]
}

#[derive(Template)]
#[template(path = "audit.html")]
struct Audit {
    frame: Frame,
    records: Vec<RecordView>,
    /// The public key that signatures are checked with.
    key: String,
    checked: Option<Checked>,
}

impl Audit {
    fn state(&self) -> &'static str {
        match &self.checked {
            None => "unchecked",
            Some(checked) if checked.damage.is_empty() => "whole",
            Some(_) => "broken",
        }
    }
}

/// The result of a check.
struct Checked {
    records: u64,
    erased: u64,
    cut: u64,
    checkpoints: u64,
    end: u64,
    end_hash: String,
    damage: Vec<String>,
}

async fn look(State(app): State<App>, frame: Frame) -> Result<Html<String>, Problem> {
    whole(&app, frame, None).await
}

async fn verify(State(app): State<App>, frame: Frame) -> Result<Html<String>, Problem> {
    if !frame.person.user().super_admin {
        return Err(Problem::forbidden("not-allowed", "only super admins may verify the chain"));
    }
    let Report { records, erased, cut, checkpoints, end, end_hash, damage, .. } =
        app.gate.verify().await?;
    let checked = Checked {
        records,
        erased,
        cut,
        checkpoints,
        end,
        end_hash: crate::hex::hex(&end_hash),
        damage: damage.iter().map(ToString::to_string).collect(),
    };
    whole(&app, frame, Some(checked)).await
}

async fn whole(app: &App, frame: Frame, checked: Option<Checked>) -> Result<Html<String>, Problem> {
    let frame = frame.on("audit");
    let everybody = frame.person.user().super_admin;
    let query = RecordQuery {
        owner: (!everybody).then(|| frame.person.user().id.to_string()),
        workspace: None,
        session: None,
        events: Vec::new(),
        from: None,
        until: None,
        order: Order::Newest,
        after: 0,
        limit: MOST,
    };
    let records = app.gate.records(&frame.person, &query).await?;
    let records = records.iter().map(|record| RecordView::of(frame.t, record)).collect();
    let key = app.gate.keyring().public().to_string();
    show(&Audit { frame, records, key, checked })
}
