/** Value of a parameter. A `bigint` is bound as an integer, a `number` as a floating-point number. */
export type Parameter = null | number | bigint | string | Uint8Array;

/** Value in a row. */
export type Value = null | number | bigint | string | Uint8Array;

export type Row = Record<string, Value>;

/** A parameter with a value that an earlier statement of the same plan returned: see {@link result}. */
export interface Reference {
    readonly statement: number;
    readonly column: string;
}

/** Parameters in order, or by name without the prefix. */
export type Parameters<P = Parameter> = readonly P[] | { readonly [name: string]: P };

/** One statement of a plan. */
export interface Statement {
    /** One SQL statement that begins with SELECT, VALUES, WITH, INSERT, REPLACE, UPDATE, DELETE, CREATE, DROP, ALTER,
     * ANALYZE or REINDEX, or sets `PRAGMA user_version` or `PRAGMA application_id`. */
    readonly sql: string;
    readonly params?: Parameters<Parameter | Reference>;
    /** Number of rows that the statement must change or return. If it is another, the plan fails with `ERR_EXPECT`. */
    readonly expect?: number;
}

/** Result of one statement. */
export interface Result<R = Row> {
    /** Number of rows that were returned, or changed by a statement that returns none. */
    readonly count: number;
    readonly rows: R[];
}

export interface Options {
    /** Library that reaches SQLite. Default: `node:sqlite`, which is part of Node.js. `better-sqlite3` has to be
     * installed beside this package. */
    driver?: 'node:sqlite' | 'better-sqlite3';
    /** What an answered write survives: power loss (`FULL`, the default), or only the end of the process (`NORMAL`). */
    synchronous?: 'FULL' | 'NORMAL';
    /** Largest number of threads that read. Each starts when a read finds none idle. Default: 2. */
    readers?: number;
    /** Largest number of writes, and of reads, without an answer. A further one fails with `ERR_QUEUE_FULL`. Default:
     * 10,000. */
    queue?: number;
    /** Milliseconds to wait for another process that writes. Default: 5,000. */
    timeout?: number;
    /** Whether integers in rows are `bigint`. Default: false; then `node:sqlite` refuses an integer beyond 2^53, and
     * `better-sqlite3` rounds it. */
    bigint?: boolean;
    /** Settings of each connection, for example `{ cache_size: -64000 }`. */
    pragmas?: { readonly [name: string]: string | number };
}

/**
 * A database with one connection that writes and some that read, each in a worker thread. A write is answered after the
 * commit that contains it; writes that wait at the same time share one commit, in the order of their calls.
 */
export interface Database {
    /**
     * Executes the statements in order, all or none of them.
     *
     * @returns the result of each statement. Rejects with an {@link OnewriterError}, or with a `TypeError` if the
     *     statements are none.
     */
    write(statements: readonly Statement[]): Promise<Result[]>;

    /** Executes one statement. */
    execute<R = Row>(sql: string, params?: Parameters): Promise<Result<R>>;

    /** Executes one statement that reads, in a read transaction of its own. It sees every write answered before. */
    read<R = Row>(sql: string, params?: Parameters): Promise<R[]>;

    /** Resolves when writes take at most half of the queue, or nothing can be written any more. */
    room(): Promise<void>;

    /** Number of writes without an answer. */
    readonly pending: number;

    /** Commits so far, and answered writes. */
    readonly counts: { readonly commits: number; readonly writes: number };

    /** Answers all calls so far, and closes the connections. Later calls fail with `ERR_CLOSED`. */
    close(): Promise<void>;

    [Symbol.asyncDispose](): Promise<void>;
}

/** Opens the database in this file, in WAL mode. The file is created if it does not exist; its folder is not. */
export function open(path: string, options?: Options): Promise<Database>;

/** Returns a parameter with the value of a column in the first row that an earlier statement of the plan returns. */
export function result(statement: number, column: string): Reference;

/** Reason why a call has no result. */
export class OnewriterError extends Error {
    readonly name: 'OnewriterError';
    /** SQLite's name of the error, such as `SQLITE_CONSTRAINT_UNIQUE`, or one of this package. */
    readonly code:
        | `SQLITE_${string}`
        /** The driver refuses the statement, its parameters or its result. */
        | 'ERR_STATEMENT'
        /** The statement would affect other callers of the connection. */
        | 'ERR_NOT_ALLOWED'
        /** A statement changed or returned another number of rows than `expect`. */
        | 'ERR_EXPECT'
        /** A reference names a row or a column that was not returned. */
        | 'ERR_REFERENCE'
        /** The database cannot be opened as the options have it. */
        | 'ERR_OPEN'
        /** As many writes or reads wait as `queue` allows. */
        | 'ERR_QUEUE_FULL'
        /** The database is closed. */
        | 'ERR_CLOSED'
        /** The thread of the connection has ended. Nothing more can be written until the database is opened again. */
        | 'ERR_THREAD';
    /** Index in the plan of the statement that failed, if one did. */
    readonly statement: number | undefined;
    /** Whether the changes may be in the database, now or after a crash. If false, they are not. */
    readonly uncertain: boolean;
}
