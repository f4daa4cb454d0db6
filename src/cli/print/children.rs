//! What children of the session did, for whoever reads the report: their rows, and what they changed or were not allowed.

use crate::protocol::{ChildRow, ChildState, SessionId, Usage};
use serde_json::{Value, json};

/// The children of a run, in their order.
#[derive(Default)]
pub struct Offspring(Vec<ChildRow>);

impl Offspring {
    /// Rows as they are now; those whose state is another one than before.
    pub fn saw(&mut self, rows: Vec<ChildRow>) -> Vec<Value> {
        let mut news = Vec::new();
        for row in rows {
            let known = self.0.iter_mut().find(|known| known.name == row.name);
            let before = known.as_ref().map(|known| known.state);
            if before != Some(row.state) && row.state != ChildState::Waiting {
                let mut line = value(&row);
                line["type"] = "child".into();
                news.push(line);
            }
            match known {
                Some(known) => *known = row,
                None => self.0.push(row),
            }
        }
        news
    }

    /// What the child is called whose session this is; `None`: it is none of them.
    pub fn name(&self, session: &SessionId) -> Option<&str> {
        self.0.iter().find(|row| row.session.as_ref() == Some(session)).map(|row| row.name.as_str())
    }

    /// A list for the envelope.
    pub fn report(&self) -> Vec<Value> {
        self.0.iter().map(value).collect()
    }
}

fn value(row: &ChildRow) -> Value {
    json!({
        "name": row.name,
        "session_id": row.session.as_ref().map(|id| &id.0),
        "goal": row.goal,
        "model": row.model,
        "status": row.state.word(),
        "steps": row.steps,
        "usage": usage(&row.used),
    })
}

/// Sums as reports have them; dollars to a millionth, without the dust of additions.
pub fn usage(used: &Usage) -> Value {
    let cost = used.cost.map(|cost| (cost * 1e6).round() / 1e6);
    json!({ "input": used.input, "cached": used.cached, "output": used.output, "cost": cost })
}
