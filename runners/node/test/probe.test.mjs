// The host probe with stalls of known length: a blocked loop shows in the figures of the loop, a blocked pool in those
// of the pool, and neither in those of the other.

import assert from 'node:assert/strict';
import { pbkdf2, randomFill } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { deflate } from 'node:zlib';

import hdr from 'hdr-histogram-js';

import { count, database, description, insert, result, role, statement, transaction, trial, tries } from './runs.mjs';

/** Length of the stall in the first try; each further try doubles it, and so outgrows what a busy machine adds. */
const STALL = 200;
const has = (name) => description.drivers.some((driver) => driver.name === name);
const read = (encoded) => hdr.decodeFromCompressedBase64(encoded);
const longest = (encoded) => read(encoded).maxValue / 1e6;
const median = (encoded) => read(encoded).getValueAtPercentile(50) / 1e6;

/** Runs an insert that waits for a lock held by the test, for the length of the busy timeout. */
async function stalled(t, driver, executor, load, { options = {}, tried = 0 } = {}) {
    const stall = STALL << tried;
    const path = database(t);
    const other = new DatabaseSync(path);
    t.after(() => other.close());
    other.exec('PRAGMA journal_mode = WAL; BEGIN IMMEDIATE');
    const settings = [{ name: 'busy_timeout', sql: `PRAGMA busy_timeout = ${stall}` }];
    const heard = await result(
        trial(driver, path, [insert()], [role('r', 1, 0, count(1), load)], {
            executor,
            sharing: { kind: 'one-connection' },
            connection: { settings, read_back: [], options },
            probe_ms: 2,
            runtime_threads: 1,
        }),
    );
    const locked = { seen: 1, cured: 0, message: 'database is locked' };
    assert.deepEqual(heard.operations[0].errors, { SQLITE_BUSY: locked });
    // The measured time: a busy machine takes longer than the busy timeout.
    const took = heard.workers[0].inside_ns / 1e6;
    assert.ok(took > stall - 5, `${took} ms`);
    const { probe, pool_wait, deflate } = heard.timers;
    return { took, loop: longest(probe), pool: longest(pool_wait), deflate: deflate && longest(deflate) };
}

const within = (seen, took) => assert.ok(Math.abs(seen - took) < took / 10, `${seen} ms of ${took} ms`);
const free = (seen, took) => assert.ok(seen < took / 2, `${seen} ms in a stall of ${took} ms elsewhere`);

// Once during a trial, and once at its end: a timer due then has not run when the worker ends.
const MIDST = { load: { kind: 'open', rate: 10, arrivals: 'constant' } };
for (const [when, load] of [['in the midst', MIDST], ['at the end', {}]]) {
    for (const driver of ['better-sqlite3', 'node:sqlite']) {
        test(`${driver} inline holds the loop and not the pool, ${when}`, (t) =>
            tries(async (tried) => {
                const { took, loop, pool } = await stalled(t, driver, 'inline', load, { tried });
                within(loop, took);
                free(pool, took);
            }));

        test(`${driver} in a thread of its own holds neither, ${when}`, (t) =>
            tries(async (tried) => {
                const { took, loop, pool } = await stalled(t, driver, 'dedicated', load, { tried });
                free(loop, took);
                free(pool, took);
            }));
    }

    test(`sqlite3 holds the pool and not the loop, ${when}`, async (t) => {
        if (!has('sqlite3')) return t.skip('sqlite3 was not built');
        await tries(async (tried) => {
            const { took, loop, pool } = await stalled(t, 'sqlite3', 'offload', load, { tried });
            within(pool, took);
            free(loop, took);
        });
    });
}

test('a deflate of the loop waits for the pool of sqlite3, where it is asked for', async (t) => {
    if (!has('sqlite3')) return t.skip('sqlite3 was not built');
    await tries(async (tried) => {
        const more = { options: { deflate: true }, tried };
        const { took, deflate } = await stalled(t, 'sqlite3', 'offload', MIDST, more);
        within(deflate, took);
    });
    assert.equal((await stalled(t, 'sqlite3', 'offload', MIDST)).deflate, undefined);
});

test('options of sqlite3 change no result', async (t) => {
    if (!has('sqlite3')) return t.skip('sqlite3 was not built');
    const path = database(t, "CREATE TABLE t(a, b); INSERT INTO t VALUES (1, 'x'), (2, 'y')");
    const all = transaction(
        'all',
        {},
        [statement('SELECT * FROM t', [], { fetch: 'buffer', work: { kind: 'read' }, yields: ['a'] })],
        { writes: false },
    );
    for (const options of [{}, { stringify: true }, { serialize: true }, { stringify: true, serialize: true }]) {
        const request = trial('sqlite3', path, [all], [role('r', 1, 0, count(3))]);
        request.connection.options = options;
        const [{ rows, committed }] = (await result(request)).operations;
        assert.deepEqual([rows, committed], [6, 3], JSON.stringify(options));
    }
});

