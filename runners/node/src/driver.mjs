// The interface of a driver; the rest of a trial is the same for all drivers.

import { codeOf, nameOf } from './codes.mjs';

/** Outcomes of a transaction other than a number of rows. */
export const EMPTY = -1;
export const FAILED = -2;

/**
 * One open connection with its prepared statements. A method may return its value or, if the driver answers later, a
 * promise of it. Only one call is outstanding at a time on each session.
 *
 * @typedef {object} Session
 * @property {(sql: string) => object[] | Promise<object[]>} rows Runs one statement to completion. Rows are objects.
 * @property {(trial: object, used: number[]) => void | Promise<void>} prepare Compiles the statements of the
 *   transactions at these indices of the trial's list.
 * @property {(begin: string) => void | Promise<void>} begin Sends BEGIN (`deferred`, `immediate`, `exclusive`).
 * @property {() => void | Promise<void>} commit Sends `COMMIT`.
 * @property {() => void | Promise<void>} rollback Sends `ROLLBACK` if a transaction is open.
 * @property {(transaction: number, statement: number) => Execute} statement Returns a compiled statement.
 * @property {(trial: object, used: number[]) => Session | Promise<Session>} [another] Returns a session of the same
 *   connection for another caller, if the library accepts concurrent calls. It is closed with the first one.
 * @property {() => void | Promise<void>} close
 */

/**
 * Binds, runs and fetches a statement once. Returns the number of rows fetched, or changed if it has no columns.
 *
 * @typedef {(args: any[], effect: Effect) => number | Promise<number>} Execute
 */

/**
 * The result of executions.
 *
 * @typedef {object} Effect
 * @property {{ now: () => number }} clock
 * @property {boolean} timed Whether to record the next two.
 * @property {number | null} query When the executing call returned.
 * @property {number | null} firstRow When the columns of the first row were read.
 * @property {any[] | null} first The columns of the first row of a statement that yields.
 * @property {number} verified Number of rows checked.
 * @property {number} mismatches Number of checked rows with a wrong hash.
 */

/**
 * A driver, the default export of its module.
 *
 * @typedef {object} Driver
 * @property {string} version Version of the library.
 * @property {string[]} executors
 * @property {string[]} [sharings] Supported kinds of sharing, if not all.
 * @property {object} [interface] Interface offered in place of SQL.
 * @property {string[]} options Names of its own options that a trial may set.
 * @property {'bigint' | 'number'} integers Type in which constant and yielded integers are bound.
 * @property {boolean} sharedMemory Whether `file:NAME?mode=memory&cache=shared` opens one database for
 *   several connections.
 * @property {(path: string, options: object) => Session | Promise<Session>} open
 * @property {(dsn: string, options: object) => Session | Promise<Session>} [openDsn] Opens by a complete data source
 *   name as an application does, with the arguments of the constructor, and adds nothing.
 */

const MODULES = {
    'better-sqlite3': './better_sqlite3.mjs',
    sqlite3: './sqlite3.mjs',
    'node:sqlite': './node_sqlite.mjs',
    plainjob: './plainjob.mjs',
    noop: './noop.mjs',
};

/** Driver names in the order of `describe`. */
export const NAMES = Object.keys(MODULES);

/** @returns {Promise<Driver>} */
export async function load(name) {
    if (!Object.hasOwn(MODULES, name)) throw new Fault(`driver \`${name}\` is none of ${NAMES.join(', ')}`);
    return (await import(MODULES[name])).default;
}

/** An error. With a code it comes from SQLite; any other error ends the trial. */
export class Fault extends Error {
    /** @param {number | null} code SQLite's extended result code */
    constructor(message, code = null) {
        super(message);
        this.code = code;
    }

    /** Converts any thrown value. better-sqlite3 provides the name of the code, node:sqlite its number. */
    static from(error) {
        if (error instanceof Fault) return error;
        const code = error?.errcode ?? codeOf(error?.code);
        if (code !== undefined) return new Fault(`${nameOf(code)}: ${error.message}`, code);
        return new Fault(error instanceof Error ? (error.stack ?? error.message) : String(error));
    }

    /** Adds a description of the operation. */
    during(what) {
        return new Fault(`${what}: ${this.message}`, this.code);
    }

    /** Returns the last message of a trial that cannot continue. */
    line() {
        const reason = this.message.replace(/\s*\n\s*/g, ' ');
        return { type: 'failed', reason, code: this.code === null ? null : nameOf(this.code) };
    }
}
