//! The closed status taxonomy of timers (seed "Timer routes", "The closed `status` taxonomy").

super::closed_words! {
    /// What became of one timer operation. Closed, because a client writes a `match` over it.
    pub enum TimerStatus ("status") {
        /// The timer did not exist and now does.
        Scheduled => "scheduled",
        /// It existed and has been replaced.
        Rescheduled => "rescheduled",
        /// It existed, was not claimed, and is gone.
        Cancelled => "cancelled",
        /// No row: no longer pending, maybe already delivered. The log is the authority.
        Absent => "absent",
        /// A live lease: it is about to be delivered.
        TooLate => "too_late",
    }
}

impl TimerStatus {
    /// The `ok` that goes with the status on the wire.
    pub const fn ok(self) -> bool {
        match self {
            Self::Scheduled | Self::Rescheduled | Self::Cancelled => true,
            Self::Absent | Self::TooLate => false,
        }
    }
}
