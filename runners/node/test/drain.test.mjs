// The window and the drain: what counts for a transaction during which the warm-up or the role ends, and the report of
// an unfinished one.

import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';

import { End } from '../src/clock.mjs';
import { Progress } from '../src/progress.mjs';
import { leave, stage } from '../src/stage.mjs';
import { converse, count, database, description, insert, read, role, tries, trial } from './runs.mjs';

const MS = 1e6;
const time = (ms) => ({ kind: 'time', ms });
const progress = (warm, end) => new Progress(Progress.memory(), warm, end);

/** Runs a transaction from one time to another. Returns whether it ended in the window. */
function run(worker, from, to, committed = true) {
    worker.begin(0, from, null);
    assert.ok(worker.over());
    return worker.account(committed, to);
}

test('what is inside the window is clipped to it, and the rest is outside', () => {
    const worker = progress(100, new End(1000, null, 0));
    for (const [from, to, ended] of [
        [10, 100, false],
        [100, 250, true],
        [250, 300, true],
        [400, 1000, true],
        [1000, 1700, false],
    ]) {
        assert.equal(run(worker, from, to), ended, `from ${from} to ${to}`);
    }
    worker.stop(1750, null);
    assert.deepEqual(worker.times(), { inside_ns: 800, outside_ns: 100, stall_ns: 700 });
    assert.equal(worker.unfinished, null);
});

test('a stall lasts from `go` or a commit to the next one, or to the end', () => {
    for (const [commits, stall] of [
        [[], 900],
        [[700], 700],
        [[100, 600, 650], 500],
        [[10, 20], 880],
    ]) {
        const worker = progress(0, new End(Infinity, null, 0));
        for (const at of commits) run(worker, at - 5, at);
        run(worker, 800, 850, false);
        worker.stop(900, null);
        assert.equal(worker.times().stall_ns, stall, `${commits}`);
    }
});

test('the window of a role ends with the last worker of the one it waits for', () => {
    const roles = [role('w', 2, 0, count(1)), role('r', 1, 0, { kind: 'role', name: 'w' })];
    const memory = { roles, databases: [{}] };
    const shared = stage(memory);
    const worker = progress(100, End.of(memory, roles[1], shared));
    leave(shared, 0, { now: () => 300 });
    assert.ok(run(worker, 50, 400));
    leave(shared, 0, { now: () => 500 });
    assert.ok(!run(worker, 450, 600));
    worker.stop(610, null);
    assert.deepEqual(worker.times(), { inside_ns: 350, outside_ns: 50, stall_ns: 400 });
});

test('a transaction is either over or abandoned', () => {
    const worker = progress(100, new End(1000, null, 0));
    assert.ok(!worker.abandon(900), 'nothing is under way');
    assert.ok(!run(worker, 0, 50));
    worker.begin(2, 600, 580);
    assert.ok(worker.abandon(1500));
    assert.ok(!worker.over());
    assert.deepEqual(worker.unfinished, { step: 2, service_ns: 900, response_ns: 920 });
    assert.deepEqual(worker.times(), { inside_ns: 400, outside_ns: 500, stall_ns: 1450 });
});

/** Returns the result of a trial, and checks that the process has exited with 0. */
async function outcome(request) {
    const { code, last, lines, errors } = await converse('run', request);
    assert.deepEqual([code, last?.type, errors], [0, 'result', '']);
    return { ...last, ticks: lines.filter(({ type }) => type === 'tick') };
}

const has = (driver) => description.drivers.some(({ name }) => name === driver);
const connection = (timeout) => ({
    settings: [{ name: 'busy_timeout', sql: `PRAGMA busy_timeout = ${timeout}` }],
    read_back: [],
    options: {},
});

/** Creates a database whose write lock the test holds until its end. */
function locked(t) {
    const path = database(t);
    const other = new DatabaseSync(path);
    t.after(() => other.close());
    other.exec('PRAGMA journal_mode = WAL; BEGIN IMMEDIATE');
    return path;
}

