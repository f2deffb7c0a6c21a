//! Rules of queues that both stores share.

use chronq::Name;
use chronq::queue::QueueSettings;

/// Whether dead letters of `name` under its new settings would come back to it. `dead_letters_of`
/// answers where another queue sends its own.
pub(crate) fn makes_a_cycle(
    name: &Name,
    settings: &QueueSettings,
    dead_letters_of: impl Fn(&Name) -> Option<Name>,
) -> bool {
    let mut seen = vec![name.clone()];
    let mut next = settings.dead_letter_queue.clone();
    while let Some(queue) = next {
        if seen.contains(&queue) {
            return true;
        }
        next = dead_letters_of(&queue);
        seen.push(queue);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Name {
        Name::parse("name", text).expect("name")
    }

    #[test]
    fn dead_letters_must_not_come_back() {
        let to = |target: &str| QueueSettings {
            dead_letter_queue: Some(name(target)),
            ..QueueSettings::default()
        };
        let chain = |queue: &Name| (queue.as_str() == "b").then(|| name("c"));
        assert!(makes_a_cycle(&name("a"), &to("a"), chain));
        assert!(makes_a_cycle(&name("c"), &to("b"), chain));
        assert!(!makes_a_cycle(&name("a"), &to("b"), chain));
        assert!(!makes_a_cycle(&name("a"), &QueueSettings::default(), chain));
    }
}
