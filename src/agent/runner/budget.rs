//! The budget of the open session: what of it is told, and when a turn ends for it.

use super::rest::Aside;
use super::{Deps, Runner};
use crate::agent::budget::purse::Purse;
use crate::agent::budget::{BUDGET, Stop, Way};
use crate::agent::turn::Input;
use crate::protocol::{
    AgentEvent, Body, BudgetSign, Level, NoteKind, Question, QuestionId, Raise, SessionId, Usage, Written,
};
use crate::text::format::{count, dollars};
use tokio::sync::{mpsc, oneshot};
use tokio_util::task::AbortOnDropHandle;

const RAISE: &str = "Raise by ";
const STOP: &str = "Stop";
const UNCOUNTED: &str = "Go on without counting it";

/// A budget that is used up.
#[derive(Default)]
pub(super) struct Broke {
    /// The question, why, and who waits for its answer.
    asked: Option<(QuestionId, Stop, Vec<oneshot::Sender<bool>>)>,
    /// The turn of this session waits for the answer.
    own: Option<AbortOnDropHandle<()>>,
    /// A person said stop: they are not asked before they say more.
    declined: bool,
}

impl Broke {
    /// Whether that is the question.
    pub fn is_asked(&self, id: QuestionId) -> bool {
        self.asked.as_ref().is_some_and(|(asked, ..)| *asked == id)
    }

    /// The turn does not wait any more.
    pub fn leave(&mut self) {
        self.own = None;
    }

    /// A person goes on.
    pub fn heard(&mut self) {
        self.declined = false;
    }
}

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
        if let (Ok(spent), own) = (&spent, *self.session.used()) {
            let input = spent.tokens.saturating_sub(own.input + own.output);
            let cost = Some(spent.cost - own.cost.unwrap_or_default()).filter(|cost| *cost > 1e-9);
            let children = Usage { input, cost, ..Usage::default() };
            (self.session.of_earlier_children, self.session.of_children) = (children, children);
        }
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

    /// The budget is used up in the middle of a turn: whoever answers is asked. The status line says so.
    pub(super) async fn ask_budget(&mut self) -> Option<Input> {
        self.show_budget().await;
        if self.budget_sign.as_ref().is_none_or(|sign| !sign.hard) {
            let sign = Some(BudgetSign { text: "budget: no model is called".into(), hard: true });
            self.budget_sign.clone_from(&sign);
            self.out.send(AgentEvent::Budget(sign)).await;
        }
        let asks = |stop: &Stop| self.handle.has_person() && stop.way != Way::None;
        let Some(stop) = self.purse.refused().filter(asks) else {
            return Some(Input::BudgetAnswered { go_on: false });
        };
        let (asked, aside) = (self.handle.ask_to_raise(stop), self.aside.tx.clone());
        let asking = tokio::spawn(async move {
            let go_on = asked.await;
            // The session may be over.
            let _ = aside.send(Aside::Budget(go_on)).await;
        });
        self.broke.own = Some(AbortOnDropHandle::new(asking));
        None
    }

    /// The turn goes on with its call, or ends.
    pub(super) async fn heard_of_budget(&mut self, go_on: bool) {
        self.broke.own = None;
        self.feed(Input::BudgetAnswered { go_on }).await;
    }

    /// Somebody here, or a child, needs more than the budget has. One question for all of them.
    pub(super) async fn budget_asked(&mut self, stop: Stop, answer: oneshot::Sender<bool>) {
        if answer.is_closed() {
            return;
        }
        if self.leaving || self.broke.declined {
            let _ = answer.send(false);
            return;
        }
        if let Some((_, _, waiting)) = &mut self.broke.asked {
            return waiting.push(answer);
        }
        self.put_budget(stop, vec![answer]).await;
    }

    async fn put_budget(&mut self, stop: Stop, waiting: Vec<oneshot::Sender<bool>>) {
        let id = self.handle.next_question();
        let question = Question {
            id,
            call_id: String::new(),
            text: crate::text::format::capitalized(&stop.text),
            choices: choices(stop.way),
            allow_freetext: matches!(stop.way, Way::Raise { .. }),
            own_answer: String::new(),
        };
        self.broke.asked = Some((id, stop, waiting));
        self.out.send(AgentEvent::Asked(question)).await;
    }

    /// What a person chose, or typed.
    pub(super) async fn budget_answer(&mut self, text: &str) {
        let Some((id, stop, waiting)) = self.broke.asked.take() else { return };
        self.out.send(AgentEvent::QuestionClosed(id)).await;
        match answer(text) {
            Answer::Stop => {
                self.broke.asked = Some((id, stop, waiting));
                self.broke.declined = true;
                let children_only = self.broke.own.is_none() && self.turn.is_running();
                self.budget_decided(false).await;
                if children_only {
                    Box::pin(self.stop(false)).await;
                }
            }
            Answer::Raise(by) => match self.purse.raise(by) {
                Ok(raised) => {
                    self.broke.asked = Some((id, stop, waiting));
                    self.raised(raised).await;
                }
                Err(why) => {
                    self.notice(Level::Warning, why).await;
                    self.put_budget(stop, waiting).await;
                }
            },
            Answer::Unclear => {
                let why = "raise the budget by dollars or by tokens: +5, +200k";
                self.notice(Level::Warning, why).await;
                self.put_budget(stop, waiting).await;
            }
        }
    }

    /// Everybody who waits hears whether there is room again.
    pub(super) async fn budget_decided(&mut self, go_on: bool) {
        let Some((id, _, waiting)) = self.broke.asked.take() else { return };
        for one in waiting {
            // It may have been stopped meanwhile.
            let _ = one.send(go_on);
        }
        self.out.send(AgentEvent::QuestionClosed(id)).await;
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
            Ok(raised) => self.raised(raised).await,
            Err(why) => self.notice(Level::Warning, why).await,
        }
    }

    async fn raised(&mut self, (kept, lines): (serde_json::Value, String)) {
        self.keep(BUDGET, kept).await;
        self.broke.declined = false;
        self.notice(Level::Info, format!("budget raised for this session: {lines}")).await;
        self.show_budget().await;
        self.budget_decided(true).await;
    }
}

