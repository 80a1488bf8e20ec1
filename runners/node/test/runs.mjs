// Trials for tests, and an exchange of messages with the runner.

import { AssertionError } from 'node:assert';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout } from 'node:timers/promises';

const MAIN = join(import.meta.dirname, '..', 'src', 'main.mjs');

/** Creates a folder that is removed after the test. */
export function folder(t) {
    const made = mkdtempSync(join(tmpdir(), 'litelab-node-'));
    t.after(() => rmSync(made, { recursive: true, force: true }));
    return made;
}

/** Creates a database with this schema. */
export function database(t, schema = 'CREATE TABLE t(id INTEGER PRIMARY KEY, worker INTEGER, value TEXT)') {
    const path = join(folder(t), 'test.db');
    const db = new DatabaseSync(path);
    db.exec(schema);
    db.close();
    return path;
}

/** Returns all rows of a query as objects. */
export function rows(path, sql) {
    const db = new DatabaseSync(path, { readOnly: true });
    const all = db.prepare(sql).all();
    db.close();
    return all.map((row) => ({ ...row }));
}

export const statement = (sql, bind, more = {}) => ({
    sql,
    bind,
    tuples: 1,
    repeat: 1,
    fetch: 'none',
    work: { kind: 'none' },
    yields: [],
    required: false,
    hold_us: 0,
    ...more,
});

export const transaction = (name, params, statements, more = {}) => ({
    name,
    begin: 'none',
    writes: true,
    hold_us: 0,
    timed_rows: false,
    params: Object.entries(params).map(([name, source]) => ({ name, source })),
    statements,
    ...more,
});

/** Inserts a row with the numbers of its operation and its worker. */
export const insert = (more) =>
    transaction(
        'insert',
        { id: { kind: 'sequence', start: 0, step: 1 }, worker: { kind: 'worker' }, value: { kind: 'hex', bytes: 8 } },
        [statement('INSERT INTO t VALUES (?1, ?2, ?3)', [0, 1, 2])],
        more,
    );

/** Reads all rows. */
export const read = (more) =>
    transaction('read', {}, [statement('SELECT * FROM t', [], { fetch: 'all', work: { kind: 'read' } })], {
        writes: false,
        ...more,
    });

export const role = (name, workers, at, until, more = {}) => ({
    name,
    workers,
    first_worker: 0,
    first_in_role: 0,
    workers_in_role: workers,
    order: 'cycle',
    steps: [{ transaction: at, weight: 1, stride: workers, offset: 0 }],
    load: { kind: 'closed', think_us: 0 },
    until,
    ...more,
});

export const count = (transactions) => ({ kind: 'count', transactions });

export const trial = (driver, path, transactions, roles, more = {}) => ({
    protocol: 3,
    id: 'test',
    driver,
    executor: driver === 'sqlite3' ? 'offload' : 'inline',
    sharing: { kind: 'own-connection' },
    databases: [{ kind: 'file', path }],
    connection: {
        settings: [
            { name: 'journal_mode', sql: 'PRAGMA journal_mode = WAL' },
            { name: 'synchronous', sql: 'PRAGMA synchronous = OFF' },
            { name: 'busy_timeout', sql: 'PRAGMA busy_timeout = 5000' },
        ],
        read_back: ['journal_mode', 'synchronous', 'busy_timeout'],
        options: {},
    },
    prepare: 'once',
    retry: { attempts: 1, backoff_us: 0, multiplier: 1, max_backoff_us: 0, on: [] },
    seed: 1,
    transactions,
    roles,
    warmup_ms: 0,
    drain_ms: 10_000,
    tick_ms: 50,
    probe_ms: 10,
    runtime_threads: null,
    ...more,
});

/** Sends a request to the runner, and `go` when it is ready; collects its output until it ends. */
export function converse(verb, request, go = true) {
    const child = spawn(process.execPath, [MAIN, verb], { stdio: ['pipe', 'pipe', 'pipe'] });
    let heard = '';
    let errors = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
        const before = heard.includes('\n');
        heard += text;
        if (verb === 'run' && !before && heard.includes('\n') && heard.startsWith('{"type":"ready"')) {
            child.stdin.end(go ? '{"type":"go"}\n' : '');
        }
    });
    child.stderr.setEncoding('utf8').on('data', (text) => (errors += text));
    child.stdin.on('error', () => {});
    child.stdin.write(request === undefined ? '' : `${JSON.stringify(request)}\n`);
    if (verb !== 'run') child.stdin.end();
    return new Promise((resolve) => {
        child.on('close', (code) => {
            const lines = heard
                .split('\n')
                .filter(Boolean)
                .map((line) => JSON.parse(line));
            resolve({ code, errors, lines, last: lines.at(-1) });
        });
    });
}

const TRIES = 5;
const PAUSE_MS = 200;

/**
 * Repeats `look` until no assertion fails, up to five times: a busy machine can spoil single attempts, a fault spoils
 * all.
 */
export async function tries(look) {
    for (let tried = 0; ; tried += 1) {
        try {
            return await look(tried);
        } catch (error) {
            if (!(error instanceof AssertionError) || tried + 1 === TRIES) throw error;
        }
        // Wait for a burst of load to pass.
        await setTimeout(PAUSE_MS * 2 ** tried);
    }
}

/** Runs a trial and returns its result. */
export async function result(request) {
    const { last, lines, errors } = await converse('run', request);
    if (last?.type !== 'result') throw new Error(`no result: ${JSON.stringify(last)} ${errors}`);
    return { ...last, ready: lines[0], ticks: lines.filter(({ type }) => type === 'tick') };
}

/** The drivers that can be loaded here. */
export const { last: description } = await converse('describe');
