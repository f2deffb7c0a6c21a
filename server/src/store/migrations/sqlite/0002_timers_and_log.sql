-- Queues of the log. A timer names its queue before the queue exists: such a row has no created_us
-- yet, and is not there for anybody who asks.
CREATE TABLE log_queues (
    id INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    created_us INTEGER,
    encrypts INTEGER NOT NULL DEFAULT 0,
    retention_s INTEGER NOT NULL DEFAULT 0,
    lease_s INTEGER NOT NULL DEFAULT 300,
    retry_limit INTEGER NOT NULL DEFAULT 3,
    UNIQUE (tenant, name)
) STRICT;

CREATE TABLE log_partitions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    queue_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    next_offset INTEGER NOT NULL DEFAULT 0,
    UNIQUE (queue_id, name)
) STRICT;

-- position = partition_id << 40 | offset: one tree holds the frames of a partition side by side.
CREATE TABLE log_frames (
    position INTEGER PRIMARY KEY,
    queue_id INTEGER NOT NULL,
    txn TEXT NOT NULL,
    message_id BLOB NOT NULL,
    packing INTEGER NOT NULL,
    producer TEXT,
    created_us INTEGER NOT NULL,
    payload BLOB NOT NULL
) STRICT;
CREATE INDEX log_frames_txn ON log_frames (queue_id, txn);

CREATE TABLE log_groups (
    queue_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    created_us INTEGER NOT NULL,
    PRIMARY KEY (queue_id, name)
) STRICT, WITHOUT ROWID;

-- Where a group stands in a partition, and the lease under which it holds frames [lease_from, lease_to).
CREATE TABLE log_cursors (
    partition_id INTEGER NOT NULL,
    consumer_group TEXT NOT NULL,
    next_offset INTEGER NOT NULL DEFAULT 0,
    popped_us INTEGER NOT NULL DEFAULT 0,
    lease BLOB,
    lease_until_us INTEGER,
    lease_from INTEGER,
    lease_to INTEGER,
    PRIMARY KEY (partition_id, consumer_group)
) STRICT, WITHOUT ROWID;
CREATE INDEX log_cursors_lease ON log_cursors (lease) WHERE lease IS NOT NULL;

-- Frames at or after the cursor that are settled, or have failed before.
CREATE TABLE log_settled (
    partition_id INTEGER NOT NULL,
    consumer_group TEXT NOT NULL,
    frame_offset INTEGER NOT NULL,
    done INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    lease BLOB,
    PRIMARY KEY (partition_id, consumer_group, frame_offset)
) STRICT, WITHOUT ROWID;

CREATE TABLE log_dead_letters (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    queue_id INTEGER NOT NULL,
    consumer_group TEXT NOT NULL,
    partition TEXT NOT NULL,
    partition_id INTEGER NOT NULL,
    frame_offset INTEGER NOT NULL,
    txn TEXT NOT NULL,
    message_id BLOB NOT NULL,
    packing INTEGER NOT NULL,
    producer TEXT,
    created_us INTEGER NOT NULL,
    payload BLOB NOT NULL,
    error TEXT,
    attempts INTEGER NOT NULL,
    failed_us INTEGER NOT NULL
) STRICT;
CREATE INDEX log_dead_letters_queue ON log_dead_letters (queue_id, id);

-- due_us is what the caller was promised, next_us when the next fire is tried. Only a coarse bucket of
-- next_us is indexed: an index on the exact instant costs most of the insert rate at a million timers.
CREATE TABLE timers (
    id INTEGER PRIMARY KEY,
    queue_id INTEGER NOT NULL,
    timer_key TEXT NOT NULL,
    bucket INTEGER NOT NULL,
    next_us INTEGER NOT NULL,
    due_us INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    packing INTEGER NOT NULL,
    message_id BLOB NOT NULL,
    created_us INTEGER NOT NULL,
    updated_us INTEGER NOT NULL,
    partition TEXT NOT NULL,
    txn TEXT NOT NULL,
    producer TEXT,
    last_error TEXT,
    payload BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX timers_identity ON timers (queue_id, timer_key);
CREATE INDEX timers_bucket ON timers (bucket);

CREATE TABLE timer_counts (
    tenant TEXT PRIMARY KEY,
    pending INTEGER NOT NULL,
    metered INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE timer_switches (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    schedule INTEGER NOT NULL,
    fire INTEGER NOT NULL
) STRICT;

CREATE TABLE tenants (
    name TEXT PRIMARY KEY,
    quota TEXT NOT NULL
) STRICT, WITHOUT ROWID;
