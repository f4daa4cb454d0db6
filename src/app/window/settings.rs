//! Settings of the screen that a command changes: at once, and in `config.yaml` for the next start.

use crate::app::action::Action;
use crate::app::effect::{Effect, LoadRequest};
use crate::app::input::hint;
use crate::app::model::Model;
use crate::config::DisplayConfig;
use crate::config::keymap::Context;
use crate::config::schema::{BUSY, INDICATORS};
use crate::protocol::Level;
use std::sync::Arc;

fn display(model: &mut Model) -> &mut DisplayConfig {
    &mut Arc::make_mut(&mut model.config).display
}

fn keep(out: &mut Vec<Effect>, key: &str, value: &str) {
    out.push(Effect::Load(LoadRequest::SetConfig { key: key.into(), value: value.into() }));
}

/// One of some words; `None` after saying which there are.
fn word(model: &mut Model, command: &str, words: &[&'static str], now: &str, typed: &str) -> Option<&'static str> {
    if let Some(word) = words.iter().find(|word| word.eq_ignore_ascii_case(typed)) {
        return Some(word);
    }
    let shown = matches!(typed, "" | "status");
    let level = if shown { Level::Info } else { Level::Warning };
    let no = if shown { String::new() } else { format!("\"{typed}\" is not one of them: ") };
    model.notices.add(model.now, level, format!("{no}/{command} is {now}; use {}", words.join(", ")));
    None
}

/// `/busy`: what Enter does while a turn runs.
pub fn busy(model: &mut Model, out: &mut Vec<Effect>, typed: &str) {
    let now = model.config.display.busy_input_mode.clone();
    let Some(mode) = word(model, "busy", BUSY, &now, typed) else { return };
    display(model).busy_input_mode = mode.into();
    keep(out, "display.busy_input_mode", mode);
    let does = match mode {
        "steer" => "says it to the turn at its next step",
        "interrupt" => "stops it and sends",
        _ => "queues",
    };
    let send = hint::key_in(model, Context::Composer, Action::Send).unwrap_or_else(|| "sending".into());
    let text = format!("while a turn runs, {send} {does}");
    model.notices.add(model.now, Level::Info, text);
}

/// `/indicator`: what moves while the model works.
pub fn indicator(model: &mut Model, out: &mut Vec<Effect>, typed: &str) {
    let now = model.config.display.tui_status_indicator.clone();
    let Some(kind) = word(model, "indicator", INDICATORS, &now, typed) else { return };
    display(model).tui_status_indicator = kind.into();
    keep(out, "display.tui_status_indicator", kind);
    model.notices.add(model.now, Level::Info, format!("indicator: {kind}"));
}

/// `/statusbar`: shows or hides the lowest row.
pub fn status_bar(model: &mut Model, out: &mut Vec<Effect>, typed: &str) {
    let shown = match typed {
        "" => !model.config.display.status_bar,
        "on" => true,
        "off" => false,
        other => {
            let text = format!("/statusbar: use on or off, not \"{other}\"");
            return model.notices.add(model.now, Level::Warning, text);
        }
    };
    display(model).status_bar = shown;
    keep(out, "display.status_bar", if shown { "true" } else { "false" });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::tests::{ready, script};
    use crate::protocol::AgentCommand;

    fn kept(effects: &[Effect]) -> Vec<(&str, &str)> {
        let pair = |effect: &'_ Effect| match effect {
            Effect::Load(LoadRequest::SetConfig { key, value }) => Some((key.clone(), value.clone())),
            _ => None,
        };
        let found: Vec<_> = effects.iter().filter_map(pair).collect();
        found.into_iter().map(|(key, value)| (&*key.leak(), &*value.leak())).collect()
    }

    #[test]
    fn commands_change_the_setting_and_keep_it() {
        for (keys, key, value) in [
            ("/busy steer<ret>", "display.busy_input_mode", "steer"),
            ("/indicator ascii<ret>", "display.tui_status_indicator", "ascii"),
            ("/statusbar<ret>", "display.status_bar", "false"),
            ("/statusbar on<ret>", "display.status_bar", "true"),
        ] {
            let mut model = ready();
            assert_eq!(kept(&script(&mut model, keys)), [(key, value)], "{keys}");
        }
        for keys in ["/busy status<ret>", "/busy nonsense<ret>", "/statusbar maybe<ret>"] {
            let mut model = ready();
            assert_eq!(kept(&script(&mut model, keys)), [], "{keys}");
            assert!(!model.notices.shown.is_empty(), "{keys}");
        }
    }

    #[test]
    fn enter_does_what_busy_says_while_a_turn_runs() {
        for (mode, steers, stops, queued) in [("queue", 0, 0, 1), ("steer", 1, 0, 0), ("interrupt", 0, 1, 1)] {
            let mut model = ready();
            display(&mut model).busy_input_mode = mode.into();
            let effects = script(&mut model, "go<ret>more<ret>");
            let count = |test: &dyn Fn(&AgentCommand) -> bool| {
                effects.iter().filter(|effect| matches!(effect, Effect::Agent(command) if test(command))).count()
            };
            let found = (
                count(&|command| *command == AgentCommand::Steer { text: "more".into(), images: Vec::new() }),
                count(&|command| *command == AgentCommand::Stop { force: false }),
                model.tab.queue.len(),
            );
            assert_eq!(found, (steers, stops, queued), "{mode}");
        }
    }

    #[test]
    fn what_interrupted_a_turn_is_sent_when_it_has_stopped() {
        use crate::app::{Msg, update};
        use crate::protocol::{AgentEvent, TurnEnd, TurnOutcome};
        let mut model = ready();
        display(&mut model).busy_input_mode = "interrupt".into();
        script(&mut model, "go<ret>");
        update(&mut model, 1, Msg::Agent(AgentEvent::TurnStarted { turn: 1, at: 1 }));
        update(&mut model, 1, Msg::Agent(AgentEvent::ItemFinished(crate::app::tests::user(1, "go"))));
        script(&mut model, "instead<ret>");
        let outcome = TurnOutcome { turn: 1, end: TurnEnd::Stopped, steps: 1, duration_ms: 1 };
        let effects = update(&mut model, 2, Msg::Agent(AgentEvent::TurnFinished(outcome)));
        let sent = AgentCommand::Submit { text: "instead".into(), images: Vec::new() };
        assert!(effects.contains(&Effect::Agent(sent)), "{effects:?}");
        assert!(model.tab.queue.is_empty());
    }
}
