// Commits of many plans.

import { OnewriterError } from '../error.mjs';
import { failure } from './connection.mjs';
import { Statements } from './statements.mjs';

/** Texts of statements that are remembered for a savepoint. */
const GUARDED = 1_000;

/**
 * Executes plans in order, many in one transaction.
 *
 * A plan runs without a savepoint, which would cost a fifth more CPU time. If it fails and SQLite has not taken it back
 * whole, the transaction is rolled back and the other plans are executed again; from then on plans with the statement
 * that failed get a savepoint.
 */
export class Writer {
    #connection;
    #statements;
    #guarded = new Set();
    #time;
    /** Whether the open transaction contains complete plans only. */
    #isWhole = true;
    /** Whether the execution of the last statement has begun: before, it was compiled. */
    #hasBegun = false;
    #begin;
    #commit;
    #rollback;
    #savepoint;
    #release;
    #rollbackTo;
    #failing;
    #temporary;

    /**
     * @param {import('./connection.mjs').Connection} connection
     * @param {number} [time] milliseconds after which no further plan joins a commit
     */
    constructor(connection, time = 5) {
        this.#connection = connection;
        this.#time = time;
        this.#statements = new Statements(connection);
        this.#begin = connection.prepare('BEGIN IMMEDIATE');
        this.#commit = connection.prepare('COMMIT');
        this.#rollback = connection.prepare('ROLLBACK');
        this.#savepoint = connection.prepare('SAVEPOINT plan');
        this.#release = connection.prepare('RELEASE plan');
        this.#rollbackTo = connection.prepare('ROLLBACK TO plan');
        this.#failing = connection.prepare("SELECT 1 FROM sqlite_schema WHERE instr(lower(sql), 'fail') > 0 LIMIT 1");
        this.#temporary = connection.prepare('SELECT 1 FROM sqlite_temp_schema LIMIT 1');
    }

    /**
     * Executes plans in as few transactions as time allows, and calls `answer` after each one with the answers of its
     * plans: for each plan an array with the result of each statement, or an OnewriterError.
     */
    execute(plans, answer) {
        for (let rest = plans; rest.length > 0;) {
            const answers = this.#transaction(rest);
            answer(answers);
            rest = rest.slice(answers.length);
        }
    }

    /** Executes and commits as many plans as time allows, at least one. Returns their answers. */
    #transaction(plans) {
        const failed = new Map();
        let answers;
        do {
            try {
                this.#begin.execute();
            } catch (error) {
                // Another process writes. The others would wait as long and get the same error.
                return plans.map((_, at) => failed.get(at) ?? failure(error));
            }
            answers = this.#attempt(plans, failed);
        } while (answers === null);
        try {
            this.#commit.execute();
            return answers;
        } catch (error) {
            return this.#uncommitted(plans, answers, failure(error, { uncertain: true }));
        }
    }

    /** Executes plans in the open transaction. Returns null if one, now in `failed`, has made it roll back. */
    #attempt(plans, failed) {
        const end = performance.now() + this.#time;
        const answers = [];
        for (let at = 0; at < plans.length; at++) {
            const answer = failed.get(at) ?? this.#plan(plans[at]);
            if (!this.#isWhole) {
                failed.set(at, answer);
                if (this.#connection.isInTransaction()) this.#rollback.execute();
                this.#isWhole = true;
                return null;
            }
            answers.push(answer);
            if (performance.now() >= end) break;
        }
        return answers;
    }

    /** Returns the results of a plan, or an error; then `#isWhole` tells whether its changes are taken back. */
    #plan(plan) {
        const isGuarded = this.#guarded.size > 0 && this.#needsSavepoint(plan);
        const results = [];
        try {
            if (isGuarded) this.#savepoint.execute();
            for (const statement of plan) results.push(this.#statement(statement, results));
            if (isGuarded) this.#release.execute();
            return results;
        } catch (error) {
            const at = results.length;
            const answer = failure(error, at < plan.length ? { statement: at } : {});
            if (!this.#connection.isInTransaction()) {
                this.#isWhole = false;
            } else if (isGuarded) {
                this.#rollbackTo.execute();
                this.#release.execute();
            } else if (at > 0 || !this.#isTakenBack(plan[0][0], answer)) {
                this.#guarded.add(plan[at][0]);
                this.#isWhole = false;
            }
            return answer;
        }
    }

    #needsSavepoint(plan) {
        return this.#guarded.size > GUARDED || plan.some(([sql]) => this.#guarded.has(sql));
    }

    /**
     * Whether nothing of a failed statement is left. SQLite undoes one that violates a constraint, except with the
     * conflict resolution `FAIL` of the statement, a trigger or a column (https://sqlite.org/lang_conflict.html). It
     * keeps no journal for other errors, such as a wrong type in a `STRICT` table or malformed JSON in `json_each`:
     * within a transaction the rows before the error stay. The error of a driver may come after the statement has
     * succeeded, for example because a number in its row is too large.
     */
    #isTakenBack(sql, { code }) {
        if (!this.#hasBegun) return true;
        const isJournaled = code.startsWith('SQLITE_CONSTRAINT') && code !== 'SQLITE_CONSTRAINT_DATATYPE';
        return isJournaled && !/fail/i.test(sql) && this.#failing.execute().length === 0;
    }

    #statement([sql, params, expect, refers], results) {
        this.#hasBegun = false;
        const statement = this.#statements.get(sql);
        const values = refers ? resolved(params, results) : params;
        this.#hasBegun = true;
        const answer = statement.execute(values);
        const count = typeof answer === 'number' ? answer : answer.length;
        if (expect !== undefined && count !== expect) {
            throw new OnewriterError('ERR_EXPECT', `${count} rows, where ${expect} were expected`);
        }
        if (statement.creates && this.#temporary.execute().length > 0) {
            throw new OnewriterError('ERR_NOT_ALLOWED', 'other callers would see the temporary table, view or trigger');
        }
        return answer;
    }

    /** Answers plans whose commit has failed. */
    #uncommitted(plans, answers, error) {
        if (this.#connection.isInTransaction()) this.#rollback.execute();
        const isKept = Array.isArray;
        const isConstraint = error.code.startsWith('SQLITE_CONSTRAINT');
        if (!isConstraint) return answers.map((answer) => (isKept(answer) ? error : answer));
        // A plan has left a deferred foreign key violated. Halves find it.
        if (answers.filter(isKept).length > 1) return this.#transaction(plans.slice(0, Math.ceil(answers.length / 2)));
        // Plans after it have seen its changes, and are executed again.
        const at = answers.findIndex(isKept);
        return [...answers.slice(0, at), new OnewriterError(error.code, error.message)];
    }
}

/** Replaces references by the values of earlier results. */
function resolved(params, results) {
    const value = (param) => {
        if (param === null || typeof param !== 'object' || param instanceof Uint8Array) return param;
        const { statement, column } = param;
        const row = results[statement][0];
        if (typeof row !== 'object' || !Object.hasOwn(row, column)) {
            throw new OnewriterError('ERR_REFERENCE', `statement ${statement} returned no column ${column}`);
        }
        return row[column];
    };
    if (Array.isArray(params)) return params.map(value);
    return Object.fromEntries(Object.entries(params).map(([name, param]) => [name, value(param)]));
}
