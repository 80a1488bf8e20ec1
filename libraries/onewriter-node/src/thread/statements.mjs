// Statements that plans may contain, compiled.

import { OnewriterError } from '../error.mjs';
import { BEFORE, skip } from './text.mjs';

/**
 * Keywords with which a statement may begin. None of these begins or ends a transaction, changes a setting of the
 * connection or attaches a database, as the statements left out do: `BEGIN`, `COMMIT`, `END`, `ROLLBACK`, `SAVEPOINT`,
 * `RELEASE`, `PRAGMA`, `ATTACH`, `DETACH`, `VACUUM`, `EXPLAIN`.
 */
const KEYWORD = /(?:SELECT|VALUES|WITH|INSERT|REPLACE|UPDATE|DELETE|CREATE|DROP|ALTER|ANALYZE|REINDEX)\b/iy;
/** Fields of the file header that are rolled back like any change. */
const HEADER = /PRAGMA\s+(?:user_version|application_id)\s*=\s*-?\d+\s*;?\s*$/iy;
/** Statements for which SQLite counts changes. After another one it still returns the count of an earlier one. */
const COUNTED = ['INSERT', 'REPLACE', 'UPDATE', 'DELETE', 'WITH'];

/** Compiled statements that are kept. */
const KEPT = 1_000;

/**
 * Returns the first keyword of a statement.
 *
 * @throws {OnewriterError} with `ERR_NOT_ALLOWED`
 */
export function keyword(sql) {
    const at = skip(BEFORE, sql, 0);
    KEYWORD.lastIndex = HEADER.lastIndex = at;
    const [found] = KEYWORD.exec(sql) ?? [];
    if (found !== undefined) return found.toUpperCase();
    if (HEADER.test(sql)) return 'PRAGMA';
    const start = sql.slice(at, at + 40);
    throw new OnewriterError('ERR_NOT_ALLOWED', `callers that share a connection cannot execute: ${start}`);
}

const uncounted = (answer) => (typeof answer === 'number' ? 0 : answer);

/** Compiled statements by their text; the oldest is dropped for the newest. */
export class Statements {
    #kept = new Map();
    #connection;

    /** @param {import('./connection.mjs').Connection} connection */
    constructor(connection) {
        this.#connection = connection;
    }

    /** @returns {{ execute: (params: unknown) => object[] | number, creates: boolean }} */
    get(sql) {
        return this.#kept.get(sql) ?? this.#compile(sql);
    }

    #compile(sql) {
        const first = keyword(sql);
        const { execute } = this.#connection.prepare(sql);
        const statement = {
            execute: COUNTED.includes(first) ? execute : (params) => uncounted(execute(params)),
            creates: first === 'CREATE',
        };
        this.#kept.set(sql, statement);
        if (this.#kept.size > KEPT) this.#kept.delete(this.#kept.keys().next().value);
        return statement;
    }
}
