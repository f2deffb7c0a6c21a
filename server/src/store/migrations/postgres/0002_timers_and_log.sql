-- Queues of the log. A timer names its queue before the queue exists: such a row has no created_us
-- yet, and is not there for anybody who asks.
CREATE TABLE log_queues (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    created_us BIGINT,
    encrypts BOOLEAN NOT NULL DEFAULT false,
    retention_s BIGINT NOT NULL DEFAULT 0,
    lease_s BIGINT NOT NULL DEFAULT 300,
    retry_limit INT NOT NULL DEFAULT 3,
    UNIQUE (tenant, name)
);

CREATE TABLE log_partitions (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    queue_id BIGINT NOT NULL,
    name TEXT NOT NULL,
    next_offset BIGINT NOT NULL DEFAULT 0,
    UNIQUE (queue_id, name)
) WITH (fillfactor = 70);

CREATE TABLE log_frames (
    partition_id BIGINT NOT NULL,
    frame_offset BIGINT NOT NULL,
    queue_id BIGINT NOT NULL,
    created_us BIGINT NOT NULL,
    message_id UUID NOT NULL,
    packing INT NOT NULL,
    txn TEXT NOT NULL,
    producer TEXT,
    payload BYTEA NOT NULL,
    PRIMARY KEY (partition_id, frame_offset)
);
CREATE INDEX log_frames_txn ON log_frames (queue_id, txn);

CREATE TABLE log_groups (
    queue_id BIGINT NOT NULL,
    name TEXT NOT NULL,
    created_us BIGINT NOT NULL,
    PRIMARY KEY (queue_id, name)
);

-- Where a group stands in a partition, and the lease under which it holds frames [lease_from, lease_to).
CREATE TABLE log_cursors (
    partition_id BIGINT NOT NULL,
    consumer_group TEXT NOT NULL,
    next_offset BIGINT NOT NULL DEFAULT 0,
    popped_us BIGINT NOT NULL DEFAULT 0,
    lease UUID,
    lease_until_us BIGINT,
    lease_from BIGINT,
    lease_to BIGINT,
    PRIMARY KEY (partition_id, consumer_group)
) WITH (fillfactor = 70);
CREATE INDEX log_cursors_lease ON log_cursors (lease) WHERE lease IS NOT NULL;

-- Frames at or after the cursor that are settled, or have failed before.
CREATE TABLE log_settled (
    partition_id BIGINT NOT NULL,
    consumer_group TEXT NOT NULL,
    frame_offset BIGINT NOT NULL,
    done BOOLEAN NOT NULL,
    attempts INT NOT NULL,
    lease UUID,
    PRIMARY KEY (partition_id, consumer_group, frame_offset)
);

CREATE TABLE log_dead_letters (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    queue_id BIGINT NOT NULL,
    consumer_group TEXT NOT NULL,
    partition TEXT NOT NULL,
    partition_id BIGINT NOT NULL,
    frame_offset BIGINT NOT NULL,
    txn TEXT NOT NULL,
    message_id UUID NOT NULL,
    packing INT NOT NULL,
    producer TEXT,
    created_us BIGINT NOT NULL,
    payload BYTEA NOT NULL,
    error TEXT,
    attempts INT NOT NULL,
    failed_us BIGINT NOT NULL
);
CREATE INDEX log_dead_letters_queue ON log_dead_letters (queue_id, id);

-- due_us is what the caller was promised, next_us when the next fire is tried. Narrow: a claim changes
-- two columns in place, and payloads have a table of their own.
CREATE SEQUENCE timers_seq;
CREATE TABLE timers (
    id BIGINT PRIMARY KEY,
    queue_id BIGINT NOT NULL,
    next_us BIGINT NOT NULL,
    due_us BIGINT NOT NULL,
    claimed_until_us BIGINT,
    claim UUID,
    message_id UUID NOT NULL,
    created_us BIGINT NOT NULL,
    updated_us BIGINT NOT NULL,
    attempts INT NOT NULL DEFAULT 0,
    packing INT NOT NULL,
    timer_key TEXT COLLATE "C" NOT NULL,
    partition TEXT NOT NULL,
    txn TEXT NOT NULL,
    producer TEXT,
    last_error TEXT,
    UNIQUE (queue_id, timer_key)
) WITH (fillfactor = 80);
CREATE INDEX timers_next ON timers (next_us, id);

CREATE TABLE timer_payloads (
    timer_id BIGINT PRIMARY KEY,
    payload BYTEA NOT NULL
);

-- Several rows per tenant, so that calls of one tenant do not wait for each other's commit.
CREATE TABLE timer_counts (
    tenant TEXT NOT NULL,
    shard INT NOT NULL,
    pending BIGINT NOT NULL,
    metered BIGINT NOT NULL,
    PRIMARY KEY (tenant, shard)
) WITH (fillfactor = 50);

CREATE TABLE timer_switches (
    id INT PRIMARY KEY CHECK (id = 1),
    schedule BOOLEAN NOT NULL,
    fire BOOLEAN NOT NULL
);

CREATE TABLE tenants (
    name TEXT PRIMARY KEY,
    quota TEXT NOT NULL
);
