//! The access levels of a token (contract/http-queue.md, "Operations").

super::closed_words! {
    /// What a token may do. The publish token is read-write.
    pub enum AccessLevel ("level") {
        /// Lookups only.
        ReadOnly => "read-only",
        /// Publishes and schedules, no lookups.
        WriteOnly => "write-only",
        /// Both.
        ReadWrite => "read-write",
        /// Everything, tokens and keys included.
        Admin => "admin",
    }
}

impl AccessLevel {
    /// Whether a lookup is allowed.
    pub const fn can_read(self) -> bool {
        !matches!(self, Self::WriteOnly)
    }

    /// Whether a change is allowed.
    pub const fn can_write(self) -> bool {
        !matches!(self, Self::ReadOnly)
    }
}
