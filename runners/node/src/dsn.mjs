// Connections opened by a data source name as an application opens them, and the trial of an upgrade on them.

import { codeOf } from './codes.mjs';
import { readBack, run } from './connect.mjs';
import { Fault } from './driver.mjs';

/** Opens all connections at the same time and adds nothing to what the driver does. */
export async function inspectDsn(driver, { driver: name, dsn, options, settings, connections: count, read_back }) {
    if (driver.openDsn === undefined) {
        throw new Fault(`driver \`${name}\` opens no SQLite database by a data source name (\`dsn\`)`);
    }
    const sessions = [];
    const connections = [];
    for (let n = 0; n < count; n++) {
        const session = await driver.openDsn(dsn, options);
        sessions.push(session);
        for (const { sql } of settings) await run(session, sql);
        connections.push({ database: 0, label: 'connection', settings: await readBack(session, read_back) });
    }
    const outcome = count < 2 ? undefined : await upgrade(sessions[0], sessions[1]);
    for (const session of sessions) await session.close();
    return { connections, upgrade: outcome };
}

// The first INSERT violates the constraint in a database in memory, which has no file.
const TABLE = "CREATE TABLE litelab_upgrade(a CHECK (a <> ''))";
const FILE = "INSERT INTO litelab_upgrade SELECT file FROM pragma_database_list WHERE name = 'main'";
const READ = 'SELECT count(*) FROM litelab_upgrade';
const WRITE = 'INSERT INTO litelab_upgrade VALUES (1)';

const READONLY = ['SQLITE_READONLY'];
const CONSTRAINT = ['SQLITE_CONSTRAINT'];
const LOCKED = ['SQLITE_BUSY', 'SQLITE_LOCKED'];

/**
 * Reads in a transaction of `a`, writes through `b`, and then writes in the transaction of `a`. Returns the outcome as
 * in the protocol, or nothing for a database that is read-only or in memory.
 */
async function upgrade(a, b) {
    if (await refused(b, TABLE, READONLY)) return undefined;
    try {
        if (await refused(b, FILE, CONSTRAINT)) return undefined;
        // SQLite calls no busy handler for an upgrade; a write that is none waits for at most a second.
        await run(a, 'PRAGMA busy_timeout = 1000');
        await run(b, 'PRAGMA busy_timeout = 0');
        await run(a, 'BEGIN');
        await run(a, READ);
        if (await refused(b, 'BEGIN IMMEDIATE', LOCKED)) return 'immediate';
        // With a rollback journal the commit is refused while `a` reads, and the transaction stays open.
        if (!(await refused(b, WRITE, LOCKED))) await refused(b, 'COMMIT', LOCKED);
        return (await refused(a, WRITE, LOCKED)) ? 'fails' : 'succeeds';
    } finally {
        await a.rollback();
        await b.rollback();
        await run(b, 'DROP TABLE litelab_upgrade');
    }
}

/** Runs a statement and returns whether SQLite refused it with one of these primary codes. */
async function refused(session, sql, names) {
    try {
        await run(session, sql);
        return false;
    } catch (error) {
        if (error.code !== null && names.some((name) => codeOf(name) === (error.code & 0xff))) return true;
        throw error;
    }
}
