//! Files below a folder that rules of the user ask about or deny to read: for tools that read many at once, and that a
//! question for each would be too much.

use super::path::ruled;
use crate::policy::permissions::Names;
use crate::policy::rule::{Action, Rules};
use crate::policy::{Verdict, World};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Such files; none by default.
#[derive(Clone, Default)]
pub struct Closed(Option<Arc<AuditBy>>);

struct AuditBy {
    rules: Rules,
    cwd: PathBuf,
    world: Arc<dyn World>,
}

/// Reading is what is asked about, whichever tool does it.
const READING: Names<'static> = Names { tool: "search_files", action: "file.read", family: "file" };

impl Closed {
    /// What these rules close for a task in this folder.
    pub fn by(rules: Rules, cwd: &Path, world: Arc<dyn World>) -> Self {
        let any = rules.in_effect(cwd).any(|one| one.action != Action::Allow && one.names(READING));
        Self(any.then(|| Arc::new(AuditBy { rules, cwd: cwd.to_owned(), world })))
    }

    /// Whether a file needs a yes of its own, or may not be read at all. Looks at the disk where there are rules.
    pub fn has(&self, file: &Path) -> bool {
        let Some(by) = &self.0 else { return false };
        let open = Verdict::Allow(Vec::new());
        let judged = ruled(open, file, &by.cwd, &by.rules, READING, &*by.world, &mut Vec::new());
        !matches!(judged, Verdict::Allow(_))
    }
}
