//! Like calls in a row: those that only look are shown as one line, which opens to the calls themselves.

use super::{Cell, CellKind, ToolCell, ToolState, Transcript};
use crate::protocol::{CallRow, Outcome, PERSONS};

/// So many stand for themselves.
const FEWEST: usize = 3;

impl Transcript {
    /// The calls that the cell at this place stands for, itself first; empty where it stands for itself. `thoughts`: reasoning
    /// is shown, and parts what it stands between.
    pub fn group(&self, at: usize, thoughts: bool) -> Vec<&ToolCell> {
        match self.run(at, thoughts) {
            Some(run) if run.first() == Some(&at) && !self.is_open(at) => {
                run.into_iter().filter_map(|at| self.cells.get(at).and_then(like)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Whether the cell at this place is shown by the first one of its group.
    pub fn is_folded(&self, at: usize, thoughts: bool) -> bool {
        self.run(at, thoughts)
            .and_then(|run| run.first().copied())
            .is_some_and(|first| first != at && !self.is_open(first))
    }

    fn is_open(&self, at: usize) -> bool {
        self.expand_all || self.cells.get(at).is_some_and(|cell| cell.expanded)
    }

    /// The places of like calls that this one is among, if they are enough for a group.
    fn run(&self, at: usize, thoughts: bool) -> Option<Vec<usize>> {
        let name = &like(self.cells.get(at)?)?.name;
        // `None` where the run ends, `Some(false)` where nothing is shown.
        let goes_on = |cell: &Cell| match &cell.kind {
            CellKind::Assistant { text } if text.trim().is_empty() => Some(false),
            CellKind::Reasoning { text, .. } if !thoughts || text.trim().is_empty() => Some(false),
            CellKind::User { .. }
            | CellKind::Told { .. }
            | CellKind::Summary { .. }
            | CellKind::Assistant { .. }
            | CellKind::Reasoning { .. }
            | CellKind::Tool(_)
            | CellKind::Note { .. }
            | CellKind::TurnEnd { .. } => (&like(cell)?.name == name).then_some(true),
        };
        let found = |(at, cell): (usize, &Cell)| goes_on(cell).map(|is_call| (at, is_call));
        let before = self.cells.iter().enumerate().take(at).rev().map_while(found);
        let mut run: Vec<usize> = before.filter(|(_, is_call)| *is_call).map(|(at, _)| at).collect();
        run.reverse();
        let behind = self.cells.iter().enumerate().skip(at).map_while(found);
        run.extend(behind.filter(|(_, is_call)| *is_call).map(|(at, _)| at));
        (run.len() >= FEWEST).then_some(run)
    }
}

/// A call that may stand in a group: one that went well, of a tool that only looks.
fn like(cell: &Cell) -> Option<&ToolCell> {
    let CellKind::Tool(tool) = &cell.kind else { return None };
    let is_like = tool.state == ToolState::Done(Outcome::Ok)
        && matches!(tool.row, CallRow::Files | CallRow::Times)
        && !tool.call_id.starts_with(PERSONS);
    is_like.then_some(tool)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::model::transcript::{CellId, Thinking};

    fn of(kinds: Vec<CellKind>) -> Transcript {
        let cell = |(at, kind)| Cell { id: CellId(at), revision: 0, finished: true, expanded: false, kind, item: None };
        Transcript { cells: (0..).zip(kinds).map(cell).collect(), ..Transcript::default() }
    }

    fn call(name: &str, outcome: Outcome) -> CellKind {
        let state = ToolState::Done(outcome);
        let row = match name {
            "read_file" => CallRow::Files,
            "search_files" => CallRow::Times,
            _ => CallRow::Own,
        };
        CellKind::Tool(Box::new(ToolCell { name: name.into(), row, target: name.into(), state, ..ToolCell::default() }))
    }

    fn read() -> CellKind {
        call("read_file", Outcome::Ok)
    }

    /// How many calls each cell stands for; a folded one is `-`.
    fn shape(transcript: &Transcript, thoughts: bool) -> String {
        let one = |at: usize| {
            if transcript.is_folded(at, thoughts) {
                "-".to_owned()
            } else {
                transcript.group(at, thoughts).len().to_string()
            }
        };
        (0..transcript.cells.len()).map(one).collect()
    }

    #[test]
    fn like_calls_in_a_row_are_one() {
        let blank = || CellKind::Assistant { text: " ".into() };
        let thought = || CellKind::Reasoning { text: "so".into(), time: Thinking::Unknown };
        let said = || CellKind::Assistant { text: "so".into() };
        let search = || call("search_files", Outcome::Ok);
        for (kinds, thoughts, want) in [
            (vec![read(), read(), read()], true, "3--"),
            (vec![read(), read()], true, "00"),
            (vec![read(), read(), read(), search(), search()], true, "3--00"),
            (vec![read(), blank(), read(), blank(), read()], true, "30-0-"),
            (vec![read(), thought(), read(), read()], false, "30--"),
            (vec![read(), thought(), read(), read()], true, "0000"),
            (vec![read(), read(), said(), read(), read()], true, "00000"),
            // What failed, changes or runs something is never folded away.
            (vec![read(), read(), call("read_file", Outcome::Failed), read(), read(), read()], true, "0003--"),
            (
                vec![call("terminal", Outcome::Ok), call("terminal", Outcome::Ok), call("terminal", Outcome::Ok)],
                true,
                "000",
            ),
        ] {
            assert_eq!(shape(&of(kinds), thoughts), want);
        }
    }

    #[test]
    fn the_first_one_opens_them() {
        let mut transcript = of(vec![read(), read(), read()]);
        transcript.cells[0].expanded = true;
        assert_eq!(shape(&transcript, true), "000");
        transcript.cells[0].expanded = false;
        transcript.expand_all = true;
        assert_eq!(shape(&transcript, true), "000");
    }
}
