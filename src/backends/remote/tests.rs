//! A place that goes with this program, and how often it is made.

use super::*;
use crate::backends::Traits;
use std::process::Command;
use std::sync::atomic::AtomicUsize;

/// An allocation that a shell of this machine stands for.
#[derive(Default)]
struct Allocation {
    traits: Traits,
    made: Arc<AtomicUsize>,
}

impl Backend for Allocation {
    fn traits(&self) -> &Traits {
        &self.traits
    }

    fn start(&self) -> Result<(), PlaceError> {
        self.made.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn identity(&self, _: &str) -> String {
        "an allocation".into()
    }

    fn client(&self, words: &[&str], _: Terminal) -> Command {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]);
        command
    }

    fn why_gone(&self) -> Option<String> {
        None
    }

    fn stop(&self) -> Result<(), String> {
        Ok(())
    }
}

#[test]
fn nothing_is_made_to_ask_what_became_of_a_command_once_a_place_was_left() {
    let backend = Allocation::default();
    let made = Arc::clone(&backend.made);
    let place = Remote::new(Box::new(backend));
    let asks = || place.ask(&Script::new("echo there"), ANSWER_LIMIT, SMALL).map(|said| said.text());
    place.ready().unwrap();
    assert_eq!(asks(), Ok("there".to_owned()));
    place.leave().unwrap();
    let why = asks().unwrap_err().to_string();
    assert!(why.contains("the backend was left, and everything running there ended"), "{why}");
    assert_eq!(made.load(Ordering::Relaxed), 1);
    // The next command makes it again.
    place.ready().unwrap();
    assert_eq!((asks(), made.load(Ordering::Relaxed)), (Ok("there".to_owned()), 2));
    place.leave().unwrap();
}
