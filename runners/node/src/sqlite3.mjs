// The driver `sqlite3` (node-sqlite3): https://github.com/TryGhost/node-sqlite3. Its calls run in libuv's thread pool,
// one after the other on each connection, and answer through callbacks.

import { createRequire } from 'node:module';

import { nameOf } from './codes.mjs';
import { Fault } from './driver.mjs';
import { of32Bits, typed } from './placeholders.mjs';
import { job, keep, next, take } from './work.mjs';

const require = createRequire(import.meta.url);
const library = require('sqlite3');

/** SQLITE_OPEN_EXRESCODE: the library cannot request extended result codes, but passes flags to SQLite. */
const EXTENDED_CODES = 0x02000000;
const FLAGS = library.OPEN_READWRITE | library.OPEN_CREATE | library.OPEN_FULLMUTEX | library.OPEN_URI | EXTENDED_CODES;

/** Statements that count changes. After other statements SQLite still returns the count of an earlier one. */
const CHANGES = /^(?:\s|--[^\n]*\n|\/\*(?:[^*]|\*(?!\/))*\*\/)*(?:insert|update|delete|replace|with)\b/i;

/** Converts the callback of a call to a promise. */
function answer(on, method, ...args) {
    return new Promise((resolve, reject) => {
        on[method](...args, (error, value) => (error ? reject(fault(error)) : resolve(value)));
    });
}

/**
 * Converts the callback of a call of a cached statement to a promise, and resets the statement after an error.
 *
 * A statement that found a lock taken would keep its snapshot, even after a ROLLBACK, until it is reset.
 */
function ask(statement, method, args) {
    return new Promise((resolve, reject) => {
        statement[method](args, (error, value) => (error ? reset(statement, fault(error), reject) : resolve(value)));
    });
}

const reset = (statement, error, reject) => statement.reset(() => reject(error));

/** The library reports names of primary codes only; the number is the extended code. */
const fault = ({ errno, message }) => new Fault(`${nameOf(errno)}: ${message}`, errno);

/**
 * Creates the function that executes a statement, by kind of fetch. Each call of the library uses one promise, without
 * another around it.
 *
 * @type {Record<string, (statement: object, task: import('./work.mjs').Task, session: Sqlite3) =>
 *     import('./driver.mjs').Execute>}
 */
const EXECUTE = {
    run: (statement, { counts }) => (args) =>
        new Promise((resolve, reject) => {
            statement.run(args, (error) =>
                error ? reset(statement, fault(error), reject) : resolve(counts ? statement.changes : 0),
            );
        }),

    first: (statement, task) => async (args, effect) => {
        const row = await ask(statement, 'get', args);
        // It keeps its read transaction open until it is reset.
        await answer(statement, 'reset');
        if (row === undefined) return 0;
        take(task, row, effect);
        return 1;
    },

    'first-of-all': (statement, task) => async (args, effect) => {
        const row = (await ask(statement, 'all', args))[0];
        if (row === undefined) return 0;
        take(task, row, effect);
        return 1;
    },

    buffer: (statement, task, session) => async (args, effect) => {
        const all = await ask(statement, 'all', args);
        if (effect.timed) effect.query = effect.clock.now();
        if (session.stringify && task.reads) {
            session.text = JSON.stringify(all);
            if (all.length > 0) keep(task, all[0], effect);
            return all.length;
        }
        all.forEach((row, before) => next(task, row, before, effect));
        return all.length;
    },

    /**
     * The callbacks for an error and for the end may come in either order; calls queued later, such as a reset, come
     * after both. After a row the end is accepted at once, because errors are rare then: one that comes late ends the
     * trial.
     */
    all: (statement, task, session) => (args, effect) =>
        new Promise((resolve, reject) => {
            if (session.late !== null) return reject(session.late);
            let count = 0;
            let over = false;
            let failed = false;
            const fail = (error) => {
                if (over) session.late = new Fault(`after its rows: ${error.message}`);
                else reset(statement, error, reject);
                failed = true;
            };
            const row = (error, row) => {
                if (error) return fail(fault(error));
                try {
                    next(task, row, count++, effect);
                } catch (error) {
                    fail(error);
                }
            };
            const end = () => {
                if (failed) return;
                if (count === 0) return statement.reset(() => failed || resolve(0));
                over = true;
                resolve(count);
            };
            statement.each(args, row, end);
            if (effect.timed) effect.query = effect.clock.now();
        }),

    none: (statement, task) => async (args, effect) => {
        const all = await ask(statement, 'all', args);
        if (effect.timed) effect.query = effect.clock.now();
        if (all.length > 0) keep(task, all[0], effect);
        return all.length;
    },
};

