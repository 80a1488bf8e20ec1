// Sessions of drivers with blocking calls. The two drivers have the same methods (`run`, `get`, `all`, `iterate`), so a
// driver only defines the differences: how to open, how to write parameters, and how to find whether a transaction is
// open.

import { Fault } from './driver.mjs';
import { ofDoubles, typed } from './placeholders.mjs';
import { job, next, take, yielded } from './work.mjs';

/** Statements that count changes. After other statements SQLite still returns the count of an earlier one. */
const CHANGES = /^(?:\s|--[^\n]*\n|\/\*(?:[^*]|\*(?!\/))*\*\/)*(?:insert|update|delete|replace|with)\b/i;

const BEGIN = { deferred: 'BEGIN DEFERRED', immediate: 'BEGIN IMMEDIATE', exclusive: 'BEGIN EXCLUSIVE' };

/**
 * Creates the function that executes a statement, by kind of fetch.
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
    /** The compiled `BEGIN …`, `COMMIT` and `ROLLBACK`; null with `prepare = "each"`, which compiles them each time. */
    brackets = null;

    /** @param {object} db connection of the driver */
    constructor(db) {
        this.db = db;
    }

    /**
     * Returns the SQL in the syntax of the driver, and the parameter for each of its positions; null if these are the
     * same.
     *
     * @returns {{ text: string, order: number[] | null }}
     */
    translate(sql) {
        return { text: sql, order: null };
    }

    /** Returns the names of a statement's columns; empty if it returns no rows. */
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
        const isAmbiguous = new Set(columns).size < columns.length || columns.some((name) => /^\d+$/.test(name));
        if (spec.yields.length > 0 && isAmbiguous) {
            throw new Fault(`${spec.sql}: its rows are objects, so columns need distinct names that are no numbers`);
        }
        // These drivers lose the error of an autocommit that fails when the statement is left after its first row, but
        // not if it is stepped to the end. Such a statement has made all its changes before its first row anyway.
        const stepOut = transaction.begin === 'none' && /\breturning\b/i.test(spec.sql);
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
        // Some errors (SQLITE_FULL and others) roll back on their own: https://sqlite.org/lang_transaction.html
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
