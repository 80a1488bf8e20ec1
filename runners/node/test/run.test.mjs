// Whole trials: counts agree with the rows in the file, for every driver, sharing and executor.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import hdr from 'hdr-histogram-js';

import {
    converse,
    count,
    database,
    description,
    insert,
    read,
    result,
    role,
    rows,
    statement,
    transaction,
    trial,
    tries,
} from './runs.mjs';

const SHARINGS = [
    { kind: 'own-connection' },
    { kind: 'one-connection' },
    { kind: 'pool', connections: 2 },
    { kind: 'app-lock' },
    { kind: 'writer-readers', readers: 2 },
];
const LABELS = {
    'own-connection': ['r', 'w', 'w'],
    'app-lock': ['r', 'w', 'w'],
    'one-connection': ['shared'],
    pool: ['pool', 'pool'],
};

/** The drivers that accept SQL. */
const described = description.drivers.filter(({ interface: other }) => other === undefined);
const drivers = described.map(({ name }) => name);
const databases = drivers.filter((name) => name !== 'noop');
const total = (encoded) => hdr.decodeFromCompressedBase64(encoded).totalCount;

test('it says what it can do', () => {
    assert.ok(drivers.includes('better-sqlite3') && drivers.includes('node:sqlite') && drivers.includes('noop'));
    for (const { name, sqlite } of described) {
        assert.equal(sqlite === null, name === 'noop');
        if (sqlite !== null) assert.match(`${sqlite.version} ${sqlite.source_id}`, /^3\.\d+\.\d+ 20\d\d-/);
    }
});

for (const { name: driver, executors } of described) {
    for (const executor of executors) {
        test(`${driver} on ${executor}: counts are the rows there, whatever the sharing`, async (t) => {
            for (const sharing of executor === 'processes' ? SHARINGS.slice(0, 1) : SHARINGS) {
                const path = database(t);
                const roles = [role('w', 2, 0, count(41)), role('r', 1, 1, count(9), { first_worker: 2 })];
                const heard = await result(
                    trial(driver, path, [insert(), read({ timed_rows: true })], roles, { executor, sharing }),
                );
                const [w, r] = heard.operations;
                assert.deepEqual(
                    [w.committed, w.measured, total(w.service), r.committed],
                    [41, 41, 41, 9],
                    sharing.kind,
                );
                const waits = [sharing.kind !== 'own-connection', !['own-connection', 'app-lock'].includes(sharing.kind)];
                assert.deepEqual(['wait' in w.timers, 'wait' in r.timers], waits, sharing.kind);
                assert.deepEqual(
                    heard.workers.map(({ committed }) => committed),
                    [21, 20, 9],
                );
                assert.equal(
                    heard.ticks.flatMap(({ counts }) => counts).reduce((sum, c) => sum + c.committed, 0),
                    50,
                );
                const labels = heard.ready.connections.map(({ label }) => label).sort();
                assert.deepEqual(labels, LABELS[sharing.kind] ?? ['reader', 'reader', 'writer']);
                if (driver === 'noop') continue;
                for (const { settings } of heard.ready.connections) {
                    assert.deepEqual(settings, { journal_mode: 'wal', synchronous: 0, busy_timeout: 5000 });
                }
                const there = rows(path, 'SELECT id, worker, typeof(id) AS type FROM t ORDER BY id');
                assert.deepEqual(
                    there,
                    Array.from({ length: 41 }, (_, id) => ({ id, worker: id % 2, type: 'integer' })),
                );
                if (r.rows > 0) assert.ok(total(r.timers.query) === 9 && total(r.timers.first_row) > 0);
            }
        });
    }
}

