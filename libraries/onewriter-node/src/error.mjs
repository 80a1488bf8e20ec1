/** Reason why a call has no result. `code` is SQLite's name of the error or one of those in index.d.ts. */
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
