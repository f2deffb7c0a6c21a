//! Publishing.