const WINDOW = 200;
const WARM = 100;
const DRAIN = 200;
const LAST = WARM + WINDOW + DRAIN;
/** Longer than a test may take: a process that waits for the lock does not end. */
const FOR_EVER = 600_000;
const stuck = (more) => ({ warmup_ms: WARM, drain_ms: DRAIN, connection: connection(FOR_EVER), ...more });

for (const [driver, executor, sharing] of [
    ['better-sqlite3', 'threads', { kind: 'own-connection' }],
    ['better-sqlite3', 'threads', { kind: 'pool', connections: 1 }],
    ['better-sqlite3', 'threads', { kind: 'app-lock' }],
    ['better-sqlite3', 'processes', { kind: 'own-connection' }],
    ['better-sqlite3', 'dedicated', { kind: 'one-connection' }],
    ['node:sqlite', 'threads', { kind: 'one-connection' }],
    ['node:sqlite', 'processes', { kind: 'own-connection' }],
    ['node:sqlite', 'dedicated', { kind: 'own-connection' }],
    ['sqlite3', 'threads', { kind: 'own-connection' }],
    ['sqlite3', 'offload', { kind: 'one-connection' }],
    ['sqlite3', 'offload', { kind: 'pool', connections: 1 }],
]) {
    test(`${driver} on ${executor}, ${sharing.kind}: who waits for a lock is unfinished`, async (t) => {
        if (!has(driver)) return t.skip(`${driver} was not built`);
        await tries(async () => {
            const load = { kind: 'open', rate: 100, arrivals: 'constant' };
            const roles = [
                role('closed', 1, 0, time(WARM + WINDOW)),
                role('open', 1, 0, time(WARM + WINDOW), { first_worker: 1, load }),
            ];
            const request = trial(driver, locked(t), [insert()], roles, stuck({ executor, sharing }));
            const { operations, workers, ticks, elapsed_ns } = await outcome(request);
            assert.ok(elapsed_ns >= LAST * MS, `${elapsed_ns}`);
            for (const { committed, ended, measured, failed, unfinished, role } of operations) {
                assert.deepEqual([committed, ended, measured, failed, unfinished.length], [0, 0, 0, 0, 1]);
                const [{ service_ns, response_ns }] = unfinished;
                // The first began at once or 10 ms later: in the warm-up, unless the machine was busy.
                assert.ok(service_ns <= elapsed_ns && service_ns > (WINDOW + DRAIN) * MS, `${service_ns}`);
                assert.equal(response_ns === null, role === 'closed');
                assert.ok(response_ns === null || (response_ns >= service_ns && response_ns <= elapsed_ns - 10 * MS));
            }
            for (const { inside_ns, outside_ns, stall_ns } of workers) {
                assert.deepEqual([inside_ns, outside_ns], [WINDOW * MS, 0]);
                assert.ok(stall_ns >= LAST * MS && stall_ns <= elapsed_ns);
            }
            assert.ok(ticks.at(-1).t_ms >= LAST && ticks.some(({ t_ms }) => t_ms > WARM + WINDOW && t_ms < LAST));
        });
    });
}

for (const executor of ['threads', 'processes', 'inline', 'offload', 'dedicated']) {
    test(`${executor}: what begins in the warm-up can end in the window, and what begins there can end after it`, (t) =>
        tries(async () => {
            const roles = [role('r', 1, 0, time(500))];
            const more = { executor, warmup_ms: 200, drain_ms: 5000 };
            const long = insert({ hold_us: 350_000 });
            const { operations, workers } = await outcome(trial('noop', database(t), [long], roles, more));
            const [{ committed, ended, measured, rows, unfinished }] = operations;
            assert.deepEqual([committed, ended, measured, rows, unfinished], [2, 1, 1, 1, []]);
            const [worker] = workers;
            assert.equal(worker.inside_ns + worker.outside_ns, 300 * MS);
            assert.deepEqual([worker.committed, worker.ended], [2, 1]);
            assert.ok(worker.inside_ns > 250 * MS && worker.stall_ns >= 350 * MS);
        }));
}

