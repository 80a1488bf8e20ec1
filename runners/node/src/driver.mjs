// What a driver has to offer; everything else of a trial is the same for all.

import { codeOf, nameOf } from './codes.mjs';

/** How a transaction ended, where it is not with a number of rows. */
export const EMPTY = -1;
export const FAILED = -2;

/**
 * One open connection with its prepared statements. A method may return its value or, where the driver answers later,
 * a promise of it; only one call is under way at a time on each session.
 *
 * @typedef {object} Session
 * @property {(sql: string) => object[] | Promise<object[]>} rows Runs one statement to its end, its rows as objects.
 * @property {(trial: object, used: number[]) => void | Promise<void>} prepare Compiles what this connection will be
 *   asked for: the transactions at these indices of the trial's list.
 * @property {(begin: string) => void | Promise<void>} begin Sends the begin (`deferred`, `immediate`, `exclusive`).
 * @property {() => void | Promise<void>} commit Sends `COMMIT`.
 * @property {() => void | Promise<void>} rollback Sends `ROLLBACK` where a transaction is open.
 * @property {(transaction: number, statement: number) => Execute} statement One of those that were compiled.
 * @property {(trial: object, used: number[]) => Session | Promise<Session>} [another] The same connection for another
 *   caller, where the library takes calls while one is under way. It is closed with the first.
 * @property {() => void | Promise<void>} close
 */

/**
 * Binds, runs and fetches a statement once. Gives the rows fetched, or changed where it yields none.
 *
 * @typedef {(args: any[], effect: Effect) => number | Promise<number>} Execute
 */

/**
 * What executing leaves behind.
 *
 * @typedef {object} Effect
 * @property {{ now: () => number }} clock
 * @property {boolean} timed Whether to note the next two.
 * @property {number | null} query When the call that executes returned.
 * @property {number | null} firstRow When the columns of the first row were read.
 * @property {any[] | null} first The columns of the first row, of a statement that yields.
 * @property {number} verified Rows checked.
 * @property {number} mismatches Rows of those that were wrong.
 */

/**
 * A driver, the default export of its module.
 *
 * @typedef {object} Driver
 * @property {string} version Of the library.
 * @property {string[]} executors
 * @property {string[]} [accesses] Those it supports, where that is not all.
 * @property {string} [interface] What it offers in place of SQL.
 * @property {string[]} options Names of its own options that a trial may give.
 * @property {'bigint' | 'number'} integers As what a constant or yielded integer is bound.
 * @property {boolean} sharedMemory Whether `file:NAME?mode=memory&cache=shared` opens one database for several.
 * @property {(path: string, options: object) => Session | Promise<Session>} open
 */

const MODULES = {
    'better-sqlite3': './better_sqlite3.mjs',
    sqlite3: './sqlite3.mjs',
    'node:sqlite': './node_sqlite.mjs',
    plainjob: './plainjob.mjs',
    noop: './noop.mjs',
};

/** Names in the order of `describe`. */
export const NAMES = Object.keys(MODULES);

/** @returns {Promise<Driver>} */
export async function load(name) {
    if (!Object.hasOwn(MODULES, name)) throw new Fault(`driver \`${name}\` is none of ${NAMES.join(', ')}`);
    return (await import(MODULES[name])).default;
}

/** Why something did not work. With a code it was SQLite that said no; anything else ends the trial. */
export class Fault extends Error {
    /** @param {number | null} code SQLite's extended result code */
    constructor(message, code = null) {
        super(message);
        this.code = code;
    }

    /** From whatever was thrown. better-sqlite3 gives the code's name, node:sqlite its number. */
    static from(error) {
        if (error instanceof Fault) return error;
        const code = error?.errcode ?? codeOf(error?.code);
        if (code !== undefined) return new Fault(`${nameOf(code)}: ${error.message}`, code);
        return new Fault(error instanceof Error ? (error.stack ?? error.message) : String(error));
    }

    /** Says what was being done. */
    during(what) {
        return new Fault(`${what}: ${this.message}`, this.code);
    }

    /** The last line of a trial that cannot go on. */
    line() {
        const reason = this.message.replace(/\s*\n\s*/g, ' ');
        return { type: 'failed', reason, code: this.code === null ? null : nameOf(this.code) };
    }
}
