// Sessions of drivers whose calls return when they are done. The two that there are have the same methods (`run`,
// `get`, `all`, `iterate`), so a driver is what differs: how to open, how to write parameters, and how to know whether
// a transaction is open.

import { Fault } from './driver.mjs';
import { ofDoubles, typed } from './placeholders.mjs';
import { job, next, take, yielded } from './work.mjs';

/** Statements that count changes. After others SQLite still has the count of the last one that did. */
const CHANGES = /^\s*(insert|update|delete|replace|with)\b/i;

const BEGIN = { deferred: 'BEGIN DEFERRED', immediate: 'BEGIN IMMEDIATE', exclusive: 'BEGIN EXCLUSIVE' };

/**
 * By the way to fetch, what makes of a statement and its task the function that executes it.
 *
 * @type {Record<string, (statement: object, task: import('./work.mjs').Task) => import('./driver.mjs').Execute>}
 */
const EXECUTE = {
    run: (statement, { counts }) => (args) => {
        const { changes } = statement.run(...args);
        return counts ? changes : 0;
    },

    first: (statement, task) => (args, effect) => {
        const row = statement.get(...args);
        if (row === undefined) return 0;
        take(task, row, effect);
        return 1;
    },

    'first-of-all': (statement, task) => (args, effect) => {
        const row = statement.all(...args)[0];
        if (row === undefined) return 0;
        take(task, row, effect);
        return 1;
    },

    buffer: (statement, task) => (args, effect) => {
        const all = statement.all(...args);
        if (effect.timed) effect.query = effect.clock.now();
        for (let at = 0; at < all.length; at++) next(task, all[at], at, effect);
        return all.length;
    },

    all: (statement, task) => (args, effect) => {
        let count = 0;
        const cursor = statement.iterate(...args);
        if (effect.timed) effect.query = effect.clock.now();
        for (const row of cursor) next(task, row, count++, effect);
        return count;
    },

    none: (statement, { yields }) => (args, effect) => {
        let count = 0;
        for (const row of statement.iterate(...args)) {
            if (count++ === 0 && yields > 0) effect.first = yielded(row, yields);
        }
        return count;
    },
};

/** @implements {import('./driver.mjs').Session} */
export class Blocking {
    /** By transaction and statement of the trial. */
    statements = [];
    /** `BEGIN …`, `COMMIT` and `ROLLBACK`; under `prepare = "each"` they are compiled each time, too. */
    brackets = null;

    /** @param {object} db the driver's connection */
    constructor(db) {
        this.db = db;
    }

    /**
     * The SQL as the driver wants it, and which parameter each of its positions takes; null where these are the same.
     *
     * @returns {{ text: string, order: number[] | null }}
     */
    translate(sql) {
        return { text: sql, order: null };
    }

    /** Names of a statement's columns; none where it returns no rows. */
    columns(statement) {
        return statement.columns().map((column) => column.name);
    }

    /** Whether a transaction is open. */
    get open() {
        throw new Fault('nothing tells whether a transaction is open');
    }

    rows(sql) {
        const statement = this.db.prepare(sql);
        if (this.columns(statement).length > 0) return statement.all();
        statement.run();
        return [];
    }

    prepare(trial, used) {
        const once = trial.prepare === 'once';
        this.statements = trial.transactions.map((transaction, at) =>
            used.includes(at) ? transaction.statements.map((spec) => this.#prepare(spec, transaction, once)) : [],
        );
        if (!once) return;
        const names = [...Object.values(BEGIN), 'COMMIT', 'ROLLBACK'];
        this.brackets = new Map(names.map((sql) => [sql, this.db.prepare(sql)]));
    }

    #prepare(spec, transaction, once) {
        const { text, order } = this.translate(typed(spec, transaction.params, ofDoubles));
        const statement = this.db.prepare(text);
        const columns = this.columns(statement);
        if (columns.length < spec.yields.length) {
            throw new Fault(`${spec.sql}: it has columns ${columns.join(', ')}, and yields ${spec.yields.join(', ')}`);
        }
        // An autocommit that fails when the statement is left after its first row is lost on these drivers; stepped to
        // the end it is not. All of what such a statement changes is done before its first row anyway.
        const stepOut = transaction.writes && transaction.begin === 'none';
        const fetch = columns.length === 0 ? 'run' : spec.fetch === 'first' && stepOut ? 'first-of-all' : spec.fetch;
        const task = { job: job(spec.work, columns), yields: spec.yields.length, counts: CHANGES.test(spec.sql) };
        const execute = once
            ? EXECUTE[fetch](statement, task)
            : (args, effect) => EXECUTE[fetch](this.db.prepare(text), task)(args, effect);
        return order === null ? execute : (args, effect) => execute(order.map((place) => args[place]), effect);
    }

    statement(transaction, at) {
        return this.statements[transaction][at];
    }

    begin(begin) {
        this.#bracket(BEGIN[begin]);
    }

    commit() {
        this.#bracket('COMMIT');
    }

    rollback() {
        // Some errors (SQLITE_FULL and others) roll back by themselves: https://sqlite.org/lang_transaction.html
        if (this.open) this.#bracket('ROLLBACK');
    }

    #bracket(sql) {
        if (this.brackets === null) this.db.exec(sql);
        else this.brackets.get(sql).run();
    }

    close() {
        this.db.close();
    }
}
