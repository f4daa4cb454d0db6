//! What the conversation no longer tells since it was rewound: the model hears of it again where it still holds.

use super::Runner;
use crate::agent::outside::{self, Said};
use crate::checkpoints::{Fate, Strange};
use crate::protocol::{Body, ItemId, Origin};
use crate::store::{Blobs, FOLDER, FileChange};
use crate::tools::file::restore::{self, Back, Verdict};
use crate::tools::file::restore_target::RestoreTarget;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// What is told again.
#[derive(Default)]
pub(super) struct Forgotten {
    /// What notes told.
    pub files: Vec<Strange>,
    pub git: Option<String>,
    /// What calls changed, and was left so.
    pub changed: Vec<Strange>,
}

impl Runner {
    /// Of the entries that were rewound. A redo may have brought them back.
    pub(super) async fn forgotten(&mut self) -> Forgotten {
        let root = self.session.workspace.root().to_owned();
        let items = self.session.context.items();
        let is_back = |id: ItemId| items.binary_search_by_key(&id, |item| item.id).is_ok();
        let mut again = Forgotten::default();
        for (_, said) in std::mem::take(&mut self.outside.gone).into_iter().filter(|(id, _)| !is_back(*id)) {
            let files = said.files.into_iter().map(|(path, fate)| strange(&root, &path, fate));
            again.files = outside::joined(std::mem::take(&mut again.files), files.collect());
            again.git = said.git.or(again.git);
        }
        let mut told: HashSet<PathBuf> = HashSet::new();
        let mut calls: HashSet<(u32, &str)> = HashSet::new();
        for item in items {
            match &item.body {
                Body::User { text, origin: Origin::Program, .. } => {
                    told.extend(Said::read(text).files.into_iter().map(|(path, _)| root.join(path)));
                }
                Body::Tool(tool) => {
                    let ids = tool.inner.iter().map(|call| call.id.as_str()).chain([tool.call_id.as_str()]);
                    calls.extend(ids.map(|id| (item.turn, id)));
                }
                Body::User { .. } | Body::Assistant(_) | Body::Summary(_) | Body::Note { .. } => {}
            }
        }
        // A store that does not answer tells nothing: a file that is written is still asked about before.
        let mut changes = self.deps.store.changes(&self.session.id).await.unwrap_or_default();
        let is_told = |change: &FileChange| calls.contains(&(change.turn, change.call.as_str()));
        told.extend(changes.iter().filter(|change| is_told(change)).map(|change| change.path.clone()));
        changes.retain(|change| !told.contains(&change.path));
        let (blobs, ground) = (Blobs::new(self.deps.paths.history()), RestoreTarget::of(&self.deps.backends));
        let look = move || restore::undoing(&changes, &blobs, &ground).iter().filter_map(left).collect();
        again.changed = tokio::task::spawn_blocking(look).await.unwrap_or_default();
        again
    }
}

fn strange(root: &Path, path: &Path, fate: Fate) -> Strange {
    let fate = if let Fate::Renamed(old) = fate { Fate::Renamed(root.join(old)) } else { fate };
    Strange { path: root.join(path), fate, hash: None, ignored: false, unsure: false }
}

/// A file that is not as it was before the calls that changed it.
fn left(back: &Back) -> Option<Strange> {
    let now = back.now.state()?;
    let is_folder = [&back.target, &now].iter().any(|state| state.kind() == FOLDER);
    let fate = match (&back.target.hash, &now.hash) {
        _ if back.verdict == Verdict::Already || is_folder => return None,
        (_, None) => Fate::Removed,
        (None, Some(_)) => Fate::Created,
        (Some(_), Some(_)) => Fate::Modified,
    };
    Some(Strange { path: back.path.clone(), fate, hash: None, ignored: false, unsure: false })
}
