//! Which signing key produced a signature (contract/signature.md, "Verification", the answer).

super::closed_words! {
    /// The key that matched, by the argument it was given in; which of the two is newer makes no difference.
    pub enum KeyMatch ("key") {
        /// The current signing key.
        Current => "current",
        /// The next signing key.
        Next => "next",
    }
}
