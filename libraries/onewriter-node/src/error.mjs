/**
 * Reason why a call has no result.
 *
 * `code` is SQLite's name of the error, such as `SQLITE_CONSTRAINT_UNIQUE`, or one of:
 *
 * - `ERR_STATEMENT`: the driver refuses the statement or its parameters
 * - `ERR_NOT_ALLOWED`: the statement would affect other callers
 * - `ERR_EXPECT`: a statement changed or returned another number of rows than `expect`
 * - `ERR_REFERENCE`: a reference names a row or column that its statement did not return
 * - `ERR_OPEN`: the database does not accept a setting
 * - `ERR_QUEUE_FULL`: as many writes wait as the option `queue` allows
 * - `ERR_CLOSED`: the database is closed
 * - `ERR_THREAD`: the thread of the connection has ended
 */
export class OnewriterError extends Error {
    /**
     * @param {string} code
     * @param {string} message
     * @param {{ statement?: number, uncertain?: boolean }} [details]
     */
    constructor(code, message, { statement, uncertain = false } = {}) {
        super(message);
        this.name = 'OnewriterError';
        this.code = code;
        /** Index in the plan of the statement that failed, if one did. */
        this.statement = statement;
        /** Whether the changes may be in the database, now or after a crash. If false, they are not. */
        this.uncertain = uncertain;
    }
}
