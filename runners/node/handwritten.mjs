// The loop that a developer would write for one question, to measure the overhead of the runner: the same random values
// from the same generator, in a separate thread like a worker, without a clock around transactions, without a
// histogram, and without options.
//
// `handwritten.mjs DRIVER insert|batch|read DB N SEED` inserts N rows one by one under autocommit, inserts N batches of
// 1000 in transactions, or reads N random rows by rowid. Prints operations per second.

import { createRequire } from 'node:module';
import { DatabaseSync } from 'node:sqlite';
import { Worker, isMainThread, workerData } from 'node:worker_threads';

import { Stream } from './src/generator.mjs';

const INSERT = "INSERT INTO kv(k, v) VALUES (?, 'value of this row, of some length')";
const READ = 'SELECT id, k, v FROM kv WHERE id = ?';
const require = createRequire(import.meta.url);

function stream(seed, name) {
    const words = new Stream(seed, name);
    return (row, width) => {
        words.word(row);
        return 1 + words.below(width);
    };
}

/** Both libraries have the same methods for this. */
const blocking = {
    open(driver, path) {
        const db = driver === 'node:sqlite' ? new DatabaseSync(path) : new (require('better-sqlite3'))(path);
        db.exec('PRAGMA journal_mode = WAL');
        db.exec('PRAGMA synchronous = NORMAL');
        return db;
    },

    insert(db, n, seed) {
        const uniform = stream(seed, 'insert.k');
        const insert = db.prepare(INSERT);
        for (let row = 0; row < n; row++) insert.run(uniform(row, 1_000_000));
    },

    batch(db, n, seed) {
        const uniform = stream(seed, 'batch.k');
        const [begin, insert, commit] = ['BEGIN IMMEDIATE', INSERT, 'COMMIT'].map((sql) => db.prepare(sql));
        for (let at = 0; at < n; at++) {
            begin.run();
            for (let row = at * 1000; row < (at + 1) * 1000; row++) insert.run(uniform(row, 1_000_000));
            commit.run();
        }
    },

    rows: (db) => db.prepare('SELECT count(*) AS rows FROM kv').get().rows,

    read(db, n, seed, rows) {
        const uniform = stream(seed, 'read.id');
        const read = db.prepare(READ);
        let sum = 0;
        for (let at = 0; at < n; at++) {
            for (const row of read.iterate(uniform(at, rows))) sum += row.id + row.k + row.v.length;
        }
        return sum;
    },
};

/** node-sqlite3 with each callback as a promise. */
const offloaded = {
    async open(_, path) {
        const { Database } = require('sqlite3');
        const db = await new Promise((opened) => {
            const db = new Database(path, () => opened(db));
        });
        await call(db, 'exec', 'PRAGMA journal_mode = WAL');
        await call(db, 'exec', 'PRAGMA synchronous = NORMAL');
        return db;
    },

    async insert(db, n, seed) {
        const uniform = stream(seed, 'insert.k');
        const insert = db.prepare(INSERT);
        for (let row = 0; row < n; row++) await call(insert, 'run', uniform(row, 1_000_000));
    },

    async batch(db, n, seed) {
        const uniform = stream(seed, 'batch.k');
        const [begin, insert, commit] = ['BEGIN IMMEDIATE', INSERT, 'COMMIT'].map((sql) => db.prepare(sql));
        for (let at = 0; at < n; at++) {
            await call(begin, 'run');
            for (let row = at * 1000; row < (at + 1) * 1000; row++) await call(insert, 'run', uniform(row, 1_000_000));
            await call(commit, 'run');
        }
    },

    rows: async (db) => (await call(db, 'all', 'SELECT count(*) AS rows FROM kv'))[0].rows,

    async read(db, n, seed, rows) {
        const uniform = stream(seed, 'read.id');
        const read = db.prepare(READ);
        let sum = 0;
        const add = (_, row) => (sum += row.id + row.k + row.v.length);
        for (let at = 0; at < n; at++) await new Promise((done) => read.each(uniform(at, rows), add, done));
        return sum;
    },
};

const call = (on, method, ...args) =>
    new Promise((resolve, reject) => on[method](...args, (error, value) => (error ? reject(error) : resolve(value))));

if (isMainThread) {
    new Worker(new URL(import.meta.url), { workerData: process.argv.slice(2) });
} else {
    const [driver, verb, path, n, seed] = workerData;
    const loops = driver === 'sqlite3' ? offloaded : blocking;
    const db = await loops.open(driver, path);
    const rows = await loops.rows(db);
    const start = performance.now();
    await loops[verb](db, Number(n), Number(seed), rows);
    console.log(((Number(n) / (performance.now() - start)) * 1000).toFixed(3));
}
