// Sessions of drivers whose calls return when they are done. The two that there are have the same methods (`run`,
// `get`, `all`, `iterate`), so a driver is what differs: how to open, how to write parameters, and how to know whether
// a transaction is open.

import { Fault } from './driver.mjs';
import { ofDoubles, typed } from './placeholders.mjs';
import { job, yielded } from './work.mjs';

/** Statements that count changes. After others SQLite still has the count of the last one that did. */
const CHANGES = /^\s*(insert|update|delete|replace|with)\b/i;

const BEGIN = { deferred: 'BEGIN DEFERRED', immediate: 'BEGIN IMMEDIATE', exclusive: 'BEGIN EXCLUSIVE' };

/** @implements {import('./driver.mjs').Session} */
export class Blocking {
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
        return {
            statement: once ? statement : null,
            text,
            order,
            job: job(spec.work, columns),
            fetch: columns.length === 0 ? 'run' : spec.fetch === 'first' && stepOut ? 'first-of-all' : spec.fetch,
            yields: spec.yields.length,
            counts: CHANGES.test(spec.sql),
        };
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

    execute(transaction, at, args, effect) {
        const prepared = this.statements[transaction][at];
        const statement = prepared.statement ?? this.db.prepare(prepared.text);
        const given = prepared.order === null ? args : prepared.order.map((place) => args[place]);
        let count = 0;
        // `apply` hands the arguments on in half the time of `...`.
        switch (prepared.fetch) {
            case 'run': {
                const { changes } = statement.run.apply(statement, given);
                return prepared.counts ? changes : 0;
            }
            case 'first': {
                const row = statement.get.apply(statement, given);
                if (row === undefined) return 0;
                this.#take(prepared, row, effect);
                return 1;
            }
            case 'first-of-all': {
                const row = statement.all.apply(statement, given)[0];
                if (row === undefined) return 0;
                this.#take(prepared, row, effect);
                return 1;
            }
            case 'buffer': {
                const all = statement.all.apply(statement, given);
                if (effect.timed) effect.query = effect.clock.now();
                for (const row of all) this.#next(prepared, row, count++, effect);
                return count;
            }
            case 'all': {
                const cursor = statement.iterate.apply(statement, given);
                if (effect.timed) effect.query = effect.clock.now();
                for (const row of cursor) this.#next(prepared, row, count++, effect);
                return count;
            }
            default: {
                for (const row of statement.iterate.apply(statement, given)) {
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