for (const driver of databases) {
    test(`${driver}: values keep their types where a column has none`, async (t) => {
        const path = database(t, 'CREATE TABLE t(a, b, c, d, e, f, g)');
        const params = {
            a: { kind: 'uniform', low: 1, high: 6 },
            b: { kind: 'sequence', start: 2 ** 40, step: -3 },
            c: { kind: 'value', value: -(2 ** 52) },
            d: { kind: 'value', value: 0.5 },
            e: { kind: 'choice', values: ['x', 2, null] },
            f: { kind: 'now', unit: 'us' },
            g: { kind: 'worker' },
        };
        const fill = transaction('fill', params, [
            statement('INSERT INTO t VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)', [0, 1, 2, 3, 4, 5, 6]),
        ]);
        for (const prepare of ['once', 'each'])
            await result(trial(driver, path, [fill], [role('r', 1, 0, count(20))], { prepare }));
        const kinds = rows(
            path,
            'SELECT DISTINCT typeof(a)||typeof(b)||typeof(c)||typeof(d)||typeof(f)||typeof(g) AS kinds FROM t',
        );
        assert.deepEqual(kinds, [{ kinds: 'integerintegerintegerrealintegerinteger' }]);
        const mixed = rows(path, 'SELECT DISTINCT typeof(e) AS type FROM t ORDER BY 1').map(({ type }) => type);
        assert.deepEqual(mixed, ['integer', 'null', 'text']);
        assert.deepEqual(rows(path, 'SELECT max(b) AS b, max(c) AS c, count(*) AS n FROM t'), [
            { b: 2 ** 40, c: -(2 ** 52), n: 40 },
        ]);
    });

    test(`${driver}: errors have their extended names, and leave nothing`, async (t) => {
        const path = database(t, 'CREATE TABLE t(id INTEGER PRIMARY KEY, u UNIQUE); INSERT INTO t VALUES (1, 1)');
        const bad = (name, sql) =>
            transaction(name, {}, [statement('INSERT INTO t VALUES (NULL, NULL)', []), statement(sql, [])], {
                begin: 'immediate',
            });
        const all = [bad('key', 'INSERT INTO t VALUES (1, 2)'), bad('unique', 'INSERT INTO t VALUES (9, 1)')];
        const steps = [0, 1].map((at) => ({ transaction: at, weight: 1, stride: 1, offset: 0 }));
        const { operations } = await result(trial(driver, path, all, [role('r', 1, 0, count(4), { steps })]));
        const seen = operations.map(({ failed, errors }) => [failed, errors]);
        const error = (message) => ({ seen: 2, cured: 0, message });
        assert.deepEqual(seen, [
            [2, { SQLITE_CONSTRAINT_PRIMARYKEY: error('UNIQUE constraint failed: t.id') }],
            [2, { SQLITE_CONSTRAINT_UNIQUE: error('UNIQUE constraint failed: t.u') }],
        ]);
        assert.deepEqual(rows(path, 'SELECT count(*) AS n FROM t'), [{ n: 1 }]);
    });

    test(`${driver}: a retry cures a lost snapshot`, async (t) => {
        const add = transaction(
            'add',
            {},
            [
                statement('SELECT n FROM t', [], { fetch: 'all', work: { kind: 'read' }, hold_us: 2000 }),
                statement('UPDATE t SET n = n + 1', []),
            ],
            { begin: 'deferred' },
        );
        const retry = { attempts: 100_000, backoff_us: 500, multiplier: 1, max_backoff_us: 500, on: ['SQLITE_BUSY'] };
        const more = { retry, executor: 'threads' };
        await tries(async () => {
            const path = database(t, 'CREATE TABLE t(id INTEGER PRIMARY KEY, n); INSERT INTO t VALUES (1, 0)');
            const { operations } = await result(trial(driver, path, [add], [role('r', 3, 0, count(30))], more));
            assert.equal(operations[0].committed, 30);
            assert.deepEqual(rows(path, 'SELECT n FROM t'), [{ n: 30 }]);
            // On a busy machine one may end before the next begins.
            const { seen, cured } = operations[0].errors.SQLITE_BUSY_SNAPSHOT ?? { seen: 0, cured: 0 };
            assert.ok(seen > 0 && seen === cured, `${seen} ${cured}`);
        });
    });

    test(`${driver}: what is yielded is bound later, and a transaction without its row is empty`, async (t) => {
        const path = database(
            t,
            'CREATE TABLE q(id INTEGER PRIMARY KEY, done); CREATE TABLE log(id); INSERT INTO q VALUES (7, 0), (9, 0)',
        );
        const params = { id: { kind: 'yielded', name: 'id' } };
        const claim = 'UPDATE q SET done = 1 WHERE id = (SELECT min(id) FROM q WHERE NOT done) RETURNING id';
        const more = { fetch: 'first', work: { kind: 'read' }, yields: ['id'], required: true };
        for (const begin of ['none', 'immediate']) {
            const take = transaction(
                'take',
                params,
                [statement(claim, [], more), statement('INSERT INTO log VALUES (?1)', [0])],
                { begin },
            );
            const { operations } = await result(
                trial(driver, path, [take], [role('r', 1, 0, count(begin === 'none' ? 1 : 3))]),
            );
            assert.deepEqual([operations[0].committed, operations[0].empty], begin === 'none' ? [1, 0] : [1, 2]);
        }
        assert.deepEqual(rows(path, 'SELECT id, typeof(id) AS type FROM log'), [
            { id: 7, type: 'integer' },
            { id: 9, type: 'integer' },
        ]);
    });
}

