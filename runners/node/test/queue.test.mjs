// The task queue plainjob: each task is claimed once and completed, in the table of the library.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';

import { converse, count, description, folder, result, role, rows, statement, transaction, trial } from './runs.mjs';

const yielded = { id: { kind: 'yielded', name: 'id' } };
const payload = { payload: { kind: 'hex', bytes: 8 }, priority: { kind: 'value', value: 0 } };
const claim = { fetch: 'first', yields: ['id', 'payload'], required: true };
const ALL = [
    transaction('enqueue', payload, [statement('CALL queue.enqueue(?1, ?2)', [0, 1])]),
    transaction('claim', {}, [statement('CALL queue.claim()', [], claim)]),
    transaction('complete', yielded, [statement('CALL queue.complete(?1)', [0])]),
    transaction('fail', yielded, [statement('CALL queue.fail(?1)', [0])]),
];

const steps = (...all) => all.map((at) => ({ transaction: at, weight: 1, stride: 1, offset: 0 }));
const cycle = (workers, transactions, ...all) => role('r', workers, 0, count(transactions), { steps: steps(...all) });
const queue = (path, roles, more) => trial('plainjob', path, ALL, roles, more);
const asItComes = { connection: { settings: [], read_back: ['journal_mode', 'synchronous'], options: {} } };

/** Creates a file with this number of tasks. */
async function filled(t, tasks) {
    const path = join(folder(t), 'queue.db');
    await result(queue(path, [cycle(1, tasks, 0)]));
    return path;
}

const counts = (heard, name) => {
    const { committed, empty } = heard.operations.find(({ transaction: of }) => of === name);
    return [committed, empty];
};
const byStatus = (path) => rows(path, 'SELECT status, count(*) AS n FROM plainjob_jobs GROUP BY status');

test('it describes itself as a queue on the SQLite of better-sqlite3', () => {
    const of = (name) => description.drivers.find((driver) => driver.name === name);
    assert.deepEqual([of('plainjob').interface.name, of('plainjob').sharings], ['queue', ['own-connection', 'one-connection']]);
    assert.deepEqual(of('plainjob').sqlite, of('better-sqlite3').sqlite);
    assert.ok(!('interface' in of('better-sqlite3')));
});

for (const executor of ['threads', 'inline', 'processes']) {
    test(`every task is claimed and completed, and then there is none, on ${executor}`, async (t) => {
        for (const sharing of [{ kind: 'own-connection' }, { kind: 'one-connection' }]) {
            const path = await filled(t, 40);
            const payloads = rows(path, 'SELECT data FROM plainjob_jobs').map(({ data }) => JSON.parse(data));
            assert.ok(payloads.every((data) => /^[0-9a-f]{16}$/.test(data)) && new Set(payloads).size === 40);
            const heard = await result(queue(path, [cycle(2, 80, 1, 2)], { executor, sharing }));
            assert.deepEqual([counts(heard, 'claim'), counts(heard, 'complete')], [[40, 0], [40, 0]]);
            assert.deepEqual(byStatus(path), [{ status: 2, n: 40 }]);
            const again = await result(queue(path, [cycle(2, 6, 1)], { executor, sharing }));
            assert.deepEqual(counts(again, 'claim'), [0, 6]);
        }
    });
}

test('what it claims is what it enqueued', async (t) => {
    const path = await filled(t, 10);
    const echo = transaction('echo', { payload: { kind: 'yielded', name: 'payload' }, priority: payload.priority }, [
        statement('CALL queue.enqueue(?1, ?2)', [0, 1]),
    ]);
    const all = [...ALL, echo];
    await result(trial('plainjob', path, all, [cycle(1, 30, 1, 4, 2)]));
    const [done, pending] = [2, 0].map((status) =>
        rows(path, `SELECT data FROM plainjob_jobs WHERE status = ${status} ORDER BY id`),
    );
    assert.equal(done.length, 10);
    assert.deepEqual(pending, done);
});

test('the settings are its own, and then those of the profile', async (t) => {
    const path = join(folder(t), 'queue.db');
    const own = await converse('run', queue(path, [cycle(1, 1, 0)], asItComes), false);
    assert.deepEqual(own.last.connections[0].settings, { journal_mode: 'wal', synchronous: 1 });
    const connection = { ...asItComes.connection, settings: [{ name: 'synchronous', sql: 'PRAGMA synchronous = FULL' }] };
    const set = await converse('run', queue(path, [cycle(1, 1, 0)], { connection }), false);
    assert.deepEqual(set.last.connections[0].settings, { journal_mode: 'wal', synchronous: 2 });
});

test('what is no operation of it is refused before it is ready', async (t) => {
    const path = join(folder(t), 'queue.db');
    const refused = async (words, change) => {
        const { lines, last, code } = await converse('run', { ...queue(path, [cycle(1, 1, 0)]), ...change });
        assert.deepEqual([lines.length, last.type, code], [1, 'failed', 1], words);
        assert.match(last.reason, words);
        assert.ok(!last.reason.includes('\n'));
    };
    const instead = (sql) => ({ transactions: [transaction('t', payload, [statement(sql, [0, 1])])] });
    await refused(/takes no SQL/, instead('SELECT ?1, ?2'));
    await refused(/no operation but/, instead('CALL queue.steal(?1, ?2)'));
    await refused(/no operation but/, instead('CALL cache.enqueue(?1, ?2)'));
    await refused(/takes 2 arguments/, instead('CALL queue.enqueue(?2, ?1)'));
    await refused(/takes 0 arguments/, instead('CALL queue.claim()'));
    await refused(/gives no task back/, { roles: [cycle(1, 1, 3)] });
    await refused(/sharing pool is not supported/, { sharing: { kind: 'pool', connections: 2 } });
    const memory = { kind: 'memory', name: 'm', shared: false, setup: [], teardown: [] };
    await refused(/a server's/, { databases: [{ kind: 'server', url: 'postgres://h/d', schema: 's' }] });
    await refused(/a database in a file/, { databases: [memory] });
});

test('a locked database is counted by its name, and retried', async (t) => {
    const settings = [{ name: 'busy_timeout', sql: 'PRAGMA busy_timeout = 0' }];
    for (const [attempts, committed] of [
        [1, 0],
        [1000, 1],
    ]) {
        const path = await filled(t, 1);
        const retry = { attempts, backoff_us: 5000, multiplier: 1, max_backoff_us: 5000, on: ['SQLITE_BUSY'] };
        const connection = { settings, read_back: [], options: {} };
        const heard = await locked(path, queue(path, [cycle(1, 1, 1)], { retry, connection }));
        const [{ committed: did, errors }] = heard.operations;
        const { seen, cured } = errors.SQLITE_BUSY;
        assert.deepEqual([did, cured], [committed, seen * committed]);
        assert.ok(seen > 0);
    }
});

/** Returns the result of a trial while the write lock is held for its first one and a half seconds. */
async function locked(path, request) {
    const child = spawn(process.execPath, [join(import.meta.dirname, '..', 'src', 'main.mjs'), 'run']);
    const heard = [];
    const ended = new Promise((resolve) => child.on('close', resolve));
    child.stdin.write(`${JSON.stringify(request)}\n`);
    for await (const text of child.stdout.setEncoding('utf8')) {
        if (heard.length === 0) {
            const other = new DatabaseSync(path);
            other.exec('BEGIN IMMEDIATE');
            child.stdin.end('{"type":"go"}\n');
            setTimeout(() => {
                other.exec('COMMIT');
                other.close();
            }, 1_500);
        }
        heard.push(text);
    }
    await ended;
    return JSON.parse(heard.join('').trim().split('\n').at(-1));
}
