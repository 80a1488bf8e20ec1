// One execution of a transaction: begin, statements, commit, and retries.

import { codeOf } from './codes.mjs';
import { EMPTY, FAILED, Fault } from './driver.mjs';
import { binder, scalar } from './params.mjs';
import { firstFetch } from './record.mjs';

/** The retry policy of a worker. */
export class Retrying {
    constructor({ attempts, backoff_us, multiplier, max_backoff_us, on }) {
        this.attempts = attempts;
        this.backoff = backoff_us * 1000;
        this.multiplier = multiplier;
        this.longest = max_backoff_us * 1000;
        this.on = on.map((name) => {
            const code = codeOf(name);
            if (code === undefined) throw new Fault(`\`${name}\` is no result code`);
            return code;
        });
    }

    /** Whether this error is retried; a listed primary code covers its extended codes. */
    covers(seen) {
        return this.on.some((listed) => listed === seen || listed === (seen & 0xff));
    }

    /** Returns the nanoseconds between attempt `done` (from 1) and the next. */
    pause(done) {
        return Math.min(this.backoff * this.multiplier ** (done - 1), this.longest);
    }
}

/**
 * State that a worker keeps between transactions. Times are in nanoseconds since `go`.
 *
 * @implements {import('./driver.mjs').Effect}
 */
export class Memory {
    /** End of the commit, or of the last failed attempt. */
    end = 0;
    /** Of the last attempt, as is `firstRow`. */
    query = null;
    firstRow = null;
    /** Over all attempts until they are counted, as are `mismatches` and `errors`. */
    verified = 0;
    mismatches = 0;
    /** Result codes. */
    errors = [];

    timed = false;
    first = null;
    /** Set at `go`. */
    clock = null;

    /** Yielded values by index. */
    yielded = [];
    /** The yielded values as of the last commit, because a rolled back transaction yields nothing. */
    kept = [];
    #places = new Map();

    /** @param {'bigint' | 'number'} integers */
    constructor(integers) {
        this.integer = binder(integers);
    }

    /** Returns the index of a yielded name. Creates it if needed. */
    place(name) {
        if (!this.#places.has(name)) {
            this.#places.set(name, this.yielded.push(null) - 1);
            this.kept.push(null);
        }
        return this.#places.get(name);
    }

    /** Stores the columns of a statement's first row as yielded values. */
    remember(places) {
        places.forEach((place, at) => (this.yielded[place] = kept(this.first[at], this.integer)));
        this.first = null;
    }
}

/** Converts a yielded column. Drivers that return integers as numbers round those beyond 2^53. */
function kept(value, integer) {
    if (!Number.isInteger(value) || Number.isSafeInteger(value)) return scalar(value, integer);
    if (Math.abs(value) <= 2 ** 63) {
        throw new Fault(`${value} is yielded: beyond 2^53 it may be another integer than the column's`);
    }
    return value;
}

/** Whether one execution of one statement under autocommit is the whole transaction. */
export const alone = ({ begin, hold_us, statements: [first, ...rest] }) =>
    begin === 'none' && hold_us === 0 && rest.length === 0 && first?.repeat === 1 && first.hold_us === 0;

/** A transaction as run by one worker on one connection. */
export class Execution {
    /**
     * @param {number} index of the transaction in the trial
     * @param {import('./driver.mjs').Session} session
     * @param {import('./params.mjs').Params} params
     * @param {Memory} memory
     * @param {Retrying} retry
     */
    constructor(index, spec, session, params, memory, retry) {
        this.spec = spec;
        this.session = session;
        this.params = params;
        this.memory = memory;
        this.retry = retry;
        this.executes = spec.statements.map((_, at) => session.statement(index, at));
        this.yields = spec.statements.map(({ yields }) => yields.map((name) => memory.place(name)));
        this.yieldsAny = this.yields.some((places) => places.length > 0);
        this.timed = firstFetch(spec);
        this.oneCall = alone(spec) && !spec.statements[0].required && !this.yieldsAny;
    }

    /**
     * Runs the transaction to its end on an acquired connection, with retries with the same values. Returns the number
     * of rows of all statements, EMPTY, or FAILED; or a promise of it.
     *
     * @param {import('./record.mjs').Record} record counts errors as they occur, until the transaction is abandoned
     * @param {import('./progress.mjs').Progress} progress of the worker
     */
    run(record, progress) {
        if (!this.oneCall) return this.#attempts(record, progress, null);
        let seen;
        try {
            seen = this.#execute(0, 0);
        } catch (error) {
            seen = Promise.reject(error);
        }
        // A blocking call has already returned its answer: a promise of it would only cost time.
        if (typeof seen !== 'number') return this.#attempts(record, progress, seen);
        this.memory.end = this.memory.clock.now();
        return seen;
    }

    /** @param {Promise<number> | null} begun the first execution, if it has begun */
    async #attempts(record, progress, begun) {
        const { spec, session, memory } = this;
        const { begin, statements } = spec;
        for (let tries = 1; ; tries++) {
            try {
                let rows = 0;
                // A blocking call has already answered: an await would let another worker in.
                const began = begin === 'none' ? undefined : session.begin(begin);
                if (began !== undefined) await began;
                const held = spec.hold_us > 0 ? memory.clock.hold(spec.hold_us * 1000) : undefined;
                if (held !== undefined) await held;
                attempt: for (let at = 0; at < statements.length; at++) {
                    const { repeat, required, hold_us } = statements[at];
                    for (let execution = 0; execution < repeat; execution++) {
                        let seen = begun ?? this.#execute(at, execution);
                        begun = null;
                        if (typeof seen !== 'number') seen = await seen;
                        rows += seen;
                        if (memory.first !== null) memory.remember(this.yields[at]);
                        if (required && seen === 0) {
                            rows = EMPTY;
                            break attempt;
                        }
                    }
                    const paused = hold_us > 0 ? memory.clock.hold(hold_us * 1000) : undefined;
                    if (paused !== undefined) await paused;
                }
                const committed = begin === 'none' ? undefined : session.commit();
                if (committed !== undefined) await committed;
                memory.end = memory.clock.now();
                if (this.yieldsAny) memory.kept = [...memory.yielded];
                return rows;
            } catch (error) {
                if (!(await this.#recover(Fault.from(error), tries, record, progress))) return FAILED;
            }
        }
    }

    /** Starts an execution of a statement. A blocking driver returns its number of rows, others a promise of it. */
    #execute(at, execution) {
        const { params, memory } = this;
        memory.timed = this.timed === at && execution === 0;
        if (memory.timed) memory.query = memory.firstRow = null;
        return this.executes[at](params.args(at, execution, memory.yielded), memory);
    }

    /** Rolls back after an error, and pauses if a retry follows. Returns whether to retry. */
    async #recover(fault, tries, record, progress) {
        const { spec, memory, retry } = this;
        if (fault.code === null) throw fault.during(spec.name);
        if (!progress.abandoned) record.error(fault);
        memory.errors.push(fault.code);
        memory.first = null;
        if (this.yieldsAny) memory.yielded = [...memory.kept];
        await this.#rollBack();
        const again = tries < retry.attempts && retry.covers(fault.code);
        if (again) await memory.clock.pause(retry.pause(tries));
        else memory.end = memory.clock.now();
        return again;
    }

    async #rollBack() {
        try {
            await this.session.rollback();
        } catch (error) {
            throw Fault.from(error).during('ROLLBACK');
        }
    }
}
