// Sessions of drivers whose calls return when they are done. The two that there are have the same methods (`run`, `get`,
// `all`, `iterate`), so a driver is what differs: how to open, to compile, and to know whether a transaction is open.

import { Fault } from './driver.mjs';
import { job, yielded } from './work.mjs';

/** Statements that count changes. After others SQLite still has the count of the last one that did. */
const CHANGES = /^\s*(insert|update|delete|replace|with)\b/i;

/** @implements {import('./driver.mjs').Session} */
export class Blocking {
    statements = [];
    /** `BEGIN …` and `COMMIT` by name; under `prepare = "each"` they are compiled each time, too. */
    brackets = null;

    /** @param {object} db the driver's connection */
    constructor(db) {
        this.db = db;
    }

    /**
     * Compiles a statement whose parameters are `?1`, `?2`, …
     *
     * @param {string} sql
     * @returns {{ statement: object, order: number[] | null }} `order`: which parameter each of the statement's own
     *   positions takes; null where these are the same.
     */
    compile(sql) {
        return { statement: this.db.prepare(sql), order: null };
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
        const { statement } = this.compile(sql);
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
        const names = ['BEGIN DEFERRED', 'BEGIN IMMEDIATE', 'BEGIN EXCLUSIVE', 'COMMIT', 'ROLLBACK'];
        this.brackets = new Map(names.map((sql) => [sql, this.compile(sql).statement]));
    }

    #prepare(spec, transaction, once) {
        const { statement, order } = this.compile(spec.sql);
        const columns = this.columns(statement);
        if (columns.length < spec.yields.length) {
            throw new Fault(`${spec.sql}: it has columns ${columns.join(', ')}, and yields ${spec.yields.join(', ')}`);
        }
        // An autocommit that fails when the statement is left after its first row is lost on these drivers; stepped to
        // the end it is not. All of what such a statement changes is done before its first row anyway.
        const stepOut = transaction.writes && transaction.begin === 'none';
        return {
            spec,
            statement: once ? statement : null,
            order,
            job: job(spec.work, columns),
            fetch: columns.length === 0 ? 'run' : spec.fetch === 'first' && stepOut ? 'first-of-all' : spec.fetch,
            yields: spec.yields.length,
            counts: CHANGES.test(spec.sql),
        };
    }

    begin(begin) {
        this.#bracket(begin === 'deferred' ? 'BEGIN DEFERRED' : begin === 'immediate' ? 'BEGIN IMMEDIATE' : 'BEGIN EXCLUSIVE');
    }

    commit() {
        this.#bracket('COMMIT');
    }

    rollback() {
        // Some errors (SQLITE_FULL, SQLITE_IOERR, …) roll back by themselves: https://sqlite.org/lang_transaction.html
        if (this.open) this.#bracket('ROLLBACK');
    }

    #bracket(sql) {
        if (this.brackets === null) this.db.exec(sql);
        else this.brackets.get(sql).run();
    }

    execute(transaction, at, args, effect) {
        const prepared = this.statements[transaction][at];
        const statement = prepared.statement ?? this.compile(prepared.spec.sql).statement;
        const given = prepared.order === null ? args : prepared.order.map((place) => args[place]);
        let count = 0;
        switch (prepared.fetch) {
            case 'run': {
                const { changes } = statement.run(...given);
                return prepared.counts ? changes : 0;
            }
            case 'first': {
                const row = statement.get(...given);
                if (row === undefined) return 0;
                this.#take(prepared, row, effect);
                return 1;
            }
            case 'first-of-all': {
                const row = statement.all(...given)[0];
                if (row === undefined) return 0;
                this.#take(prepared, row, effect);
                return 1;
            }
            case 'buffer': {
                const all = statement.all(...given);
                if (effect.timed) effect.query = effect.clock.now();
                for (const row of all) this.#next(prepared, row, count++, effect);
                return count;
            }
            case 'all': {
                const cursor = statement.iterate(...given);
                if (effect.timed) effect.query = effect.clock.now();
                for (const row of cursor) this.#next(prepared, row, count++, effect);
                return count;
            }
            default: {
                for (const row of statement.iterate(...given)) {
                    if (count++ === 0 && prepared.yields > 0) effect.first = yielded(row, prepared.yields);
                }
                return count;
            }
        }
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

    close() {
        this.db.close();
    }
}
