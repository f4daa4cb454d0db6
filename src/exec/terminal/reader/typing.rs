//! What goes into the terminal of a process: answers to what its program asks of it, and keys.

use super::Reader;
use crate::exec::screen::view;
use crate::exec::terminal::echo::{Discipline, Typed};
use crate::exec::terminal::input::Kind;
use crate::exec::terminal::waiting;
use crate::lock::lock;
use rustix::termios::LocalModes;
use std::time::Instant;

/// Questions that are answered of one read, and those among them that take a screen.
const ANSWERS: usize = 256;
const SCREENS: usize = 16;
/// Bytes of answers and keys that may wait unread before questions are answered no more.
const ANSWERS_WAIT: usize = 1024;
/// The same for the last question of a read.
const LAST_WAITS: usize = 4 * ANSWERS_WAIT;

/// Bytes of the row that a program draws again.
const ROW: u64 = 2048;

impl Reader {
    /// Answers what a program asks its terminal. `start` is where `bytes` begin in the pane's stream.
    pub(super) fn answer(&mut self, bytes: &[u8], start: u64) {
        let questions = self.queries.scan(bytes);
        if questions.is_empty() {
            return;
        }
        let process = &self.process;
        let size = self.hub.size_of(process);
        let mut screen = view::Reading::new(size);
        let mut answers = Vec::new();
        // A text full of questions is no program that reads answers.
        let waiting = lock(&process.input).len();
        let last = questions.len() - 1;
        let mut screens = 0;
        // Programs ask for all that they want to know at once, and wait for the answer to the last.
        for (nth, (end, question)) in questions.into_iter().enumerate() {
            let answered = if nth == last { waiting <= LAST_WAITS } else { waiting <= ANSWERS_WAIT && nth < ANSWERS };
            if !answered {
                continue;
            }
            screens += usize::from(question.takes_screen());
            if question.takes_screen() && screens > SCREENS {
                continue;
            }
            answers.extend(question.answer(size, || screen.at(process, start + end as u64)));
        }
        lock(&process.input).push(&answers, Kind::Other);
    }

    pub(super) fn type_in(&mut self) {
        // What was printed before the keys must not be taken for their echo.
        self.read_tty(1);
        let Some(fd) = &self.tty else { return };
        let (shown, all) = {
            let out = lock(&self.process.out);
            let end = out.pane_end();
            let from = end.saturating_sub(ROW).max(out.pane_begin());
            (out.pane_bytes(from, end), from == 0)
        };
        let mut input = lock(&self.process.input);
        // After the lock: nothing that takes long comes between this and the typing.
        let modes = lock(&self.process.tty).as_ref().and_then(|tty| tty.modes());
        let Some((run, kind)) = input.next() else { return };
        let shows = modes.as_ref().is_none_or(|modes| modes.local_modes.contains(LocalModes::ECHO));
        if kind == Kind::Secret && shows {
            input.give_up();
            drop(input);
            waiting::held_back(&self.hub, &self.process);
            return;
        }
        match rustix::io::write(fd, run) {
            Ok(count) => {
                if let Some(modes) = modes {
                    let typed = Typed { keys: &run[..count], person: kind != Kind::Other, shown: &shown, all };
                    self.echo.typed(&typed, &Discipline::from(&modes), Instant::now());
                }
                input.typed(count);
            }
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
            Err(error) => {
                tracing::debug!("typing into {}: {error}", self.process.id.0);
                input.clear();
            }
        }
    }
}
