//! The states of a signing key (contract/http-queue.md, "Operations").

super::closed_words! {
    /// What a signing key is used for.
    pub enum KeyState ("state") {
        /// Minted and shown, signs only when activated.
        Staged => "staged",
        /// Signs every delivery; there is one.
        Signing => "signing",
        /// Signed before; receivers may still meet it.
        Verifying => "verifying",
    }
}
