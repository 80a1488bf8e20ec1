-- Durable state. Leases, sessions and waiters belong to the running process and are in no table. Instances have numbers
-- because their names are long and every other table refers to them. Times are milliseconds since 1970.
CREATE TABLE instance(
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    orchestration TEXT,            -- NULL: events came for this name, and no orchestration yet
    version TEXT,
    parent TEXT,
    current INTEGER NOT NULL,      -- the latest execution
    created INTEGER NOT NULL,
    custom_status TEXT,
    custom_version INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE execution(
    instance INTEGER NOT NULL,
    execution INTEGER NOT NULL,
    status TEXT NOT NULL,
    output TEXT,
    pinned TEXT,                   -- the version of duroxide that replays it
    started INTEGER NOT NULL,
    completed INTEGER,
    PRIMARY KEY (instance, execution)
) STRICT, WITHOUT ROWID;

-- One event per row, in duroxide's serialisation: the only format that later versions promise to read.
CREATE TABLE history(
    instance INTEGER NOT NULL,
    execution INTEGER NOT NULL,
    event INTEGER NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (instance, execution, event)
) STRICT, WITHOUT ROWID;

-- Rows are found by number only, because the schedule is in memory. So no index is needed.
CREATE TABLE message(
    id INTEGER PRIMARY KEY,
    visible INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    item TEXT NOT NULL
) STRICT;

CREATE TABLE work(
    id INTEGER PRIMARY KEY,
    visible INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    item TEXT NOT NULL
) STRICT;

-- Values left by ended executions.
CREATE TABLE settled_value(
    instance INTEGER NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    updated INTEGER NOT NULL,
    PRIMARY KEY (instance, key)
) STRICT, WITHOUT ROWID;

-- Changes by the current execution. NULL: cleared.
CREATE TABLE pending_value(
    instance INTEGER NOT NULL,
    key TEXT NOT NULL,
    value TEXT,
    updated INTEGER NOT NULL,
    PRIMARY KEY (instance, key)
) STRICT, WITHOUT ROWID;