/** @implements {import('./driver.mjs').Session} */
class Sqlite3 {
    /** By transaction and statement of the trial. */
    statements = [];
    brackets = new Map();
    /** All cached statements. */
    all = [];
    /** An error that arrived after its execution had been counted. */
    late = null;
    /** Other sessions of the same connection. */
    others = [];
    /** The last result as text, with option `stringify`. */
    text = '';

    /** @param {boolean} stringify whether to read a buffered result by JSON.stringify, as a server that answers with it */
    constructor(db, stringify) {
        this.db = db;
        this.stringify = stringify;
    }

    rows(sql) {
        return answer(this.db, 'all', sql);
    }

    /** Unlike `prepare` of the library, this function reports its completion. */
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
        // The library does not report the number of columns; the program of the statement does:
        // https://sqlite.org/opcode.html
        const program = await this.rows(`EXPLAIN ${sql}`);
        const columns = program.find((instruction) => instruction.opcode === 'ResultRow')?.p2 ?? 0;
        if (columns < spec.yields.length) {
            throw new Fault(`${spec.sql}: it has ${columns} columns, and yields ${spec.yields.join(', ')}`);
        }
        // The error of an autocommit that fails when the statement is left after its first row is lost, but not if it
        // is stepped to the end.
        const stepOut = transaction.begin === 'none' && /\breturning\b/i.test(spec.sql);
        const fetch = columns === 0 ? 'run' : spec.fetch === 'first' && stepOut ? 'first-of-all' : spec.fetch;
        const reads = spec.work.kind === 'read';
        const counts = CHANGES.test(spec.sql);
        const task = { job: job(spec.work, null), reads, yields: spec.yields.length, columns, counts };
        if (once) return EXECUTE[fetch](await this.#keep(sql), task, this);
        return async (args, effect) => {
            const statement = await this.compile(sql);
            try {
                return await EXECUTE[fetch](statement, task, this)(args, effect);
            } finally {
                await answer(statement, 'finalize');
            }
        };
    }

    statement(transaction, at) {
        return this.statements[transaction][at];
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
            // The library does not report whether a transaction is open.
            if (!/no transaction is active/.test(error.message)) throw error;
        }
    }

    #bracket(sql) {
        const statement = this.brackets.get(sql);
        return statement === undefined ? answer(this.db, 'run', sql) : ask(statement, 'run', []);
    }

    /**
     * Returns another session: the library runs calls of one statement one at a time, but those of several
     * concurrently.
     */
    async another(trial, used) {
        const other = new Sqlite3(this.db, this.stringify);
        await other.prepare(trial, used);
        this.others.push(other);
        return other;
    }

    async close() {
        for (const session of [this, ...this.others]) {
            if (session.late !== null) throw session.late;
            for (const statement of session.all) await answer(statement, 'finalize');
        }
        await answer(this.db, 'close');
    }
}

/** Opens with the arguments of the constructor other than the callback, and the options that are calls after it. */
const open = (args, options) =>
    new Promise((resolve, reject) => {
        const db = new library.Database(...args, (error) => {
            if (error) return reject(fault(error));
            if ('busyTimeout' in options) db.configure('busyTimeout', options.busyTimeout);
            if (options.serialize === true) db.serialize();
            resolve(new Sqlite3(db, options.stringify === true));
        });
    });

/** @type {import('./driver.mjs').Driver} */
export default {
    version: require('sqlite3/package.json').version,
    executors: ['threads', 'processes', 'offload'],
    options: ['busyTimeout', 'deflate', 'serialize', 'stringify'],
    integers: 'number',
    sharedMemory: true,
    open: (path, options) => open([path, FLAGS], options),
    openDsn: (dsn, options) => {
        const unknown = Object.keys(options).find((name) => !['mode', 'busyTimeout'].includes(name));
        if (unknown !== undefined) throw new Fault(`option \`${unknown}\`: this driver has mode, busyTimeout`);
        return open('mode' in options ? [dsn, options.mode] : [dsn], options);
    },
};
