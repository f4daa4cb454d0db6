//! Compaction: what of a conversation a summary stands for, and how it is written. All is pure but `writer`, which calls
//! the model.

pub mod edges;
pub mod limit;
pub mod lines;
pub mod transcript;
pub mod writer;

use crate::protocol::{SummaryBody, Todo, TodoStatus};

/// A compaction that frees less than this percent of a request was futile.
const FREES: u64 = 20;
/// Futile ones in a row before none begins without being asked for.
const FUTILE: u32 = 2;
/// Compactions in one turn (as Python Hermes has it).
const IN_TURN: u32 = 3;
/// The end of a conversation that stays: percent of the limit (as Python Hermes has it).
const TAIL: u64 = 20;
/// Tokens of a summary: percent of what it stands for, and its bounds (as Python Hermes has them).
const SUMMARY: u64 = 20;
const SUMMARY_LEAST: u64 = 2_000;
const SUMMARY_MOST: u64 = 10_000;
/// And never more than this percent of the window, but enough to say something.
const SUMMARY_OF_WINDOW: u64 = 5;
const SUMMARY_FLOOR: u64 = 400;
/// Milliseconds after a model failed to write before it is asked again without the person (as Python Hermes has it).
const COOL_DOWN: i64 = 600_000;

/// What a session knows of its compactions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    futile: u32,
    in_turn: u32,
    /// No model is asked before this time.
    cooled_at: i64,
    /// That no more begins was said.
    told: bool,
    /// The person asked for one while a turn ran, with this in view.
    wanted: Option<String>,
    /// The last one came to nothing: the request that waited for it is sent as it is.
    gave_up: bool,
}

impl History {
    /// A turn begins.
    pub fn turn_began(&mut self) {
        self.in_turn = 0;
    }

    /// The person wants one, once the running step is over.
    pub fn want(&mut self, focus: String) {
        self.wanted = Some(focus);
    }

    /// What the person wants, once.
    pub fn take_wanted(&mut self) -> Option<String> {
        let wanted = self.wanted.take();
        if wanted.is_some() {
            self.asked();
        }
        wanted
    }

    /// One came to nothing, and would again.
    pub fn gave_up(&mut self) {
        self.gave_up = true;
    }

    /// Whether the last one came to nothing, once.
    pub fn take_failed(&mut self) -> bool {
        std::mem::take(&mut self.gave_up)
    }

    /// The person asked: nothing that went wrong before counts.
    pub fn asked(&mut self) {
        *self = Self::default();
    }

    /// Whether one may begin without being asked for.
    pub fn may_begin(&self) -> bool {
        self.futile < FUTILE && self.in_turn < IN_TURN
    }

    /// Whether none begins any more because the last ones freed too little, which was not said yet.
    pub fn says_that_it_rests(&mut self) -> bool {
        self.futile >= FUTILE && !std::mem::replace(&mut self.told, true)
    }

    /// Whether a model may be asked.
    pub fn may_ask(&self, now: i64) -> bool {
        now >= self.cooled_at
    }

    /// No model wrote.
    pub fn failed(&mut self, now: i64) {
        self.cooled_at = now.saturating_add(COOL_DOWN);
    }

    /// One ended, with so many tokens of a request before and after.
    pub fn ended(&mut self, before: u64, after: u64) {
        self.in_turn += 1;
        let freed = before.saturating_sub(after);
        self.futile = if freed * 100 < before * FREES { self.futile + 1 } else { 0 };
    }
}

/// Tokens that stay at the end of a conversation whose requests may have `limit`.
pub fn tail(limit: u64) -> u64 {
    limit / 100 * TAIL
}

/// Tokens that a summary of so many may have, in a window.
pub fn budget(stands_for: u64, window: u64) -> u32 {
    let share = (stands_for / 100 * SUMMARY).clamp(SUMMARY_LEAST, SUMMARY_MOST);
    let most = (window / 100 * SUMMARY_OF_WINDOW).max(SUMMARY_FLOOR);
    u32::try_from(share.min(most)).unwrap_or(u32::MAX)
}