for (const executor of ['threads', 'inline']) {
    test(`${executor}: an open load starts all arrivals`, (t) =>
        tries(async () => {
            const load = { kind: 'open', rate: 400, arrivals: 'constant' };
            const roles = [role('r', 3, 0, { kind: 'time', ms: 300 }, { load })];
            const { operations, elapsed_ns, timers, gauges } = await result(
                trial('noop', database(t), [insert()], roles, { executor, warmup_ms: 100 }),
            );
            const [{ committed, measured, unserved, timers: of }] = operations;
            assert.equal(committed + unserved, 120);
            assert.ok(measured >= 70 && measured <= 81, `${measured}`);
            assert.ok(total(of.lag) === measured && total(of.response) === measured);
            assert.ok(elapsed_ns >= 300e6);
            assert.ok(gauges.utilization >= 0 && gauges.utilization <= 1);
            assert.ok(total(timers.probe) > 0 && total(timers.pool_wait) > 0);
        }));
}

test('a role ends with the one it waits for', async (t) => {
    const roles = [
        role('w', 1, 0, count(20), { load: { kind: 'closed', think_us: 2000 } }),
        role('r', 1, 1, { kind: 'role', name: 'w' }, { first_worker: 1 }),
    ];
    for (const executor of ['threads', 'inline']) {
        await tries(async () => {
            const { operations, elapsed_ns } = await result(
                trial('noop', database(t), [insert(), read()], roles, { executor }),
            );
            assert.ok(operations[0].committed === 20 && operations[1].committed > 20);
            assert.ok(elapsed_ns > 19 * 2e6, `${elapsed_ns}`);
        });
    }
});

test('the thread pool has as many threads as asked for', async (t) => {
    if (!drivers.includes('sqlite3')) return t.skip('sqlite3 was not built');
    // Four queries on one connection each: on two threads they alternate, and a trivial job waits for a thread.
    const slow = 'WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000) SELECT max(i) FROM n';
    const query = transaction('q', {}, [statement(slow, [], { fetch: 'buffer' })], { writes: false });
    await tries(async () => {
        const waits = [];
        for (const runtime_threads of [2, 12]) {
            const roles = [role('r', 4, 0, { kind: 'time', ms: 400 })];
            const { timers } = await result(trial('sqlite3', database(t), [query], roles, { runtime_threads }));
            waits.push(hdr.decodeFromCompressedBase64(timers.pool_wait).getValueAtPercentile(50));
        }
        assert.ok(waits[0] > 2 * waits[1], `${waits}`);
    });
});

test('what it cannot do ends in `failed`', async (t) => {
    const roles = [role('r', 1, 0, count(1))];
    const path = database(t);
    const good = trial('better-sqlite3', path, [insert()], roles);
    const wrong = (sql) => [transaction('insert', {}, [statement(sql, [])])];
    const options = { ...good.connection, options: { busyTimeout: 1 } };
    for (const [change, code] of [
        [{ driver: 'no-such' }, null],
        [{ protocol: 99 }, null],
        [{ executor: 'offload' }, null],
        [{ sharing: { kind: 'group-commit', readers: 1 } }, null],
        [{ connection: options }, null],
        [{ transactions: wrong('INSERT INTO nowhere VALUES (1)') }, 'SQLITE_ERROR'],
        [{ transactions: wrong('INSERT INTO nowhere VALUES (1)'), executor: 'threads' }, 'SQLITE_ERROR'],
        [{ databases: [{ kind: 'file', path: `${path}/no/x.db` }] }, 'SQLITE_CANTOPEN'],
    ]) {
        const { code: exit, last } = await converse('run', { ...good, ...change });
        assert.deepEqual([exit, last.type, last.code], [1, 'failed', code], JSON.stringify(change));
    }
});

test('without `go` it runs nothing and ends with its input', async (t) => {
    for (const executor of ['threads', 'inline']) {
        const path = database(t);
        const { code, lines } = await converse(
            'run',
            trial('better-sqlite3', path, [insert()], [role('r', 1, 0, count(5))], { executor }),
            false,
        );
        assert.deepEqual([code, lines.length], [0, 1]);
        assert.deepEqual(rows(path, 'SELECT count(*) AS n FROM t'), [{ n: 0 }]);
    }
});

