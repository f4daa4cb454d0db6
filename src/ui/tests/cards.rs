//! Cards over the panes: how far their text scrolls, and what of the panes stands beside them.

use super::fixture::{busy, screen};
use super::modals::modals;
use crate::app::Model;
use crate::app::model::approvals::Entry;
use crate::app::model::extensions::TrustCard;
use crate::app::model::modal::*;
use crate::app::model::types::*;
use crate::app::msg::Msg;
use crate::text::{Line, Role};
use crate::ui::ViewCache;

const SIZES: [(u16, u16); 3] = [(140, 45), (60, 20), (40, 12)];

/// Draws a state, and lets it know what was drawn.
fn drawn(model: &mut Model, (columns, rows): (u16, u16)) -> String {
    let (text, layout) = screen(model, &mut ViewCache::default(), columns, rows);
    crate::app::update(model, model.now, Msg::Drawn(Box::new(layout)));
    text
}

/// Rows of a screen that are edges of the card.
fn edges(text: &str) -> Vec<usize> {
    text.lines().enumerate().filter(|(_, line)| line.contains(['╭', '╰'])).map(|(row, _)| row).collect()
}

/// Cards with so many lines of text, each of so many words.
fn with_text(lines: usize, words: usize) -> Vec<Model> {
    let line = |at: usize| Line::plain(format!("line {at}.{}", " word".repeat(words)), Role::Text);
    let lines: Vec<Line> = (1..=lines).map(line).collect();
    let text = TextModal { title: "Text".into(), lines: lines.clone(), scroll: 0 };
    let trust =
        TrustModal { card: TrustCard::default(), lines: lines.clone(), scroll: 0, inert_until: 0, agreed: false };
    let changed = PolicyChangedModal { lines, scroll: 0, inert_until: 0, selected: PolicyChoice::Later };
    let all = [Modal::Text(text), Modal::Trust(Box::new(trust)), Modal::PolicyChanged(Box::new(changed))];
    all.map(|modal| {
        let mut model = busy();
        model.tab.modals = vec![modal];
        model
    })
    .into()
}

#[test]
fn a_text_scrolls_to_its_end_and_no_further_in_a_card_that_stays() {
    for (lines, words) in [(1, 0), (5, 0), (9, 30), (60, 0), (60, 40), (3, 200)] {
        for size in SIZES {
            for mut model in with_text(lines, words) {
                let first = drawn(&mut model, size);
                let mut all = first.clone();
                let mut last = first.clone();
                for _ in 0..lines + 3 {
                    crate::app::tests::script(&mut model, "<down>");
                    last = drawn(&mut model, size);
                    assert_eq!(edges(&first), edges(&last), "{size:?}:\n{first}\n{last}");
                    all.push_str(&last);
                }
                assert!(all.contains(&format!("line {lines}.")), "{size:?}:\n{all}");
                // One step back moves what was scrolled, and what never moved stays.
                crate::app::tests::script(&mut model, "<up>");
                let back = drawn(&mut model, size);
                assert_eq!(back == last, first == last, "{size:?}:\n{last}\n{back}");
                // Short lines fill the card to its end.
                if words == 0 && first != last {
                    let row = last.lines().nth(edges(&last)[0] + 2).unwrap_or_default();
                    assert!(row.contains("line "), "{last}");
                    let shown = last.lines().filter(|row| row.contains("line ")).count();
                    assert_eq!(shown, first.lines().filter(|row| row.contains("line ")).count(), "{first}\n{last}");
                }
            }
        }
    }
}

#[test]
fn a_question_without_choices_is_a_field() {
    let mut model = busy();
    let question = Question {
        id: QuestionId(1),
        call_id: "call".into(),
        text: "What is it called?".into(),
        choices: Vec::new(),
        allow_freetext: true,
        own_answer: String::new(),
    };
    model.tab.approvals.entries = vec![Entry::Question(question)];
    crate::app::approvals::open(&mut model, crate::app::model::approvals::EntryId::Question(QuestionId(1)), 0);
    for size in SIZES {
        let text = drawn(&mut model, size);
        assert!(text.contains("What is it called?") && text.contains("❯"), "{text}");
        assert!(!text.contains("own words") && !text.contains("▸ 1"), "{text}");
        assert!(text.contains("Enter answers"), "{text}");
    }
}

#[test]
fn while_a_turn_runs_the_key_that_stops_it_is_the_last_hint_to_go() {
    use crate::policy::Mode;
    for mode in [Mode::Ask, Mode::Auto, Mode::Yolo] {
        for columns in 40..140 {
            let mut model = busy();
            model.mouse_captured = false;
            model.demo = true;
            if let Some(session) = &mut model.tab.session {
                (session.mode, session.auto_approver) = (mode, None);
                session.place = "ssh alice@a-machine-with-a-long-name.example".into();
            }
            let text = screen(&model, &mut ViewCache::default(), columns, 20).0;
            let bar = text.lines().last().unwrap_or_default();
            assert!(bar.contains("Esc stop"), "{columns}: {bar}");
        }
    }
}

#[test]
fn no_row_of_a_pane_lies_between_a_tall_card_and_the_status_bar() {
    for (name, model) in modals().into_iter().filter(|(_, model)| !model.tab.modals.is_empty()) {
        for (columns, rows) in [(140, 45), (100, 30), (60, 20), (40, 12)] {
            let text = screen(&model, &mut ViewCache::default(), columns, rows).0;
            let edge = edges(&text).last().copied().unwrap_or_default();
            let below = usize::from(rows) - 2 - edge;
            assert!(below == 0 || below > 3, "{name} {columns}x{rows}:\n{text}");
            assert!(!text.contains("Enter sends after"), "{name}: its keys are not the prompt's\n{text}");
        }
    }
}
