-- From `source`, a file of this crate, into the empty tables of duroxide's own provider, except the queues, whose rows
-- need columns of their items. Times as text have no fraction if it is zero, as SQLite writes its current time.
INSERT INTO instances(instance_id, orchestration_name, orchestration_version, current_execution_id, created_at,
                      updated_at, parent_instance_id, custom_status, custom_status_version)
SELECT name, orchestration, coalesce(version, 'unknown'), current, time, time, parent, custom_status, custom_version
FROM (SELECT *, strftime(iif(created % 1000 = 0, '%Y-%m-%d %H:%M:%S', '%Y-%m-%d %H:%M:%f'), created / 1000.0,
                         'unixepoch') AS time
      FROM source.instance)
WHERE orchestration IS NOT NULL ORDER BY id;

-- A conversion to INTEGER reads the number before the first dot.
INSERT INTO executions(instance_id, execution_id, status, output, started_at, completed_at, duroxide_version_major,
                       duroxide_version_minor, duroxide_version_patch)
SELECT name, execution, status, output,
       strftime(iif(started % 1000 = 0, '%Y-%m-%d %H:%M:%S', '%Y-%m-%d %H:%M:%f'), started / 1000.0, 'unixepoch'),
       completed, CAST(pinned AS INTEGER), CAST(minor AS INTEGER),
       CAST(substr(minor, instr(minor, '.') + 1) AS INTEGER)
FROM (SELECT *, substr(pinned, instr(pinned, '.') + 1) AS minor FROM source.execution)
JOIN source.instance ON id = instance ORDER BY instance, execution;

-- The event's own time. An event that is no JSON is kept, too.
INSERT INTO history(instance_id, execution_id, event_id, event_type, event_data, created_at)
SELECT name, execution, event, coalesce(json ->> '$.type', ''), data,
       coalesce(datetime((json ->> '$.timestamp_ms') / 1000, 'unixepoch'), CURRENT_TIMESTAMP)
FROM (SELECT *, CASE WHEN json_valid(data) THEN data ELSE '{}' END AS json FROM source.history)
JOIN source.instance ON id = instance ORDER BY instance, execution, event;

INSERT INTO kv_store(instance_id, key, value, last_updated_at_ms)
SELECT name, key, value, updated FROM source.settled_value JOIN source.instance ON id = instance;

INSERT INTO kv_delta(instance_id, key, value, last_updated_at_ms)
SELECT name, key, value, updated FROM source.pending_value JOIN source.instance ON id = instance;
