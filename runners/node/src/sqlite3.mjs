// The driver `sqlite3` (node-sqlite3): https://github.com/TryGhost/node-sqlite3. Its calls run in libuv's thread pool,
// one after the other on each connection, and answer through callbacks.

import { createRequire } from 'node:module';

import { nameOf } from './codes.mjs';
import { Fault } from './driver.mjs';
import { of32Bits, typed } from './placeholders.mjs';
import { job, yielded } from './work.mjs';

const require = createRequire(import.meta.url);
const library = require('sqlite3');

/** SQLITE_OPEN_EXRESCODE: the library has no call that asks for extended result codes, but hands flags on to SQLite. */
const EXTENDED_CODES = 0x02000000;
const FLAGS = library.OPEN_READWRITE | library.OPEN_CREATE | library.OPEN_FULLMUTEX | library.OPEN_URI | EXTENDED_CODES;

/** Statements that count changes. After others SQLite still has the count of the last one that did. */
const CHANGES = /^\s*(insert|update|delete|replace|with)\b/i;

/** A call with its callback as a promise. */
function answer(on, method, ...args) {
    return new Promise((resolve, reject) => {
        on[method](...args, (error, value) => (error ? reject(fault(error)) : resolve(value)));
    });
}

/** A statement that found a lock taken goes on holding its snapshot, even over a ROLLBACK, until it is reset. */
async function reset(statement, error) {
    await answer(statement, 'reset');
    throw error;
}

/** The library names primary codes only; the number is the extended one. */
const fault = ({ errno, message }) => new Fault(`${nameOf(errno)}: ${message}`, errno);

/** @implements {import('./driver.mjs').Session} */
class Sqlite3 {
    statements = [];
    brackets = new Map();
    /** All that are kept. */
    all = [];
    /** An error that came when its execution had been counted. */
    late = null;

    constructor(db) {
        this.db = db;
    }

    rows(sql) {
        return answer(this.db, 'all', sql);
    }

    /** Unlike the library's `prepare`, this one says that it is done. */
    compile(sql) {
        return new Promise((resolve, reject) => {
            const statement = this.db.prepare(sql, (error) => (error ? reject(fault(error)) : resolve(statement)));
        });
    }

