// Six ways to write to SQLite from many asynchronous callers of one Node.js process. Each opens a database and returns
// `write(sql, params)`, which resolves with the rows of one transaction after its commit, `pragma(name)` of the
// connection that writes, `close()`, and the commits so far where the layer counts them.

import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';

import { open } from '../src/index.mjs';

/** The runner's packages, which `litelab runners build node` installs and compiles. */
const require = createRequire(new URL('../../../runners/node/package.json', import.meta.url));

/** A turn of the event loop, as between two requests of a server. */
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** One transaction for each call, in this thread: the caller's turn comes when the transactions before it are done. */
function blocking(db, hasColumns) {
    const prepared = new Map();
    return async (sql, params) => {
        await turn();
        let statement = prepared.get(sql);
        if (statement === undefined) {
            statement = db.prepare(sql);
            statement.hasColumns = hasColumns(statement);
            prepared.set(sql, statement);
        }
        return statement.hasColumns ? statement.all(...params) : (statement.run(...params), []);
    };
}

async function onewriter(driver, path, synchronous) {
    const db = await open(path, { driver, synchronous });
    return {
        write: async (sql, params) => (await db.execute(sql, params)).rows,
        pragma: async (name) => (await db.execute(`SELECT * FROM pragma_${name}`)).rows[0][name],
        commits: () => db.counts.commits,
        close: () => db.close(),
    };
}

/** The threads of better-sqlite3's documentation: one message and one commit for each transaction. */
async function worker(path, synchronous) {
    const thread = new Worker(new URL('worker.mjs', import.meta.url), { workerData: { path, synchronous } });
    const waiting = [];
    thread.on('message', ({ rows, error }) => {
        const { resolve, reject } = waiting.shift();
        if (error === undefined) resolve(rows);
        else reject(new Error(error));
    });
    const ask = (sql, params) =>
        new Promise((resolve, reject) => {
            waiting.push({ resolve, reject });
            thread.postMessage({ sql, params });
        });
    return {
        write: ask,
        pragma: async (name) => (await ask(`PRAGMA ${name}`, []))[0][name],
        close: () => thread.terminate(),
    };
}

async function betterSqlite3(path, synchronous) {
    const db = new (require('better-sqlite3'))(path);
    db.pragma('journal_mode = WAL');
    db.pragma(`synchronous = ${synchronous}`);
    return {
        write: blocking(db, (statement) => statement.reader),
        pragma: async (name) => db.pragma(name, { simple: true }),
        close: async () => db.close(),
    };
}

async function nodeSqlite(path, synchronous) {
    const { DatabaseSync } = require('node:sqlite');
    const db = new DatabaseSync(path);
    db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous}`);
    return {
        write: blocking(db, (statement) => statement.columns().length > 0),
        pragma: async (name) => db.prepare(`PRAGMA ${name}`).get()[name],
        close: async () => db.close(),
    };
}

/** Callbacks from libuv's pool, one connection. */
async function sqlite3(path, synchronous) {
    const { Database } = require('sqlite3');
    const db = new Database(path);
    const call = (on, method, ...args) =>
        new Promise((resolve, reject) => {
            on[method](...args, (error, rows) => (error ? reject(error) : resolve(rows)));
        });
    await call(db, 'exec', `PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous}`);
    const prepared = new Map();
    return {
        async write(sql, params) {
            let statement = prepared.get(sql);
            if (statement === undefined) prepared.set(sql, (statement = db.prepare(sql)));
            return call(statement, 'all', params);
        },
        pragma: async (name) => (await call(db, 'all', `PRAGMA ${name}`))[0][name],
        async close() {
            for (const statement of prepared.values()) await call(statement, 'finalize');
            await call(db, 'close');
        },
    };
}

export const LAYERS = {
    'onewriter, node:sqlite': (...args) => onewriter('node:sqlite', ...args),
    'onewriter, better-sqlite3': (...args) => onewriter('better-sqlite3', ...args),
    'better-sqlite3 in a worker': worker,
    'better-sqlite3': betterSqlite3,
    'node:sqlite': nodeSqlite,
    sqlite3: sqlite3,
};

/** Returns the package that a layer needs and that is not there, if there is one. */
export function missing(layer) {
    const [name] = /^(better-)?sqlite3/.exec(layer) ?? [];
    try {
        if (name !== undefined) require(name);
    } catch {
        return name;
    }
}
