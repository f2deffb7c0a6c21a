//! How values are written into columns, the same in both stores.

use chronq::contract::MessageState;
use chronq::publish::Callback;
use chronq::{Destination, Name};
use serde::de::DeserializeOwned;

use super::error::StoreError;
use super::types::Headers;

/// The number of a state. Those below [`ACTIVE`] wait for an attempt.
pub(crate) const fn state_code(state: MessageState) -> i16 {
    match state {
        MessageState::Created => 0,
        MessageState::Retry => 1,
        MessageState::Active => ACTIVE,
        MessageState::Completed => 3,
        MessageState::Cancelled => 4,
        MessageState::Failed => 5,
    }
}

pub(crate) const ACTIVE: i16 = 2;

pub(crate) fn state_of(code: i16) -> Result<MessageState, StoreError> {
    MessageState::ALL
        .iter()
        .copied()
        .find(|state| state_code(*state) == code)
        .ok_or_else(|| StoreError::Corrupt(format!("state {code}")))
}

pub(crate) fn json<T: serde::Serialize + ?Sized>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Internal(format!("cannot be stored: {error}")))
}

pub(crate) fn from_json<T: DeserializeOwned>(text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|error| StoreError::Corrupt(format!("stored JSON: {error}")))
}

pub(crate) fn optional_json<T: DeserializeOwned>(text: Option<&str>) -> Result<Option<T>, StoreError> {
    text.map(from_json).transpose()
}

pub(crate) fn headers_json(headers: &Headers) -> Result<String, StoreError> {
    if headers.is_empty() { Ok("[]".to_owned()) } else { json(headers) }
}

pub(crate) fn headers_of(text: &str) -> Result<Headers, StoreError> {
    if text == "[]" { Ok(Vec::new()) } else { from_json(text) }
}

pub(crate) fn labels_json(labels: &[String]) -> Result<Option<String>, StoreError> {
    if labels.is_empty() { Ok(None) } else { json(labels).map(Some) }
}

pub(crate) fn labels_of(text: Option<&str>) -> Result<Vec<String>, StoreError> {
    Ok(optional_json(text)?.unwrap_or_default())
}

pub(crate) fn callback_json(callback: Option<&Callback>) -> Result<Option<String>, StoreError> {
    callback.map(json).transpose()
}

pub(crate) fn destination_of(text: &str) -> Result<Destination, StoreError> {
    Destination::parse("url", text).map_err(|error| StoreError::Corrupt(error.to_string()))
}

pub(crate) fn name_of(text: &str) -> Result<Name, StoreError> {
    Name::parse("name", text).map_err(|error| StoreError::Corrupt(error.to_string()))
}

/// A word of a closed set.
pub(crate) fn word_of<T: std::str::FromStr<Err = chronq::contract::UnknownWord>>(
    text: &str,
) -> Result<T, StoreError> {
    text.parse().map_err(|error: chronq::contract::UnknownWord| StoreError::Corrupt(error.to_string()))
}

/// A number as the databases hold it.
pub(crate) fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// A number that was never negative.
pub(crate) fn unsigned(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

pub(crate) fn count_u32(value: i64) -> u32 {
    u32::try_from(value).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_has_a_number_of_its_own() {
        for state in MessageState::ALL {
            assert_eq!(state_of(state_code(*state)), Ok(*state));
        }
        assert!(state_of(6).is_err());
    }

    #[test]
    fn the_states_that_wait_are_below_active() {
        for state in MessageState::ALL {
            assert_eq!(state_code(*state) < ACTIVE, state.is_cancellable());
        }
    }
}
