// Databases for tests.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { open } from '../src/index.mjs';

export const DRIVERS = ['node:sqlite', 'better-sqlite3'];

/** Creates a folder that is removed after the test. Returns the path of a database in it. */
export function file(t) {
    const folder = mkdtempSync(join(tmpdir(), 'onewriter-'));
    t.after(() => rmSync(folder, { recursive: true }));
    return join(folder, 'test.db');
}

/** Opens a new database with this schema, which is closed after the test. */
export async function create(t, schema = [], options = {}) {
    const path = file(t);
    const db = await open(path, options);
    t.after(() => db.close());
    if (schema.length > 0) await db.write(schema.map((sql) => ({ sql })));
    return Object.assign(db, { path });
}

/** Reads a closed or open database through another connection. */
export function look(path, sql) {
    const db = new DatabaseSync(path, { readOnly: true });
    try {
        return db.prepare(sql).all();
    } finally {
        db.close();
    }
}

/** Returns the code of the error of a call. */
export async function codeOf(call) {
    try {
        await call;
    } catch (error) {
        return error.code ?? error.name;
    }
}
