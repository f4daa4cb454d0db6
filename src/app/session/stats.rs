//! `/stats`: figures over time. They are read in the background; what was read stays until the next ones are there.

use crate::app::action::Action;
use crate::app::effect::{Effect, LoadRequest};
use crate::app::input::keys::Press;
use crate::app::model::Model;
use crate::app::model::modal::Modal;
use crate::app::model::stats::{Range, StatsModal, StatsTab};
use crate::app::reading::scroll;
use crate::app::window::modals;
use crate::protocol::{Figures, Level};

/// Opens it; the argument names the days.
pub fn open(model: &mut Model, out: &mut Vec<Effect>, argument: &str) {
    let range = if argument.trim().is_empty() { Some(Range::default()) } else { Range::read(argument) };
    let Some(range) = range else {
        return model.notices.add(model.now, Level::Warning, "/stats takes 7, 30, 90 or all".to_owned());
    };
    model.tab.modals.push(Modal::Stats(Box::new(StatsModal { range, ..StatsModal::default() })));
    ask(out, range);
}

fn ask(out: &mut Vec<Effect>, range: Range) {
    out.push(Effect::Load(LoadRequest::Stats { days: range.days() }));
}

fn modal(model: &mut Model) -> Option<&mut StatsModal> {
    model.tab.modals.iter_mut().rev().find_map(|modal| {
        let Modal::Stats(modal) = modal else { return None };
        Some(&mut **modal)
    })
}

/// Figures came; those of days that are no longer asked for are dropped.
pub fn loaded(model: &mut Model, days: Option<u32>, figures: Result<Box<Figures>, String>) {
    let Some(modal) = modal(model).filter(|modal| modal.range.days() == days) else { return };
    match figures {
        Ok(figures) => {
            modal.figures = Some(figures);
            modal.problem.clear();
        }
        Err(problem) => modal.problem = problem,
    }
}

/// A key.
pub fn act(model: &mut Model, out: &mut Vec<Effect>, press: Press) {
    let Some(Modal::Stats(modal)) = model.tab.modals.last_mut() else { return };
    match press.action {
        Some(Action::Close | Action::Accept) => {
            model.tab.modals.pop();
        }
        Some(Action::Switch | Action::Right) => show(modal, modal.tab.moved(1)),
        Some(Action::Left) => show(modal, modal.tab.moved(-1)),
        Some(Action::RangeWeek) => choose(modal, out, Range::Week),
        Some(Action::RangeMonth) => choose(modal, out, Range::Month),
        Some(Action::RangeQuarter) => choose(modal, out, Range::Quarter),
        Some(Action::RangeAll) => choose(modal, out, Range::All),
        action => {
            if let Some(movement) = modals::movement(action) {
                modal.scroll = modals::scrolled(modal.scroll, rows(modal), movement);
            }
        }
    }
}

fn show(modal: &mut StatsModal, tab: StatsTab) {
    if modal.tab != tab {
        modal.tab = tab;
        modal.scroll = 0;
    }
}

fn choose(modal: &mut StatsModal, out: &mut Vec<Effect>, range: Range) {
    if modal.range != range {
        modal.range = range;
        modal.figures = None;
        modal.problem.clear();
        modal.scroll = 0;
        ask(out, range);
    }
}

/// Rows of the page that is a list.
fn rows(modal: &StatsModal) -> usize {
    let Some(figures) = &modal.figures else { return 0 };
    match modal.tab {
        StatsTab::Tokens => 0,
        StatsTab::Tools | StatsTab::Durations => figures.tools.len(),
        StatsTab::Cost => figures.models.len(),
        StatsTab::Projects => figures.projects.len(),
    }
}

/// A click on the name of a page.
pub fn click(model: &mut Model, row: usize) {
    let Some(Modal::Stats(modal)) = model.tab.modals.last_mut() else { return };
    if let Some(tab) = StatsTab::ALL.get(row) {
        show(modal, *tab);
    }
}

/// The wheel.
pub fn wheel(model: &mut Model, by: i32) {
    let Some(Modal::Stats(modal)) = model.tab.modals.last_mut() else { return };
    modal.scroll = scroll::shifted(modal.scroll, by).min(rows(modal).saturating_sub(1));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::msg::{LoadReply, Msg};
    use crate::app::tests::{ready, script};
    use crate::app::update::update;

    fn asked(effects: &[Effect]) -> Vec<Option<u32>> {
        let days = |effect: &Effect| match effect {
            Effect::Load(LoadRequest::Stats { days }) => Some(*days),
            _ => None,
        };
        effects.iter().filter_map(days).collect()
    }

    fn shown(model: &mut Model) -> StatsModal {
        modal(model).expect("it is open").clone()
    }

    #[test]
    fn it_asks_for_what_it_shows_and_takes_nothing_else() {
        let mut model = ready();
        assert_eq!(asked(&script(&mut model, "/stats 7<ret>")), [Some(7)]);
        let figures = Figures { models: vec![("a:one".into(), Default::default())], ..Figures::default() };
        let reply = |days| Msg::Loaded(LoadReply::Stats { days, figures: Ok(Box::new(figures.clone())) });
        let now = model.now;
        update(&mut model, now, reply(Some(30)));
        assert_eq!(shown(&mut model).figures, None);
        update(&mut model, now, reply(Some(7)));
        assert_eq!(shown(&mut model).figures.as_deref(), Some(&figures));
        assert_eq!(asked(&script(&mut model, "a")), [None]);
        assert_eq!((shown(&mut model).range, shown(&mut model).figures), (Range::All, None));
        assert_eq!(asked(&script(&mut model, "a")), [], "what is shown is not asked for again");
        script(&mut model, "<tab><tab>");
        assert_eq!(shown(&mut model).tab, StatsTab::Durations);
        script(&mut model, "<left><left><left>");
        assert_eq!(shown(&mut model).tab, StatsTab::Projects);
        script(&mut model, "<esc>");
        assert!(modal(&mut model).is_none());
        assert_eq!(asked(&script(&mut model, "/stats soon<enter>")), []);
    }
}
