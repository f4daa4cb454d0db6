//! The budget of the open session: what of it is told, and when a turn ends for it.

use super::rest::Aside;
use super::{Deps, Runner};
use crate::agent::budget::BUDGET;
use crate::agent::budget::purse::Purse;
use crate::protocol::{AgentEvent, Body, BudgetSign, Level, NoteKind, Raise, SessionId, Written};
use tokio::sync::mpsc;

/// The purse of a session.
pub(super) fn purse(deps: &Deps, id: &SessionId, is_person: bool, aside: mpsc::Sender<Aside>) -> Purse {
    // Full only when the runner is far behind; then the meter shows it with the next call.
    let told = move |usage| drop(aside.try_send(Aside::Told(usage)));
    Purse::new(deps.store.clone(), Some(id.clone()), deps.loaded.config.budget, is_person, crate::agent::now, told)
}

impl Runner {
    /// A resumed session counts what it spent before, and knows what was raised and told.
    pub(super) async fn resume_budget(&mut self, kept: Option<serde_json::Value>) {
        let id = self.session.id.clone();
        let spent = self.deps.store.spent_in(&id).await.map_err(|error| error.to_string());
        self.purse.resume(spent, kept);
        self.show_budget().await;
    }

    /// Tells limits that were passed, once each, and what the status line shows.
    pub(super) async fn show_budget(&mut self) {
        let news = self.purse.news().await;
        for crossing in news.crossed {
            self.append(Body::Note { kind: NoteKind::Warning, text: crossing.text }).await;
        }
        if let Some(kept) = news.kept {
            self.keep(BUDGET, kept).await;
        }
        if self.budget_sign != news.sign {
            self.budget_sign.clone_from(&news.sign);
            self.out.send(AgentEvent::Budget(news.sign)).await;
        }
    }

    /// No model is called now: the status line says so, and what is queued waits.
    pub(super) async fn budget_stops(&mut self) {
        self.show_budget().await;
        if self.budget_sign.as_ref().is_none_or(|sign| !sign.hard) {
            let sign = Some(BudgetSign { text: "budget: no model is called".into(), hard: true });
            self.budget_sign.clone_from(&sign);
            self.out.send(AgentEvent::Budget(sign)).await;
        }
    }

    /// A turn begins, or (`ended`) is over: what saving cost meanwhile.
    pub(super) async fn weigh_saving(&mut self, ended: bool) {
        let now = self.deps.store.written().await;
        let (turn, session) = self.written_before.get_or_insert((now, now));
        if ended {
            self.session.written = Written { turn: now.saturating_sub(*turn), session: now.saturating_sub(*session) };
        } else {
            *turn = now;
        }
    }

    /// A person raises the hard limits for this session.
    pub(super) async fn raise_budget(&mut self, by: Raise) {
        match self.purse.raise(by) {
            Ok((kept, lines)) => {
                self.keep(BUDGET, kept).await;
                self.notice(Level::Info, format!("budget raised for this session: {lines}")).await;
                self.show_budget().await;
            }
            Err(why) => self.notice(Level::Warning, why).await,
        }
    }
}
