-- Tables of duroxide's own SQLite provider, as its migrations leave them: the same columns in the same order, the same
-- indexes. Columns of type TIMESTAMP without a note hold UTC as text; all other times are milliseconds since 1970.
CREATE TABLE _sqlx_migrations(
    version BIGINT PRIMARY KEY,
    description TEXT NOT NULL,
    installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    success BOOLEAN NOT NULL,
    checksum BLOB NOT NULL,
    execution_time BIGINT NOT NULL
);

-- The checksum is the SHA-384 of the migration's SQL. The provider applies no migration of this list again, and none at
-- all to a file with another checksum.
INSERT INTO _sqlx_migrations(version, description, success, checksum, execution_time) VALUES
    (20240101000000, 'initial schema', TRUE,
     X'e895b04735fc88843bf88c1fd038a4073c789da7a74be5e1a77edd3ad38a832b158761f5a11410a7cf6ccb49808da9ba', 0),
    (20240102000000, 'add attempt count', TRUE,
     X'a1af64e4a4211fa289189a141ff453f875d6468f72e0680acc54518f006368bda3e877de040b75a9693cffa24c280008', 0),
    (20240103000000, 'add worker visible at', TRUE,
     X'01cfc0a852726929f1f7223fa9cccf1584b34525fb49b6db60210f143ea9923edbf9b407958e01989fc00ee4415f6419', 0),
    (20240104000000, 'add worker activity identity', TRUE,
     X'25fafc591102bd90cf724c5d6f2855113f9118880b7b7fb5dd7210e4086fde7021f55a2ea7141d478363c78504cd123b', 0),
    (20240105000000, 'add parent instance id', TRUE,
     X'621cfad15d7fece832b660b57185bfdb753ad03561c91367897dfdc148e48ebf34ff6578bbcd6d3f139e9505bfa5eea9', 0),
    (20240106000000, 'add pinned version', TRUE,
     X'13f4c421eda183f3e3f1ce807e211727e2bee2149c38efe07f5cc12055b3e75a054900f15287295b51d7f8a29c807c00', 0),
    (20240107000000, 'add sessions', TRUE,
     X'f0ad65793a65a6d56feee893f24975a1b989817cc5de694f66ef7896abd6dd508b7a33f0e6bfc34abd7f95945e0f0ec1', 0),
    (20240108000000, 'add custom status', TRUE,
     X'5a715bcad01ce5a1cafa01ba5ac66ec28e3a9e7388ec99dc239f54c189748ebc4ee2c1f0dda132051839bacd070bfd2b', 0),
    (20240109000000, 'add activity tags', TRUE,
     X'90e079aa69023acf1f4f08f5cdfcfc20ad2dd08573486eb10259c6bd8543b09b65cc8a05b1bcdd170cac73715cc56384', 0),
    (20240110000000, 'add kv store', TRUE,
     X'b02718981675751d3e7fe23714483c837df6b44ffc7c7ec83abc3f7563adf3dca8427569ba0f07e7027ba16e82276985', 0),
    (20240111000000, 'add kv last updated', TRUE,
     X'3f003c0cf9ea6f0fd8eae9e8764aee547b1368d77b6fe88cf5cd63a8e1e3e00264b55c1f7de23108018585c1f53c4390', 0),
    (20240112000000, 'add kv delta', TRUE,
     X'fa25f50c9660870e43ccfe64e019fec5ab5fc92a608378a249cbc614cfc8499b00bb940fcbb31dff96850fe6c0fda9b4', 0);

CREATE TABLE instances(
    instance_id TEXT PRIMARY KEY,
    orchestration_name TEXT NOT NULL,
    orchestration_version TEXT NOT NULL,
    current_execution_id INTEGER NOT NULL DEFAULT 1,
    created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
    updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
    parent_instance_id TEXT REFERENCES instances(instance_id),
    custom_status TEXT,
    custom_status_version INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX idx_instances_parent ON instances(parent_instance_id);

CREATE TABLE executions(
    instance_id TEXT NOT NULL,
    execution_id INTEGER NOT NULL,
    status TEXT NOT NULL DEFAULT 'Running',
    output TEXT,
    started_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
    completed_at TIMESTAMP,        -- milliseconds
    duroxide_version_major INTEGER,
    duroxide_version_minor INTEGER,
    duroxide_version_patch INTEGER,
    PRIMARY KEY (instance_id, execution_id)
);

CREATE TABLE history(
    instance_id TEXT NOT NULL,
    execution_id INTEGER NOT NULL,
    event_id INTEGER NOT NULL,
    event_type TEXT NOT NULL,
    event_data TEXT NOT NULL,
    created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
    PRIMARY KEY (instance_id, execution_id, event_id)
);

CREATE TABLE orchestrator_queue(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    instance_id TEXT NOT NULL,
    work_item TEXT NOT NULL,
    visible_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, -- milliseconds
    lock_token TEXT,
    locked_until TIMESTAMP,        -- milliseconds
    created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
    attempt_count INTEGER NOT NULL DEFAULT 0 CHECK(attempt_count >= 0)
);
CREATE INDEX idx_orch_visible ON orchestrator_queue(visible_at, lock_token);
CREATE INDEX idx_orch_instance ON orchestrator_queue(instance_id);
CREATE INDEX idx_orch_lock ON orchestrator_queue(lock_token);

CREATE TABLE worker_queue(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    work_item TEXT NOT NULL,
    lock_token TEXT,
    locked_until TIMESTAMP,        -- milliseconds
    created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
    attempt_count INTEGER NOT NULL DEFAULT 0 CHECK(attempt_count >= 0),
    visible_at INTEGER NOT NULL DEFAULT 0,
    instance_id TEXT,
    execution_id INTEGER,
    activity_id INTEGER,
    session_id TEXT,
    tag TEXT
);
CREATE INDEX idx_worker_available ON worker_queue(lock_token, id);
CREATE INDEX idx_worker_activity ON worker_queue(instance_id, execution_id, activity_id);
CREATE INDEX idx_worker_queue_session ON worker_queue(session_id);
CREATE INDEX idx_worker_queue_tag ON worker_queue(tag);

-- No longer used by the provider.
CREATE TABLE timer_queue(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    work_item TEXT NOT NULL,
    fire_at TIMESTAMP NOT NULL,
    lock_token TEXT,
    locked_until TIMESTAMP,
    created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP
);
CREATE INDEX idx_timer_fire ON timer_queue(fire_at, lock_token);

-- Leases, which end with a transfer.
CREATE TABLE instance_locks(
    instance_id TEXT PRIMARY KEY,
    lock_token TEXT NOT NULL,
    locked_until INTEGER NOT NULL,
    locked_at INTEGER NOT NULL
);
CREATE TABLE sessions(
    session_id TEXT PRIMARY KEY,
    worker_id TEXT NOT NULL,
    locked_until INTEGER NOT NULL,
    last_activity_at INTEGER NOT NULL
);

-- Values left by ended executions, and changes by the current one. NULL: cleared.
CREATE TABLE kv_store(
    instance_id TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    last_updated_at_ms INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (instance_id, key)
);
CREATE TABLE kv_delta(
    instance_id TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT,
    last_updated_at_ms INTEGER NOT NULL,
    PRIMARY KEY (instance_id, key)
);