/// What a summary carries as it is: the open plan, what runs, and how to read an entry again where there is a tool for it.
pub fn state(plan: &[Todo], processes: &[String], searches: bool) -> String {
    let open = plan.iter().filter_map(|todo| match todo.status {
        TodoStatus::InProgress => Some(format!("- [>] {}. {} (in_progress)", todo.id, todo.content)),
        TodoStatus::Pending => Some(format!("- [ ] {}. {} (pending)", todo.id, todo.content)),
        TodoStatus::Completed | TodoStatus::Cancelled => None,
    });
    let open: Vec<String> = open.collect();
    let mut out = String::new();
    if !open.is_empty() {
        out = format!("\n[Your active task list was preserved across context compression]\n{}\n", open.join("\n"));
    }
    if !processes.is_empty() {
        out.push_str(&format!("\n[Processes that ran when this was written]\n{}\n", processes.join("\n")));
    }
    if searches {
        out.push_str("\n[session_search with item gives back an entry in full: {\"item\": 12}]\n");
    }
    out
}

/// The message that stands in a request for what a summary covers.
pub fn message(summary: &SummaryBody) -> String {
    let frame = include_str!("../../../assets/prompts/summarized.md").trim();
    // In one pass: what a model wrote is not searched for places to fill.
    let (head, rest) = frame.split_once("{{text}}").unwrap_or((frame, ""));
    let (middle, end) = rest.split_once("{{state}}").unwrap_or((rest, ""));
    let head = head.replace("{{from}}", &summary.from.0.to_string()).replace("{{to}}", &summary.to.0.to_string());
    [&head, summary.text.trim(), middle, &summary.state, end].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_in_a_row_that_free_little_are_the_last() {
        let mut history = History::default();
        history.ended(1000, 900);
        assert!(history.may_begin());
        history.ended(1000, 700);
        history.turn_began();
        history.ended(1000, 900);
        assert!(history.may_begin(), "one that freed enough came between");
        history.ended(1000, 801);
        assert!(!history.may_begin() && history.says_that_it_rests() && !history.says_that_it_rests(), "once");
        history.asked();
        assert!(history.may_begin());
    }

    #[test]
    fn a_turn_has_three_at_most() {
        let mut history = History::default();
        (0..3).for_each(|_| history.ended(1000, 100));
        assert!(!history.may_begin() && !history.says_that_it_rests());
        history.turn_began();
        assert!(history.may_begin());
    }

    #[test]
    fn a_model_that_failed_is_left_alone_for_a_while() {
        let mut history = History::default();
        assert!(history.may_ask(5));
        history.failed(1_000);
        assert!(!history.may_ask(600_000) && history.may_ask(601_000));
    }

    #[test]
    fn a_summary_has_a_fifth_of_what_it_stands_for_within_bounds() {
        for (stands_for, window, tokens) in
            [(5_000, 200_000, 2_000), (30_000, 200_000, 6_000), (90_000, 400_000, 10_000), (3_000, 4_096, 400)]
        {
            assert_eq!(budget(stands_for, window), tokens, "{stands_for} of {window}");
        }
    }

    #[test]
    fn open_entries_of_the_plan_are_carried() {
        let todo = |id: &str, status| Todo { id: id.into(), content: format!("do {id}"), status };
        let plan =
            [todo("1", TodoStatus::Completed), todo("2", TodoStatus::InProgress), todo("3", TodoStatus::Pending)];
        let text = state(&plan, &["- npm run dev (proc_1)".to_owned()], true);
        assert!(
            text.contains("- [>] 2. do 2 (in_progress)\n- [ ] 3. do 3 (pending)") && !text.contains("do 1"),
            "{text}"
        );
        assert!(text.contains("npm run dev") && text.contains("\"item\""), "{text}");
        assert_eq!(state(&plan[..1], &[], false), "");
    }
}
