//! URL groups.

use chronq::{Destination, Name};

use super::UnixMillis;

/// A named set of endpoints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its name.
    pub name: Name,
    /// When it was made.
    pub created_at: UnixMillis,
    /// When its endpoints last changed.
    pub updated_at: UnixMillis,
    /// Its endpoints, in the order in which they were added.
    pub endpoints: Vec<Destination>,
}

/// What became of an addition to a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupAddition {
    /// The group as it is now; a known endpoint was kept.
    Group(Group),
    /// It would hold more than `limits::MAX_GROUP_ENDPOINTS`: nothing was written.
    Full,
}
