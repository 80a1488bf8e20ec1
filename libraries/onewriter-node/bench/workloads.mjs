// What clients do, and what the database must contain afterwards.

import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';

export const SCHEMA = `
    CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;
    CREATE TABLE task(id INTEGER PRIMARY KEY, payload TEXT NOT NULL, state TEXT NOT NULL DEFAULT 'queued') STRICT;
    CREATE INDEX queued ON task(id) WHERE state = 'queued';
`;
const CLAIM = `
    UPDATE task SET state = 'claimed' WHERE id = (SELECT id FROM task WHERE state = 'queued' ORDER BY id LIMIT 1)
    RETURNING id
`;

/** What a client does again and again: each call of `write` is one transaction. */
export const WORKLOADS = {
    async insert(write, client) {
        await write('INSERT INTO note(text) VALUES (?)', [`a note of client ${client}`]);
    },
    async queue(write, client) {
        await write('INSERT INTO task(payload) VALUES (?)', [`a task of client ${client}`]);
        const [{ id }] = await write(CLAIM, []);
        await write("UPDATE task SET state = 'done' WHERE id = ? AND state = 'claimed'", [id]);
    },
};

/** Throws unless the database contains what was answered, once. `done` is how often clients did the workload. */
export function verify(path, workload, done) {
    const db = new DatabaseSync(path);
    const value = (sql) => Object.values(db.prepare(sql).get())[0];
    assert.equal(value('PRAGMA integrity_check'), 'ok');
    assert.equal(value('SELECT count(*) FROM note'), workload === 'insert' ? done : 0);
    assert.equal(value('SELECT count(*) FROM task'), workload === 'queue' ? done : 0);
    assert.equal(value("SELECT count(*) FROM task WHERE state = 'done'"), workload === 'queue' ? done : 0);
    db.close();
}
