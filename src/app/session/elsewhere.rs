//! Sessions of other agents: listed in the browser, previewed, taken over.

use super::{sessions, tabs};
use crate::app::effect::{Effect, LoadRequest};
use crate::app::model::Model;
use crate::app::model::modal::SessionScope;
use crate::protocol::{Item, Level, Opens, SessionId};
use crate::store::SessionRow;

/// What came of a wish to take a session over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TakenOver {
    /// It goes on as this session; what there is to say of it.
    Session(SessionId, String),
    /// This folder has none of the agent: words that list the others.
    Choose(String),
}

/// A query like `@codex` or `@codex:ID` is a wish; `false`: it is not.
pub fn wished(model: &mut Model, out: &mut Vec<Effect>, query: &str) -> bool {
    let query = query.trim();
    match query.strip_prefix('@') {
        Some("") => sessions::show(model, out, "", SessionScope::Elsewhere),
        Some(word) if !word.contains(char::is_whitespace) => take(model, out, query.to_owned()),
        Some(_) => sessions::show(model, out, query, SessionScope::Elsewhere),
        None => return false,
    }
    true
}

/// Takes over what `@agent:ID` or `@agent` names.
pub fn take(model: &mut Model, out: &mut Vec<Effect>, wish: String) {
    let here = sessions::cwd(model).to_owned();
    out.push(Effect::Load(LoadRequest::TakeOver { wish, here }));
}

/// A list came. While files are left to look at, it is asked for again.
pub fn listed(
    model: &mut Model,
    out: &mut Vec<Effect>,
    query: &str,
    rows: Vec<SessionRow>,
    more: bool,
    problems: &[String],
) {
    let Some(browser) = sessions::browser(model).filter(|browser| browser.scope == SessionScope::Elsewhere) else {
        return;
    };
    if browser.query != query {
        return;
    }
    // The same list again leaves the preview as it is.
    if browser.rows != rows {
        sessions::fill(model, out, rows, None);
    }
    if let Some(browser) = sessions::browser(model) {
        browser.loading = more;
    }
    if more {
        out.push(Effect::Load(LoadRequest::Elsewhere { query: query.to_owned() }));
    } else {
        problems.iter().for_each(|problem| model.notices.add(model.now, Level::Warning, problem.clone()));
    }
}

/// The start of a session came.
pub fn previewed(model: &mut Model, key: &str, items: Result<Vec<Item>, String>) {
    match items {
        Ok(items) => sessions::previewed(model, &key.into(), &items),
        Err(why) => model.notices.add(model.now, Level::Warning, why),
    }
}

/// A session was taken over, or not.
pub fn taken(model: &mut Model, out: &mut Vec<Effect>, result: Result<TakenOver, String>) {
    match result {
        Ok(TakenOver::Session(id, told)) => {
            model.notices.add(model.now, Level::Info, told);
            tabs::open(model, out, Opens::Resume(id));
        }
        Ok(TakenOver::Choose(query)) => sessions::show(model, out, &query, SessionScope::Elsewhere),
        Err(why) => model.notices.add(model.now, Level::Error, why),
    }
}

/// Earlier sessions were brought over in the background.
pub fn migrated(model: &mut Model, result: Result<String, String>) {
    match result {
        Ok(told) => model.notices.add(model.now, Level::Info, told),
        Err(why) => {
            let text = format!("sessions of Python Hermes were not brought over: {why}; try `hermes migrate-sessions`");
            model.notices.add(model.now, Level::Warning, text);
        }
    }
}