test('a role that waits for one with an abandoned worker ends when its drain has passed', async (t) => {
    for (const executor of ['threads', 'dedicated']) {
        const roles = [
            role('w', 1, 0, time(WARM + WINDOW)),
            role('r', 1, 1, { kind: 'role', name: 'w' }, { first_worker: 1 }),
        ];
        const request = trial('better-sqlite3', locked(t), [insert(), read()], roles, stuck({ executor }));
        const { operations, workers } = await outcome(request);
        const [w, r] = operations;
        assert.deepEqual([w.unfinished.length, r.unfinished, r.committed > 0], [1, [], true]);
        assert.ok(r.ended <= r.committed && r.ended >= r.measured - 1);
        assert.ok(workers[1].inside_ns + workers[1].outside_ns >= (WINDOW + DRAIN) * MS);
    }
});

test('a call that holds the loop is followed to its end, whatever the drain', async (t) => {
    const roles = [role('r', 1, 0, time(WARM + WINDOW))];
    const more = stuck({ executor: 'inline', connection: connection(2 * LAST) });
    const { operations, workers } = await outcome(trial('better-sqlite3', locked(t), [insert()], roles, more));
    const [{ failed, errors, unfinished }] = operations;
    assert.deepEqual([failed, errors, unfinished], [1, { SQLITE_BUSY: { seen: 1, cured: 0, message: 'database is locked' } }, []]);
    assert.deepEqual([workers[0].inside_ns, workers[0].outside_ns], [WINDOW * MS, 0]);
    assert.ok(workers[0].stall_ns > 1.9 * LAST * MS);
});

test('the errors of one that is tried again until it is abandoned are known', async (t) => {
    for (const executor of ['threads', 'inline', 'dedicated']) {
        const retry = { attempts: 1e9, backoff_us: 5000, multiplier: 1, max_backoff_us: 5000, on: ['SQLITE_BUSY'] };
        const roles = [role('r', 1, 0, time(WARM + WINDOW))];
        const more = stuck({ executor, retry, connection: connection(0) });
        const { operations, ticks } = await outcome(trial('better-sqlite3', locked(t), [insert()], roles, more));
        const [{ failed, errors, unfinished }] = operations;
        assert.deepEqual([failed, unfinished.length, errors.SQLITE_BUSY.cured], [0, 1, 0]);
        const counts = ticks.flatMap(({ counts }) => counts);
        for (const kind of ['errors', 'busy']) {
            const sum = counts.reduce((sum, count) => sum + count[kind], 0);
            assert.equal(sum, errors.SQLITE_BUSY.seen, kind);
        }
        assert.ok(errors.SQLITE_BUSY.seen > 1);
    }
});

test('the errors of an abandoned transaction do not count, though another role goes on', (t) =>
    tries(async () => {
        for (const executor of ['threads', 'inline', 'dedicated']) {
            const retry = { attempts: 1e9, backoff_us: 5000, multiplier: 1, max_backoff_us: 5000, on: ['SQLITE_BUSY'] };
            const roles = [
                role('w', 1, 0, time(WARM + WINDOW)),
                role('r', 1, 1, time(LAST + 600), { first_worker: 1, load: { kind: 'closed', think_us: 5000 } }),
            ];
            const more = stuck({ executor, retry, connection: connection(0) });
            const { ticks } = await outcome(trial('better-sqlite3', locked(t), [insert(), read()], roles, more));
            const errors = (from, to) => {
                const some = ticks.filter(({ t_ms }) => t_ms > from && t_ms <= to).flatMap(({ counts }) => counts);
                return some.reduce((sum, count) => sum + count.errors, 0);
            };
            assert.ok(errors(0, LAST) > 1, executor);
            assert.equal(errors(LAST + 300, Infinity), 0, executor);
        }
    }));