test('callers of one connection of sqlite3 fill the pool, unless their transactions take turns', async (t) => {
    if (!has('sqlite3')) return t.skip('sqlite3 was not built');
    const slow = 'WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) SELECT max(i) FROM n';
    await tries(async () => {
        const waits = [];
        for (const begin of ['none', 'deferred']) {
            const query = transaction('q', {}, [statement(slow, [], { fetch: 'buffer' })], { writes: false, begin });
            const more = { runtime_threads: 2, sharing: { kind: 'one-connection' }, probe_ms: 5 };
            const { timers, operations } = await result(
                trial('sqlite3', database(t), [query], [role('r', 12, 0, { kind: 'time', ms: 500 })], more),
            );
            waits.push({ pool: median(timers.pool_wait), own: median(operations[0].timers.wait) });
        }
        const [crowded, turns] = waits;
        assert.ok(crowded.pool > 5 * turns.pool, JSON.stringify(waits));
        // Whether a transaction waits for the pool or for the connection.
        assert.ok(crowded.own < 0.1 && turns.own > crowded.pool / 2, JSON.stringify(waits));
    });
});

test('the trivial job waits as long as a deflate does', () =>
    tries(async () => {
        const start = performance.now();
        const took = () => performance.now() - start;
        const answer = (submit) => new Promise((resolve) => submit(() => resolve(took())));
        // This process has the default of four threads.
        const crowd = Array.from({ length: 4 }, () => answer((done) => pbkdf2('a', 'b', 300_000, 32, 'sha256', done)));
        const [deflated, filled] = await Promise.all([
            answer((done) => deflate('x', done)),
            answer((done) => randomFill(new Uint8Array(1), done)),
        ]);
        const first = Math.min(...(await Promise.all(crowd)));
        assert.ok(first > 20 && Math.min(deflated, filled) > 0.9 * first, `${first} ${deflated} ${filled}`);
        assert.ok(Math.abs(deflated - filled) < 0.2 * filled, `${first} ${deflated} ${filled}`);
    }));

test('rows that were checked before an error are counted, in whichever thread', async (t) => {
    const path = database(
        t,
        `CREATE TABLE t(id INTEGER PRIMARY KEY, rand, hash); INSERT INTO t VALUES (1, '616263', 'ba'), (2, '616263', 'ba')`,
    );
    // The second row has no absolute value.
    const sql = 'SELECT rand, hash, abs(CASE id WHEN 2 THEN -9223372036854775807 - 1 END) FROM t ORDER BY id';
    const work = { kind: 'verify', value: 'rand', hash: 'hash' };
    const all = [transaction('verify', {}, [statement(sql, [], { fetch: 'all', work })], { writes: false })];
    const ways = [
        ['threads', { kind: 'own-connection' }],
        ['threads', { kind: 'one-connection' }],
        ['dedicated', { kind: 'own-connection' }],
    ];
    for (const driver of ['better-sqlite3', 'node:sqlite']) {
        for (const [executor, sharing] of ways) {
            const roles = [role('r', 1, 0, count(1))];
            const { operations } = await result(trial(driver, path, all, roles, { executor, sharing }));
            const [{ failed, counters }] = operations;
            assert.deepEqual([failed, counters], [1, { verified: 1, mismatches: 1 }], `${driver} ${executor}`);
        }
    }
});

test('a thread hands rows over as they are', async (t) => {
    const path = database(
        t,
        // SHA-256 of "abc" (FIPS 180-4), and a wrong hash.
        `CREATE TABLE t(id INTEGER PRIMARY KEY, rand, hash);
         INSERT INTO t VALUES (1, '616263', 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'),
                              (2, '616263', 'ba'), (3, NULL, x'00');
         CREATE TABLE log(id, hash)`,
    );
    const work = { kind: 'verify', value: 'rand', hash: 'hash' };
    const pick = { fetch: 'first', yields: ['id', 'hash'], required: true };
    const all = [
        transaction('verify', {}, [statement('SELECT * FROM t', [], { fetch: 'all', work })], { writes: false }),
        transaction(
            'copy',
            { id: { kind: 'yielded', name: 'id' }, hash: { kind: 'yielded', name: 'hash' } },
            [
                statement('SELECT id, hash FROM t WHERE id = 2', [], pick),
                statement('INSERT INTO log VALUES (?1, ?2)', [0, 1]),
            ],
            { begin: 'immediate' },
        ),
    ];
    const steps = [0, 1].map((at) => ({ transaction: at, weight: 1, stride: 1, offset: 0 }));
    for (const driver of ['better-sqlite3', 'node:sqlite']) {
        const roles = [role('r', 1, 0, count(2), { steps })];
        const { operations } = await result(trial(driver, path, all, roles, { executor: 'dedicated' }));
        const [{ rows, counters }, copy] = operations;
        assert.deepEqual([rows, counters, copy.committed], [3, { verified: 3, mismatches: 2 }, 1], driver);
    }
    const db = new DatabaseSync(path);
    const log = db.prepare('SELECT id, typeof(id) AS type, hash FROM log').all();
    db.close();
    assert.deepEqual(log.map((row) => ({ ...row })), Array(2).fill({ id: 2, type: 'integer', hash: 'ba' }));
});
