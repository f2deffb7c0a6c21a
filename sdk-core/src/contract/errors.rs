//! Codes that an error answer carries, and the codes of an SDK's errors.

super::closed_words! {
    /// `code` of an error in every SDK: what went wrong, in one word. The timer routes send theirs
    /// as `error` (contract/timers.md, "Validation"); the others follow from the status.
    pub enum ErrorCode ("code") {
        /// Refused before the network, or 400 by the queue's routes.
        InvalidInput => "invalid_input",
        /// 400 by the timer routes; `reason` has the finer word.
        TimersBadRequest => "timers_bad_request",
        /// 401.
        Unauthorized => "unauthorized",
        /// 403: the token's level is too low.
        Forbidden => "forbidden",
        /// 403: beyond the horizon in force.
        TimerHorizonExceeded => "timer_horizon_exceeded",
        /// 403: the pending-timer quota is exhausted.
        TimersQuotaExceeded => "timers_quota_exceeded",
        /// 403: not on the plan.
        FeatureGated => "feature_gated",
        /// 404.
        NotFound => "not_found",
        /// 409; `state` says what stands in the way.
        Conflict => "conflict",
        /// 409: a dead letter of the timers has no group to be replayed into.
        DlqNotReplayable => "dlq_not_replayable",
        /// 413.
        PayloadTooLarge => "payload_too_large",
        /// 429, with `Retry-After`.
        RateLimited => "rate_limited",
        /// 503: an operator paused scheduling.
        TimersDisabled => "timers_disabled",
        /// 503: the timer store is in trouble.
        TimersUnavailable => "timers_unavailable",
        /// 5xx of the other routes.
        Unavailable => "unavailable",
        /// No answer: connection, DNS, TLS, timeout.
        Transport => "transport",
        /// An answer that the contract does not know.
        Protocol => "protocol",
    }
}

super::closed_words! {
    /// The finer word of a refused timer call (contract/timers.md, "Validation"), in the order of the checks.
    pub enum TimerReason ("reason") {
        /// Not JSON, or neither an array nor an object with `operations`.
        BadBody => "timers_bad_body",
        /// More than 256 operations.
        TooManyOps => "timers_too_many_ops",
        /// Not an object, or `op` not one of the three.
        BadOp => "timers_bad_op",
        /// A field that the server owns.
        ServerOwnedField => "timers_server_owned_field",
        /// Queue missing, empty, not a string, too long or with NUL.
        QueueRequired => "timers_queue_required",
        /// Timer key likewise.
        KeyRequired => "timers_key_required",
        /// Partition present and empty, not a string or too long.
        BadPartition => "timers_bad_partition",
        /// delayMs missing or not a number.
        DelayRequired => "timers_delay_required",
        /// delayMs beyond the horizon in force.
        Horizon => "timers_horizon",
        /// txn missing, empty or too long.
        TxnRequired => "timers_txn_required",
        /// payload missing or not a string.
        PayloadRequired => "timers_payload_required",
        /// payload not standard padded base64.
        PayloadNotBase64 => "timers_payload_not_base64",
        /// payload not a zstd frame although it says so.
        PayloadNotZstd => "timers_payload_not_zstd",
        /// payload too large, packed or unpacked.
        PayloadTooLarge => "timers_payload_too_large",
        /// `encrypted` given although the queue encrypts at rest.
        EncryptedConflict => "timers_encrypted_conflict",
        /// The same (queue, timerKey) twice.
        DuplicateKey => "timers_duplicate_key",
    }
}
