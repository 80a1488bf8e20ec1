-- What survives. Leases, sessions and who waits are the running process's own and in no table.
-- Instances are numbered: names are long, and every other table speaks of instances.
-- Times are milliseconds since 1970.
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

-- One event a row, as duroxide serialises it: its format is the only one that promises to be readable by later versions.
CREATE TABLE history(
    instance INTEGER NOT NULL,
    execution INTEGER NOT NULL,
    event INTEGER NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (instance, execution, event)
) STRICT, WITHOUT ROWID;

-- Found by number alone, for memory knows who waits for what: so there is no index to keep up.
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

-- What executions that ended have left ...
CREATE TABLE settled_value(
    instance INTEGER NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    updated INTEGER NOT NULL,
    PRIMARY KEY (instance, key)
) STRICT, WITHOUT ROWID;

-- ... and what the current one has set, or cleared (NULL).
CREATE TABLE pending_value(
    instance INTEGER NOT NULL,
    key TEXT NOT NULL,
    value TEXT,
    updated INTEGER NOT NULL,
    PRIMARY KEY (instance, key)
) STRICT, WITHOUT ROWID;
