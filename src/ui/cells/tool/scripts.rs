//! The calls of a script, below its line: the newest while it runs, all of them when it is opened.

use super::super::Context;
use super::{head, marker};
use crate::app::model::transcript::{ToolCell, ToolState};
use crate::text::{Row, format};

/// Cells that they stand further in.
const DEEPER: usize = 2;
/// Calls that are shown of a script that runs.
const NEWEST: usize = 4;

/// Their rows; none for any other call.
pub(super) fn rows(tool: &ToolCell, context: &Context<'_>, rows: &mut Vec<Row>) {
    let most = if context.expanded { usize::MAX } else { NEWEST };
    let earlier = tool.inner.len().saturating_sub(most);
    if earlier > 0 {
        rows.push(marker(format!("… {}", format::plural(earlier as u64, "earlier call", "earlier calls"))));
    }
    // What waits for an answer is seen whichever it is.
    let asks = |call: &&ToolCell| call.state == ToolState::Asking;
    let asking = tool.inner.iter().take(earlier).filter(asks);
    rows.extend(asking.chain(tool.inner.iter().skip(earlier)).map(|call| head(call, false, DEEPER, context)));
}