/// The choices of the question.
fn choices(way: Way) -> Vec<String> {
    let by = |raise: Raise| match raise {
        Raise { tokens: 0, cost, .. } => format!("{RAISE}{}", dollars(cost)),
        Raise { tokens, .. } => format!("{RAISE}{} tokens", count(tokens)),
    };
    let mut out = match way {
        Way::Raise { limit, lacks } => {
            let mut amounts = vec![by(limit.fifth().at_least(lacks)), by(limit.at_least(lacks.plus(lacks)))];
            amounts.dedup();
            amounts
        }
        Way::Uncounted => vec![UNCOUNTED.to_owned()],
        Way::None => Vec::new(),
    };
    out.push(STOP.to_owned());
    out
}

#[derive(Debug, PartialEq)]
enum Answer {
    Raise(Raise),
    Stop,
    Unclear,
}

fn answer(text: &str) -> Answer {
    let amount = text.trim().strip_prefix(RAISE).unwrap_or(text).replace(',', "");
    let amount = amount.trim().trim_start_matches('+');
    match text.trim() {
        STOP => Answer::Stop,
        UNCOUNTED => Answer::Raise(Raise { uncounted: true, ..Raise::default() }),
        _ => Raise::parse(&format!("+{amount}")).map_or(Answer::Unclear, Answer::Raise),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_is_understood() {
        let dollars = |cost| Raise { cost, ..Raise::default() };
        let tokens = |tokens| Raise { tokens, ..Raise::default() };
        for (limit, shown, raises) in [
            (dollars(5.0), ["Raise by $1.00", "Raise by $5.00"], [dollars(1.0), dollars(5.0)]),
            (dollars(0.02), ["Raise by $0.01", "Raise by $0.02"], [dollars(0.01), dollars(0.02)]),
            (
                tokens(2_000_000),
                ["Raise by 400,000 tokens", "Raise by 2,000,000 tokens"],
                [tokens(400_000), tokens(2_000_000)],
            ),
        ] {
            let choices = choices(Way::Raise { limit, lacks: Raise::default() });
            assert_eq!(choices, [shown[0], shown[1], STOP]);
            assert_eq!(choices.iter().map(|choice| answer(choice)).collect::<Vec<_>>()[..2], raises.map(Answer::Raise));
        }
        let lacks = Way::Raise { limit: tokens(5_000), lacks: tokens(21_075) };
        assert_eq!(choices(lacks), ["Raise by 22,000 tokens", "Raise by 43,000 tokens", STOP]);
        let lacks = Way::Raise { limit: dollars(1.0), lacks: dollars(0.333) };
        assert_eq!(choices(lacks), ["Raise by $0.34", "Raise by $1.00", STOP]);
        let uncounted = Raise { uncounted: true, ..Raise::default() };
        assert_eq!(
            choices(Way::Uncounted).iter().map(|choice| answer(choice)).collect::<Vec<_>>(),
            [Answer::Raise(uncounted), Answer::Stop]
        );
        assert_eq!(answer("+2.50"), Answer::Raise(dollars(2.5)));
        assert_eq!(answer("200k"), Answer::Raise(tokens(200_000)));
        assert_eq!(answer("why?"), Answer::Unclear);
    }
}
