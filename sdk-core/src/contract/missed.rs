//! What becomes of a schedule's runs that came due while nothing ran (contract/http-queue.md, "Schedules").

super::closed_words! {
    /// Policy for missed runs.
    #[derive(Default)]
    pub enum Missed ("missed") {
        /// None of them is made up for; the default.
        #[default]
        Skip => "skip",
        /// One catch-up run stands for all of them.
        Once => "once",
    }
}
