-- A queue's number is its identity: one that is deleted and made anew does not inherit messages.
CREATE TABLE queues (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    settings TEXT NOT NULL,
    created_at INTEGER,
    updated_at INTEGER
) STRICT;
INSERT INTO queues (id, name, settings) VALUES (1, 'default', '{}');

-- Queues whose messages are still to be deleted.
CREATE TABLE deleted_queues (id INTEGER PRIMARY KEY) STRICT;

-- Narrow rows: what changes, and what is searched. State: 0 created, 1 retry, 2 active, 3 completed,
-- 4 cancelled, 5 failed.
CREATE TABLE messages (
    seq INTEGER PRIMARY KEY,
    id BLOB NOT NULL,
    queue INTEGER NOT NULL,
    state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 5),
    due_at INTEGER NOT NULL,
    due_bucket INTEGER,
    claim INTEGER NOT NULL DEFAULT 0,
    lease_until INTEGER,
    retried INTEGER NOT NULL DEFAULT 0,
    max_retries INTEGER NOT NULL,
    timeout_ms INTEGER NOT NULL,
    retry_delay_ms INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    started_at INTEGER,
    finished_at INTEGER,
    duration_ms INTEGER,
    schedule TEXT,
    dead_letter_of BLOB
) STRICT;
CREATE UNIQUE INDEX messages_id ON messages (id);
CREATE INDEX messages_queue ON messages (queue);
-- A row is in at most one of the next three. The bucket is coarse (an hour): an exact instant costs
-- most of the insert rate once a million random ones are pending; the near ones are exact in memory.
CREATE INDEX messages_due ON messages (due_bucket, queue) WHERE due_bucket IS NOT NULL;
CREATE INDEX messages_lease ON messages (lease_until) WHERE lease_until IS NOT NULL;
CREATE INDEX messages_finished ON messages (queue, finished_at, state, duration_ms) WHERE finished_at IS NOT NULL;
CREATE INDEX messages_schedule ON messages (schedule) WHERE schedule IS NOT NULL;

-- Written once, read at most once per attempt, apart from the rows that change.
CREATE TABLE contents (
    seq INTEGER PRIMARY KEY,
    method TEXT NOT NULL,
    url TEXT NOT NULL,
    headers TEXT NOT NULL,
    labels TEXT,
    callback TEXT,
    failure_callback TEXT,
    body BLOB NOT NULL
) STRICT;

-- The last attempt's outcome.
CREATE TABLE responses (
    seq INTEGER PRIMARY KEY,
    status INTEGER NOT NULL,
    headers TEXT NOT NULL,
    body BLOB NOT NULL,
    truncated INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE message_labels (
    label TEXT NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (label, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX message_labels_seq ON message_labels (seq);

CREATE TABLE deduplications (
    key BLOB PRIMARY KEY,
    message_id BLOB NOT NULL,
    queue TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX deduplications_created_at ON deduplications (created_at);

CREATE TABLE url_groups (
    name TEXT PRIMARY KEY,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE TABLE url_group_endpoints (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    group_name TEXT NOT NULL,
    url TEXT NOT NULL,
    UNIQUE (group_name, url)
) STRICT;

-- queue is null where the schedule has its own, called as the schedule.
CREATE TABLE schedules (
    name TEXT PRIMARY KEY,
    expression TEXT NOT NULL,
    timezone TEXT NOT NULL,
    missed TEXT NOT NULL CHECK (missed IN ('skip', 'once')),
    url TEXT NOT NULL,
    method TEXT NOT NULL,
    headers TEXT NOT NULL,
    body BLOB NOT NULL,
    timeout_ms INTEGER NOT NULL,
    queue TEXT,
    failure_callback TEXT,
    enabled INTEGER NOT NULL,
    description TEXT,
    next_run INTEGER,
    last_run INTEGER,
    claim INTEGER NOT NULL DEFAULT 0,
    lease_until INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

-- Tokens are stored as keyed hashes: a dump holds no usable one.
CREATE TABLE tokens (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id BLOB NOT NULL UNIQUE,
    kind TEXT NOT NULL CHECK (kind IN ('publish', 'named')),
    name TEXT NOT NULL,
    level TEXT NOT NULL,
    tenant TEXT NOT NULL,
    hash BLOB NOT NULL UNIQUE,
    last_four TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER
) STRICT;

CREATE TABLE signing_keys (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id BLOB NOT NULL UNIQUE,
    state TEXT NOT NULL CHECK (state IN ('staged', 'signing', 'verifying')),
    key TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    activated_at INTEGER
) STRICT;

CREATE TABLE settings (
    name TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT;
