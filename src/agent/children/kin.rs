//! Who else works on the files of a session: its parent, its siblings, its children.

use super::{ChildOf, Family};
use crate::lock::lock;
use crate::protocol::SessionId;
use crate::tools::children::Kin;
use std::sync::Arc;

/// The relatives of a session that may write where it does.
pub struct Relatives {
    above: Option<Arc<Family>>,
    below: Option<Arc<Family>>,
}

impl Relatives {
    /// All of them, those that have ended as well: who changed a file is asked later, too.
    pub fn all(child: Option<&ChildOf>, below: Option<&Arc<Family>>) -> Self {
        Self { above: child.map(|child| Arc::clone(&child.family)), below: below.cloned() }
    }

    /// `None`: it has neither a parent nor a child that works.
    pub fn of(child: Option<&ChildOf>, below: Option<&Arc<Family>>) -> Option<Self> {
        let above = child.map(|child| Arc::clone(&child.family));
        let below = below.filter(|family| !family.working().is_empty()).cloned();
        (above.is_some() || below.is_some()).then_some(Self { above, below })
    }
}

impl Family {
    fn name_of(&self, session: &SessionId) -> Option<String> {
        let kin = lock(&self.kin);
        kin.iter().find(|child| child.row.session.as_ref() == Some(session)).map(|child| child.row.name.clone())
    }
}

impl Kin for Relatives {
    fn called(&self, session: &SessionId) -> Option<String> {
        if self.parent().as_ref() == Some(session) {
            return Some("your parent".into());
        }
        let families = self.below.iter().chain(&self.above);
        families.into_iter().find_map(|family| family.name_of(session))
    }

    fn parent(&self) -> Option<SessionId> {
        self.above.as_ref().map(|family| family.parent.id.clone())
    }
}