    async #keep(sql) {
        const statement = await this.compile(sql);
        this.all.push(statement);
        return statement;
    }

    async prepare(trial, used) {
        const once = trial.prepare === 'once';
        for (const [at, transaction] of trial.transactions.entries()) {
            const prepared = [];
            for (const spec of used.includes(at) ? transaction.statements : []) {
                prepared.push(await this.#prepare(spec, transaction, once));
            }
            this.statements.push(prepared);
        }
        if (!once) return;
        for (const sql of ['BEGIN DEFERRED', 'BEGIN IMMEDIATE', 'BEGIN EXCLUSIVE', 'COMMIT']) {
            this.brackets.set(sql, await this.#keep(sql));
        }
    }

    async #prepare(spec, transaction, once) {
        const sql = typed(spec, transaction.params, of32Bits);
        // The library does not tell how many columns a statement has; its program does: https://sqlite.org/opcode.html
        const program = await this.rows(`EXPLAIN ${sql}`);
        const columns = program.find((instruction) => instruction.opcode === 'ResultRow')?.p2 ?? 0;
        if (columns < spec.yields.length) {
            throw new Fault(`${spec.sql}: it has ${columns} columns, and yields ${spec.yields.join(', ')}`);
        }
        // An autocommit that fails when the statement is left after its first row is lost; stepped out it is not.
        const stepOut = transaction.writes && transaction.begin === 'none';
        return {
            sql,
            statement: once ? await this.#keep(sql) : null,
            job: job(spec.work, null),
            fetch: columns === 0 ? 'run' : spec.fetch === 'first' && stepOut ? 'first-of-all' : spec.fetch,
            yields: spec.yields.length,
            counts: CHANGES.test(spec.sql),
        };
    }

    begin(begin) {
        return this.#bracket(`BEGIN ${begin.toUpperCase()}`);
    }

    commit() {
        return this.#bracket('COMMIT');
    }

    async rollback() {
        try {
            await answer(this.db, 'run', 'ROLLBACK');
        } catch (error) {
            // The library does not tell whether a transaction is open.
            if (!/no transaction is active/.test(error.message)) throw error;
        }
    }

    #bracket(sql) {
        const statement = this.brackets.get(sql);
        if (statement === undefined) return answer(this.db, 'run', sql);
        return answer(statement, 'run').catch((error) => reset(statement, error));
    }

    execute(transaction, at, args, effect) {
        if (this.late !== null) throw this.late;
        const prepared = this.statements[transaction][at];
        if (prepared.statement !== null) return this.#run(prepared, prepared.statement, args, effect);
        return this.#once(prepared, args, effect);
    }

    async #once(prepared, args, effect) {
        const statement = await this.compile(prepared.sql);
        try {
            return await this.#run(prepared, statement, args, effect);
        } finally {
            await answer(statement, 'finalize');
        }
    }

    async #run(prepared, statement, args, effect) {
        try {
            switch (prepared.fetch) {
                case 'run':
                    await answer(statement, 'run', args);
                    return prepared.counts ? statement.changes : 0;
                case 'first': {
                    const row = await answer(statement, 'get', args);
                    // Until it is reset it keeps its read transaction open.
                    await answer(statement, 'reset');
                    if (row === undefined) return 0;
                    this.#take(prepared, row, effect);
                    return 1;
                }
                case 'first-of-all': {
                    const row = (await answer(statement, 'all', args))[0];
                    if (row === undefined) return 0;
                    this.#take(prepared, row, effect);
                    return 1;
                }
                case 'all':
                    return await this.#each(prepared, statement, args, effect);
                default: {
                    const all = await answer(statement, 'all', args);
                    if (effect.timed) effect.query = effect.clock.now();
                    if (prepared.fetch === 'none') {
                        if (all.length > 0 && prepared.yields > 0) effect.first = yielded(all[0], prepared.yields);
                    } else {
                        all.forEach((row, before) => this.#next(prepared, row, before, effect));
                    }
                    return all.length;
                }
            }
        } catch (error) {
            return reset(statement, error);
        }
    }

    /**
     * Its error and its end come by different ways in no order; what is queued behind it, as a reset, comes after both.
     * After a row the end is believed at once, for errors are rare then: one that comes late ends the trial.
     */
    #each(prepared, statement, args, effect) {
        let count = 0;
        return new Promise((resolve, reject) => {
            let over = false;
            const fail = (error) =>
                over ? (this.late = new Fault(`after its rows: ${error.message}`)) : reject(error);
            const row = (error, row) => {
                if (error) return fail(fault(error));
                try {
                    this.#next(prepared, row, count++, effect);
                } catch (error) {
                    fail(error);
                }
            };
            const end = () => {
                if (count === 0) return statement.reset(() => resolve(0));
                over = true;
                resolve(count);
            };
            statement.each(args, row, end);
            if (effect.timed) effect.query = effect.clock.now();
        });
    }

    #next(prepared, row, before, effect) {
        if (before > 0) {
            if (prepared.job !== null) prepared.job(row, effect);
            return;
        }
        this.#take(prepared, row, effect);
        if (effect.timed) effect.firstRow = effect.clock.now();
    }

    #take(prepared, row, effect) {
        if (prepared.job !== null) prepared.job(row, effect);
        if (prepared.yields > 0) effect.first = yielded(row, prepared.yields);
    }

    async close() {
        if (this.late !== null) throw this.late;
        for (const statement of this.all) await answer(statement, 'finalize');
        await answer(this.db, 'close');
    }
}

/** @type {import('./driver.mjs').Driver} */
export default {
    version: require('sqlite3/package.json').version,
    executors: ['threads', 'processes', 'offload'],
    options: ['busyTimeout'],
    integers: 'number',
    sharedMemory: true,
    open: (path, options) =>
        new Promise((resolve, reject) => {
            const db = new library.Database(path, FLAGS, (error) => {
                if (error) return reject(fault(error));
                if ('busyTimeout' in options) db.configure('busyTimeout', options.busyTimeout);
                resolve(new Sqlite3(db));
            });
        }),
};
