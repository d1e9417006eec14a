//! The console: the pages where a person decides.
//!
//! A client of the gate like any other, without rights of its own. Every page works without script:
//! forms, and reload. The script only fetches the same page again when something happens, inserts
//! the changes, and listens to keys. Text of an agent goes through [`piece`] and the templates'
//! escaping; none of it is ever markup.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::response::Response;
use countersign_gate::Person;
use countersign_gate::user::Membership;

use crate::app::App;
use crate::auth::{Remote, Signed, cookie, csrf_token};
use crate::error::Problem;
use crate::html::{Text, go};
use crate::route::Route;

mod answer;
mod apps;
mod asset;
mod audit;
mod autonomous;
mod card;
mod developer;
mod halt;
mod history;
mod inbox;
mod language;
mod machine;
mod people;
mod piece;
mod policy;
mod record;
mod session;
mod when;

pub(crate) fn routes() -> Vec<Route> {
    [
        inbox::routes(),
        answer::routes(),
        session::routes(),
        history::routes(),
        apps::routes(),
        developer::routes(),
        people::routes(),
        policy::routes(),
        audit::routes(),
        halt::routes(),
        autonomous::routes(),
        language::routes(),
        asset::routes(),
    ]
    .concat()
}

/// The data of the layout around every page.
pub(crate) struct Frame {
    /// The texts in the language of the reader.
    pub(crate) t: Text,
    pub(crate) person: Person,
    /// The CSRF token of its forms.
    pub(crate) csrf: String,
    /// The number of questions that wait for them.
    pub(crate) waiting: usize,
    pub(crate) autonomous: bool,
    pub(crate) halted: bool,
    /// The name of the page, for the navigation.
    pub(crate) page: &'static str,
    /// The name of the form that has just been processed, if any.
    pub(crate) done: Option<String>,
}

impl Frame {
    pub(crate) fn on(self, page: &'static str) -> Self {
        Self { page, ..self }
    }

    /// The address of the icon with that number of questions.
    fn icon(&self) -> String {
        format!("/static/icon/{}.svg", self.waiting.min(100))
    }

    /// Reports whether they look after anybody.
    fn looks_after(&self) -> bool {
        let user = self.person.user();
        user.super_admin || user.workspaces.values().any(|is| *is == Membership::Admin)
    }

    /// The message about the form that was processed; `None` for an unknown name.
    fn flash(&self) -> Option<&'static str> {
        let done = self.done.as_deref()?;
        self.t.find(&format!("done.{done}"))
    }
}

impl FromRequestParts<App> for Frame {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let Signed(person) = Signed::from_request_parts(parts, app).await?;
        let remote = parts.extensions.get::<Remote>().copied().unwrap_or_default();
        let device = cookie(&parts.headers, remote);
        let query = parts.uri.query().unwrap_or_default();
        let mut query = form_urlencoded::parse(query.as_bytes());
        let done = query.find(|(name, _)| name == "done").map(|(_, done)| done.into_owned());
        Ok(Self {
            t: Text::wanted(&parts.headers),
            csrf: device.map(|device| csrf_token(app, &device)).unwrap_or_default(),
            waiting: app.gate.waiting_first(&person, 0).await?.all,
            autonomous: app.gate.settings(&person).await?.autonomous,
            halted: app.gate.is_halted().await?,
            person,
            page: "",
            done,
        })
    }
}

/// Redirects to a page with a message about the processed form.
pub(crate) fn done(page: &str, what: &str) -> Response {
    let mark = if page.contains('?') { '&' } else { '?' };
    go(&format!("{page}{mark}done={what}"))
}
