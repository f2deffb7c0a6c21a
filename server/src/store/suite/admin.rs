//! Tokens, signing keys, settings.

use chronq::Secret;
use chronq::contract::{AccessLevel, KeyState};

use super::*;
use crate::store::types::admin::{KeyActivation, KeyStaging, NewToken, Setting, TokenKind};

fn token(label: &str, byte: u8) -> NewToken {
    NewToken {
        name: label.to_owned(),
        level: AccessLevel::WriteOnly,
        tenant: "default".to_owned(),
        hash: [byte; 32],
        last_four: "fake".to_owned(),
    }
}

pub(crate) async fn a_token_is_stored_listed_touched_and_revoked(store: Fresh) {
    let made = store.put_token(TokenKind::Named, token("billing", 1)).await.expect("stores");
    assert_eq!((made.level, made.hash, made.last_used_at), (AccessLevel::WriteOnly, [1; 32], None));
    assert_eq!(store.tokens().await.expect("lists"), std::slice::from_ref(&made));
    store.touch_tokens(vec![(made.id, 120_000)]).await.expect("touches");
    store.touch_tokens(vec![(made.id, 60_000)]).await.expect("touches");
    assert_eq!(store.tokens().await.expect("lists")[0].last_used_at, Some(120_000));
    assert!(store.revoke_token(made.id).await.expect("revokes"));
    assert!(!store.revoke_token(made.id).await.expect("answers"));
    assert_eq!(store.tokens().await.expect("lists"), []);
}

pub(crate) async fn a_new_publish_token_replaces_the_old_one(store: Fresh) {
    let named = store.put_token(TokenKind::Named, token("billing", 1)).await.expect("stores");
    store.put_token(TokenKind::Publish, token("publish", 2)).await.expect("stores");
    let second = store.put_token(TokenKind::Publish, token("publish", 3)).await.expect("stores");
    assert_eq!(store.tokens().await.expect("lists"), [named, second]);
}

pub(crate) async fn a_rotated_key_signs_and_the_old_one_verifies(store: Fresh) {
    let first = store.rotate_signing_key(Secret::new("fake-key-one")).await.expect("rotates");
    assert_eq!((first.state, first.key.expose()), (KeyState::Signing, "fake-key-one"));
    let second = store.rotate_signing_key(Secret::new("fake-key-two")).await.expect("rotates");
    let keys = store.signing_keys().await.expect("lists");
    let states: Vec<_> = keys.iter().map(|key| (key.id, key.state)).collect();
    assert_eq!(states, [(second.id, KeyState::Signing), (first.id, KeyState::Verifying)]);
}

pub(crate) async fn a_staged_key_signs_when_it_is_activated(store: Fresh) {
    let first = store.rotate_signing_key(Secret::new("fake-key-one")).await.expect("rotates");
    assert_eq!(store.activate_signing_key().await.expect("answers"), KeyActivation::NothingStaged);
    let staged = store.stage_signing_key(Secret::new("fake-key-two")).await.expect("stages");
    let KeyStaging::Staged(staged) = staged else { panic!("{staged:?}") };
    assert_eq!((staged.state, staged.activated_at), (KeyState::Staged, None));
    let twice = store.stage_signing_key(Secret::new("fake-key-three")).await.expect("answers");
    assert_eq!(twice, KeyStaging::AlreadyStaged);
    assert_eq!(store.signing_keys().await.expect("lists")[1].state, KeyState::Signing);
    let activated = store.activate_signing_key().await.expect("activates");
    assert!(matches!(activated, KeyActivation::Activated(key) if key.id == staged.id));
    let keys = store.signing_keys().await.expect("lists");
    let states: Vec<_> = keys.iter().map(|key| (key.id, key.state)).collect();
    assert_eq!(states, [(staged.id, KeyState::Signing), (first.id, KeyState::Verifying)]);
}

pub(crate) async fn pruning_keeps_what_signs_and_what_is_staged(store: Fresh) {
    store.rotate_signing_key(Secret::new("fake-key-one")).await.expect("rotates");
    let signing = store.rotate_signing_key(Secret::new("fake-key-two")).await.expect("rotates");
    store.stage_signing_key(Secret::new("fake-key-three")).await.expect("stages");
    assert_eq!(store.prune_signing_keys().await.expect("prunes"), 1);
    let keys = store.signing_keys().await.expect("lists");
    assert_eq!(keys.iter().map(|key| key.state).collect::<Vec<_>>(), [KeyState::Staged, KeyState::Signing]);
    assert_eq!(keys[1].id, signing.id);
}

pub(crate) async fn the_first_value_of_a_setting_wins(store: Fresh) {
    assert_eq!(store.setting(Setting::TokenHashKey).await.expect("reads"), None);
    let first = store.init_setting(Setting::TokenHashKey, b"one".to_vec()).await.expect("writes");
    let second = store.init_setting(Setting::TokenHashKey, b"two".to_vec()).await.expect("answers");
    assert_eq!((first.as_slice(), second.as_slice()), (b"one".as_slice(), b"one".as_slice()));
    store.put_setting(Setting::TokenHashKey, b"three".to_vec()).await.expect("writes");
    assert_eq!(store.setting(Setting::TokenHashKey).await.expect("reads"), Some(b"three".to_vec()));
    assert_eq!(store.setting(Setting::FirstStart).await.expect("reads"), None);
}
