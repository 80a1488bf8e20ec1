// The end of a thread, a full queue, closing.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { promisify } from 'node:util';

import { open } from '../src/index.mjs';
import { codeOf, create, DRIVERS, file, look } from './databases.mjs';

const TABLE = 'CREATE TABLE t(a INTEGER PRIMARY KEY)';
const INSERT = 'INSERT INTO t VALUES (?)';

/** Collects the threads that are started during a test. */
function threads(t) {
    const started = [];
    const onWorker = (thread) => started.push(thread);
    process.on('worker', onWorker);
    t.after(() => process.off('worker', onWorker));
    return started;
}

for (const driver of DRIVERS) {
    test(`${driver}: the end of the writing thread answers everybody, and truly`, async (t) => {
        const started = threads(t);
        const db = await create(t, [TABLE], { driver });
        // It ends while it executes the first statement, or before.
        const long = 'WITH n(a) AS (SELECT 0 UNION ALL SELECT a + 1 FROM n LIMIT 2000000) SELECT max(a) FROM n';
        const calls = [db.execute(long), ...Array.from({ length: 999 }, (_, at) => db.execute(INSERT, [at + 1]))];
        await new Promise((resolve) => setImmediate(resolve));
        await started[0].terminate();
        const outcomes = await Promise.allSettled(calls);
        const rows = await db.read('SELECT a FROM t');
        const found = new Set(rows.map(({ a }) => a));
        for (const [at, { status, reason }] of outcomes.entries()) {
            if (status === 'fulfilled') assert.ok(found.has(at), `${at} was answered`);
            else assert.equal(reason.code, 'ERR_THREAD');
            if (status === 'rejected' && !reason.uncertain) assert.ok(!found.has(at), `${at} was refused`);
        }
        assert.equal(outcomes[0].reason.uncertain, true, 'it was sent');
        assert.equal(outcomes[999].reason.uncertain, false, 'it was not sent');
        assert.equal(await codeOf(db.execute(INSERT, [2_000])), 'ERR_THREAD');
        await db.room();
        assert.equal(db.pending, 0);
        await db.close();
    });

    test(`${driver}: a thread that reads is replaced`, async (t) => {
        const started = threads(t);
        const db = await create(t, [TABLE], { driver, readers: 1 });
        await db.read('SELECT 1');
        const reads = Array.from({ length: 600 }, () => codeOf(db.read('SELECT 1')));
        await started[1].terminate();
        const codes = new Set(await Promise.all(reads));
        assert.ok(codes.has('ERR_THREAD'));
        assert.deepEqual(await db.read('SELECT 1 AS one'), [{ one: 1 }]);
        assert.equal((await db.execute(INSERT, [1])).count, 1);
    });

    test(`${driver}: reads run in as many threads as allowed`, async (t) => {
        const started = threads(t);
        const db = await create(t, [TABLE], { driver, readers: 3 });
        await db.read('SELECT 1');
        await db.read('SELECT 1');
        assert.equal(started.length, 2, 'the idle thread reads again');
        await Promise.all(Array.from({ length: 50 }, () => db.read('SELECT 1')));
        assert.equal(started.length, 4);
    });

    test(`${driver}: a database that cannot be opened`, async (t) => {
        const folder = `${file(t)}.missing/a.db`;
        const code = { 'node:sqlite': 'SQLITE_CANTOPEN', 'better-sqlite3': 'ERR_OPEN' }[driver];
        const error = await open(folder, { driver }).catch((error) => error);
        assert.equal(error.code, code);
        assert.match(error.message, /missing\/a\.db/);
        const text = file(t);
        writeFileSync(text, 'This is the text of a letter and no database, as its first line shows.'.repeat(50));
        assert.equal(await codeOf(open(text, { driver })), 'SQLITE_NOTADB');
    });

    test(`${driver}: close answers all calls before it, and removes the log`, async (t) => {
        const db = await create(t, [TABLE], { driver });
        const writes = Array.from({ length: 700 }, (_, at) => db.execute(INSERT, [at]));
        const read = db.read('SELECT 1 AS one');
        const closed = db.close();
        const late = [codeOf(db.execute(INSERT, [9_999])), codeOf(db.read('SELECT 1'))];
        assert.equal(db.close(), closed, 'the same promise');
        assert.ok((await Promise.all(writes)).every(({ count }) => count === 1));
        assert.deepEqual(await read, [{ one: 1 }]);
        assert.deepEqual(await Promise.all(late), ['ERR_CLOSED', 'ERR_CLOSED']);
        await closed;
        assert.equal(existsSync(`${db.path}-wal`), false);
        assert.deepEqual({ ...look(db.path, 'SELECT count(*) AS n FROM t')[0] }, { n: 700 });
    });
}

test('a full queue refuses calls, and room() waits for it', async (t) => {
    const db = await create(t, [TABLE], { queue: 600 });
    const calls = Array.from({ length: 650 }, (_, at) => codeOf(db.execute(INSERT, [at])));
    assert.equal(db.pending, 600);
    await db.room();
    assert.ok(db.pending <= 300, `${db.pending}`);
    assert.equal((await db.execute(INSERT, [1_000])).count, 1);
    const codes = await Promise.all(calls);
    assert.deepEqual(codes, [...Array(600).fill(undefined), ...Array(50).fill('ERR_QUEUE_FULL')]);
    assert.equal((await db.read('SELECT a FROM t')).length, 601);
    const reads = await Promise.all(Array.from({ length: 650 }, () => codeOf(db.read('SELECT 1'))));
    assert.deepEqual(reads, codes);
    await db.room();
});

test('writes that wait at the same time share commits', async (t) => {
    const db = await create(t, [TABLE]);
    const { commits } = db.counts;
    await Promise.all(Array.from({ length: 500 }, (_, at) => db.execute(INSERT, [at])));
    assert.equal(db.counts.writes, 501);
    assert.ok(db.counts.commits - commits < 100, `${db.counts.commits} commits`);
});

test('a large plan is sent alone, and what cannot be sent is refused', async (t) => {
    const db = await create(t, ['CREATE TABLE blob(data)']);
    const data = new Uint8Array(20 << 20);
    const calls = [1, data, 2].map((value) => db.execute('INSERT INTO blob VALUES (?)', [value]));
    for (const { count } of await Promise.all(calls)) assert.equal(count, 1);
    assert.equal(db.counts.commits, 4);
});

test('another process that holds the write lock: an error for each caller, and writes go on after it', async (t) => {
    const db = await create(t, [TABLE], { timeout: 20 });
    const { DatabaseSync } = await import('node:sqlite');
    const other = new DatabaseSync(db.path);
    other.exec('BEGIN IMMEDIATE');
    const calls = [1, 2, 3].map((at) => codeOf(db.execute(INSERT, [at])));
    assert.deepEqual(await Promise.all(calls), Array(3).fill('SQLITE_BUSY'));
    other.exec('ROLLBACK');
    other.close();
    assert.equal((await db.execute(INSERT, [1])).count, 1);
});

test('an idle database does not keep the process alive, and a pending write does', async (t) => {
    const program = `
        import { open } from ${JSON.stringify(new URL('../src/index.mjs', import.meta.url).href)};
        const db = await open(${JSON.stringify(file(t))});
        await db.execute('CREATE TABLE t(a)');
        await db.read('SELECT * FROM t');
        db.execute('INSERT INTO t VALUES (1) RETURNING a').then(({ rows }) => console.log(rows[0].a));
    `;
    const run = promisify(execFile);
    const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program]);
    assert.equal(stdout, '1\n');
});
