//! The schema's versions: the same numbers for both databases, each step one transaction.

/// One step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Migration {
    /// Its number; they count from 1 without gaps.
    pub(crate) version: i64,
    /// What it does.
    pub(crate) sql: &'static str,
}

/// The steps of the embedded store.
pub(crate) const SQLITE: &[Migration] = &[
    Migration { version: 1, sql: include_str!("sqlite/0001_queue.sql") },
    Migration { version: 2, sql: include_str!("sqlite/0002_timers_and_log.sql") },
];

/// The steps of Postgres.
pub(crate) const POSTGRES: &[Migration] = &[
    Migration { version: 1, sql: include_str!("postgres/0001_queue.sql") },
    Migration { version: 2, sql: include_str!("postgres/0002_timers_and_log.sql") },
];

/// The newest version that this program knows.
pub(crate) fn known(migrations: &[Migration]) -> i64 {
    migrations.last().map_or(0, |migration| migration.version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_databases_have_the_same_numbers_without_gaps() {
        let numbers = |migrations: &[Migration]| migrations.iter().map(|m| m.version).collect::<Vec<_>>();
        assert_eq!(numbers(SQLITE), numbers(POSTGRES));
        assert_eq!(numbers(SQLITE), (1..=known(SQLITE)).collect::<Vec<_>>());
    }
}
