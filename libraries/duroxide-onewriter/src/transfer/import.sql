-- From `source`, a file of duroxide's own provider, into the empty tables of this crate. Leases are not taken over.
-- Numbers of instances ascend in the order of creation.
INSERT INTO instance(id, name, orchestration, version, parent, current, created, custom_status, custom_version)
SELECT row_number() OVER (ORDER BY created, place), instance_id, orchestration_name, orchestration_version,
       parent_instance_id, current_execution_id, created, custom_status, custom_status_version
FROM (SELECT *, rowid AS place, coalesce(iif(typeof(created_at) = 'integer', created_at,
                 CAST(round((julianday(created_at) - 2440587.5) * 86400000) AS INTEGER)), 0) AS created
      FROM source.instances);

-- Names that have received events, and no orchestration yet.
INSERT INTO instance(name, current, created)
SELECT name, coalesce((SELECT max(execution_id) FROM source.executions WHERE instance_id = name), 1), 0
FROM (SELECT instance_id AS name FROM source.executions UNION SELECT instance_id FROM source.history
      UNION SELECT instance_id FROM source.kv_store UNION SELECT instance_id FROM source.kv_delta
      EXCEPT SELECT instance_id FROM source.instances);

-- `CROSS JOIN`: rows are read in the order of the target's key.
INSERT INTO execution(instance, execution, status, output, pinned, started, completed)
SELECT id, execution_id, status, output,
       duroxide_version_major || '.' || duroxide_version_minor || '.' || duroxide_version_patch,
       coalesce(iif(typeof(started_at) = 'integer', started_at,
                    CAST(round((julianday(started_at) - 2440587.5) * 86400000) AS INTEGER)), 0),
       completed_at
FROM instance CROSS JOIN source.executions ON instance_id = name;

INSERT INTO history(instance, execution, event, data)
SELECT id, execution_id, event_id, event_data FROM instance CROSS JOIN source.history ON instance_id = name;

INSERT INTO settled_value(instance, key, value, updated)
SELECT id, key, value, last_updated_at_ms FROM instance CROSS JOIN source.kv_store ON instance_id = name;

INSERT INTO pending_value(instance, key, value, updated)
SELECT id, key, value, last_updated_at_ms FROM instance CROSS JOIN source.kv_delta ON instance_id = name;

INSERT INTO message(id, visible, attempts, item)
SELECT id, visible_at, attempt_count, work_item FROM source.orchestrator_queue ORDER BY id;

INSERT INTO work(id, visible, attempts, item)
SELECT id, visible_at, attempt_count, work_item FROM source.worker_queue ORDER BY id;
