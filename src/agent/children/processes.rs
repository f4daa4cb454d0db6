//! What becomes of the processes of a child: they end with it, but for those that it handed to its parent.

use crate::exec::Exec;
use crate::protocol::SessionId;
use crate::text::width::truncate_end;

/// Columns of a command.
const COMMAND: usize = 80;

/// Ends what a child left in the background; what became of each, in words.
pub async fn left(exec: &Exec, child: &SessionId) -> Vec<String> {
    let line = |command: &str| truncate_end(command.lines().next().unwrap_or_default(), COMMAND);
    let handed = exec.handed_over(&child.0);
    let handed = handed.into_iter().map(|(id, command)| format!("handed to you: {} `{}`", id.0, line(&command)));
    let ended = exec.end_all_of(&child.0).await;
    handed.chain(ended.iter().map(|command| format!("ended with it: `{}`", line(command)))).collect()
}
