// Connections of both drivers, as one interface.

import { OnewriterError } from '../error.mjs';
import { AFTER, skip } from './text.mjs';

/**
 * @typedef {object} Connection
 * @property {(sql: string) => Statement} prepare
 * @property {() => boolean} isInTransaction
 * @property {() => void} close
 *
 * @typedef {object} Statement
 * @property {(params: unknown[] | object | undefined) => object[] | number} execute returns the rows of a statement
 *     with columns, and of another one the changes that SQLite counts
 */

/** Names of SQLite's primary result codes from 1 on (https://sqlite.org/rescode.html). */
const PRIMARY =
    'ERROR INTERNAL PERM ABORT BUSY LOCKED NOMEM READONLY INTERRUPT IOERR CORRUPT NOTFOUND FULL CANTOPEN PROTOCOL ' +
    'EMPTY SCHEMA TOOBIG CONSTRAINT MISMATCH MISUSE NOLFS AUTH FORMAT RANGE NOTADB NOTICE WARNING';
const CONSTRAINT = 'CHECK COMMITHOOK FOREIGNKEY FUNCTION NOTNULL PRIMARYKEY TRIGGER UNIQUE VTAB ROWID PINNED DATATYPE';
const names = (text) => [undefined, ...text.split(' ')];
const PRIMARY_NAMES = names(PRIMARY);
const CONSTRAINT_NAMES = names(CONSTRAINT);

/** Returns the code of an error of either driver, or nothing if it is not SQLite's. */
function codeOf({ code, errcode }) {
    if (errcode === undefined) return /^SQLITE_/.test(code) ? code : undefined;
    const primary = `SQLITE_${PRIMARY_NAMES[errcode & 0xff] ?? errcode}`;
    const more = primary === 'SQLITE_CONSTRAINT' ? CONSTRAINT_NAMES[errcode >> 8] : undefined;
    return more === undefined ? primary : `${primary}_${more}`;
}

/** Converts an error of a driver. */
export function failure(error, details) {
    const code = error instanceof OnewriterError ? error.code : (codeOf(error) ?? 'ERR_STATEMENT');
    return new OnewriterError(code, error.message, details);
}

/** Binds parameters as a list, or by name as one object. */
const call = (statement, method, params) =>
    params === undefined
        ? statement[method]()
        : Array.isArray(params)
          ? statement[method](...params)
          : statement[method](params);

const statement = (inner, hasColumns) => ({
    execute: hasColumns
        ? (params) => call(inner, 'all', params)
        : (params) => Number(call(inner, 'run', params).changes),
});

const DRIVERS = {
    async 'node:sqlite'(path, { isReader, timeout, bigint }) {
        const { DatabaseSync } = await import('node:sqlite');
        const db = new DatabaseSync(path, { readOnly: isReader, timeout, readBigInts: bigint });
        return {
            prepare(sql) {
                const inner = db.prepare(sql);
                // SQLite compiles the first statement only.
                if (skip(AFTER, sql, inner.sourceSQL.length) < sql.length) {
                    throw new OnewriterError('ERR_STATEMENT', 'there is more than one statement');
                }
                return statement(inner, inner.columns().length > 0);
            },
            isInTransaction: () => db.isTransaction,
            close: () => db.close(),
        };
    },

    async 'better-sqlite3'(path, { isReader, timeout, bigint }) {
        const { default: Database } = await import('better-sqlite3');
        const db = new Database(path, { readonly: isReader, timeout });
        db.defaultSafeIntegers(bigint);
        return {
            prepare(sql) {
                const inner = db.prepare(sql);
                return statement(inner, inner.reader);
            },
            isInTransaction: () => db.inTransaction,
            close: () => db.close(),
        };
    },
};

/** What the write-ahead log is cut to after a checkpoint. */
const LOG_LIMIT = 64 << 20;

/**
 * Opens a connection and reads its settings back.
 *
 * @returns {Promise<Connection>}
 */
export async function connect({ driver, path, pragmas, synchronous, ...options }, isReader) {
    try {
        const connection = await DRIVERS[driver](path, { ...options, isReader });
        configure(connection, pragmas, isReader ? undefined : synchronous);
        return connection;
    } catch (error) {
        throw new OnewriterError(codeOf(error) ?? 'ERR_OPEN', `${path}: ${error.message}`);
    }
}

/** @param {'FULL' | 'NORMAL' | undefined} synchronous of a connection that writes */
function configure(connection, pragmas, synchronous) {
    const pragma = (text) => Object.values(connection.prepare(`PRAGMA ${text}`).execute()[0] ?? {})[0];
    const defaults = { foreign_keys: 'ON', journal_size_limit: LOG_LIMIT };
    for (const [name, value] of Object.entries({ ...defaults, ...pragmas })) pragma(`${name} = ${value}`);
    if (synchronous === undefined) {
        // A read-only connection may still make temporary tables, which would hide the others.
        pragma('query_only = 1');
        return;
    }
    pragma('journal_mode = WAL');
    pragma(`synchronous = ${synchronous}`);
    const found = `${pragma('journal_mode')} ${pragma('synchronous')}`;
    if (found !== `wal ${{ NORMAL: 1, FULL: 2 }[synchronous]}`) {
        throw new Error(`it does not accept WAL and ${synchronous}: journal_mode and synchronous are ${found}`);
    }
}