test('a database in memory is set up, and dumped at the end', async (t) => {
    for (const [driver, executor, shared] of [
        ['better-sqlite3', 'threads', false],
        ['node:sqlite', 'threads', true],
        ['node:sqlite', 'inline', true],
    ]) {
        const dump = `${database(t)}.dump`;
        const memory = {
            kind: 'memory',
            shared,
            name: 'm',
            setup: ['CREATE TABLE t(id INTEGER PRIMARY KEY, worker, value)'],
            teardown: [`VACUUM INTO '${dump}'`],
        };
        const settings = [{ name: 'busy_timeout', sql: 'PRAGMA busy_timeout = 5000' }];
        const retry = { attempts: 100_000, backoff_us: 100, multiplier: 1, max_backoff_us: 100, on: ['SQLITE_LOCKED'] };
        const more = { executor, databases: [memory], connection: { settings, read_back: [], options: {} }, retry };
        await result(trial(driver, '', [insert()], [role('r', shared ? 2 : 1, 0, count(11))], more));
        assert.deepEqual(rows(dump, 'SELECT count(*) AS n FROM t'), [{ n: 11 }]);
    }
});

test('it inspects as an application would open', async (t) => {
    const path = database(t);
    const settings = [{ name: 'cache_size', sql: 'PRAGMA cache_size = 77' }];
    for (const [driver, options, timeout] of [
        ['better-sqlite3', { timeout: 123 }, 123],
        ['node:sqlite', {}, 0],
    ]) {
        const request = {
            protocol: 3,
            driver,
            database: path,
            connections: 2,
            options,
            settings,
            read_back: ['busy_timeout', 'cache_size'],
        };
        const { last } = await converse('inspect', request);
        const found = { database: 0, label: 'connection', settings: { busy_timeout: timeout, cache_size: 77 } };
        assert.deepEqual(last.connections, Array(2).fill(found));
    }
});

/** Inspects a new database by a data source name. Returns the busy timeout and the outcome of the upgrade. */
async function byDsn(t, driver, dsn, options, wal) {
    const path = database(t, wal ? 'PRAGMA journal_mode = WAL; CREATE TABLE t(a)' : 'CREATE TABLE t(a)');
    const request = {
        protocol: 3,
        driver,
        database: path,
        connections: 3,
        options,
        settings: [],
        read_back: ['busy_timeout'],
        dsn: dsn.replace('FILE', path),
    };
    const { last, errors } = await converse('inspect', request);
    if (last === undefined) return errors;
    assert.equal(last.connections.length, 3);
    assert.deepEqual(rows(path, "SELECT name FROM sqlite_schema WHERE name LIKE 'litelab%'"), []);
    return [...new Set(last.connections.map(({ settings }) => settings.busy_timeout)), last.upgrade];
}

test('a data source name has the effect of the driver', async (t) => {
    const URI = 0x40 | 0x2 | 0x4;
    for (const wal of [false, true]) {
        for (const [driver, dsn, options, ...found] of [
            ['better-sqlite3', 'FILE', { timeout: 77 }, 77, 'fails'],
            // An unknown option is ignored without an error.
            ['better-sqlite3', 'FILE', { busyTimeout: 77 }, 5000, 'fails'],
            ['better-sqlite3', 'FILE', { readonly: true }, 5000, undefined],
            ['better-sqlite3', ':memory:', {}, 5000, undefined],
            ['node:sqlite', 'FILE', { timeout: 77 }, 77, 'fails'],
            ['node:sqlite', 'file:FILE?busy_timeout=77', {}, 0, 'fails'],
            ['node:sqlite', 'file:memory?mode=memory&cache=shared', {}, 0, undefined],
            ...(databases.includes('sqlite3')
                ? [
                      ['sqlite3', 'FILE', {}, 1000, 'fails'],
                      ['sqlite3', 'file:FILE?busy_timeout=77', { mode: URI }, 1000, 'fails'],
                      ['sqlite3', 'FILE', { mode: 0x1 }, 1000, undefined],
                  ]
                : []),
        ]) {
            assert.deepEqual(await byDsn(t, driver, dsn, options, wal), found, `${driver} ${dsn} ${wal}`);
        }
    }
});

test('what a constructor refuses is its own error', async (t) => {
    for (const [driver, options, said] of [
        ['better-sqlite3', { timeout: 'long' }, /Expected the "timeout" option to be a positive integer/],
        ['node:sqlite', { timeout: 'long' }, /"options.timeout" argument must be an integer/],
        ['plainjob', {}, /`plainjob` opens no SQLite database by a data source name/],
        ['noop', {}, /`noop` opens no SQLite database by a data source name/],
    ]) {
        assert.match(await byDsn(t, driver, 'FILE', options, false), said);
    }
});
