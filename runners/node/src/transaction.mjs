// One execution of a transaction: begin, statements, commit, and again where a retry may cure it.

import { codeOf } from './codes.mjs';
import { EMPTY, FAILED, Fault } from './driver.mjs';
import { binder, scalar } from './params.mjs';
import { firstFetch } from './record.mjs';

/** What a worker does after an error that a retry may cure. */
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

    /** A primary code stands for its extended ones. */
    covers(seen) {
        return this.on.some((listed) => listed === seen || listed === (seen & 0xff));
    }

    /** Nanoseconds between try `done` (from 1) and the next. */
    pause(done) {
        return Math.min(this.backoff * this.multiplier ** (done - 1), this.longest);
    }
}

/**
 * What a worker keeps from one transaction to the next. Times are in nanoseconds from `go`.
 *
 * @implements {import('./driver.mjs').Effect}
 */
export class Memory {
    /** When the commit, or the last failure, was over. */
    end = 0;
    /** Of the last try, as the next one. */
    query = null;
    firstRow = null;
    /** Over all tries until they are counted, as the next two. */
    verified = 0;
    mismatches = 0;
    /** Codes. */
    errors = [];

    timed = false;
    first = null;
    /** A worker knows it at `go`. */
    clock = null;

    /** Values by place. */
    yielded = [];
    /** The same as of the last commit: a transaction rolled back has yielded nothing. */
    kept = [];
    #places = new Map();

    /** @param {'bigint' | 'number'} integers */
    constructor(integers) {
        this.integer = binder(integers);
    }

    /** The place of a name that is yielded, made where there was none. */
    place(name) {
        if (!this.#places.has(name)) {
            this.#places.set(name, this.yielded.push(null) - 1);
            this.kept.push(null);
        }
        return this.#places.get(name);
    }

    /** Takes over the columns of a statement's first row. */
    remember(places) {
        places.forEach((place, at) => (this.yielded[place] = scalar(this.first[at], this.integer)));
        this.first = null;
    }
}

/** A transaction as one worker runs it on one connection. */
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
    }

    /**
     * Runs it to its end, the connection being held already: after an error that the retry covers again with the same
     * values. Gives the rows of all statements, EMPTY, or FAILED.
     *
     * @param {import('./record.mjs').Record} record counts errors as they come
     */
    async run(record) {
        const { spec, session, params, memory, executes } = this;
        const { begin, statements } = spec;
        for (let tries = 1; ; tries++) {
            try {
                let rows = 0;
                if (this.timed >= 0) memory.query = memory.firstRow = null;
                if (begin !== 'none') await session.begin(begin);
                if (spec.hold_us > 0) await memory.clock.hold(spec.hold_us * 1000);
                attempt: for (let at = 0; at < statements.length; at++) {
                    const { repeat, required, hold_us } = statements[at];
                    for (let execution = 0; execution < repeat; execution++) {
                        memory.timed = this.timed === at && execution === 0;
                        let seen = executes[at](params.args(at, execution, memory.yielded), memory);
                        // A driver that blocks has given its answer already: there is nothing to await.
                        if (typeof seen !== 'number') seen = await seen;
                        rows += seen;
                        if (memory.first !== null) memory.remember(this.yields[at]);
                        if (required && seen === 0) {
                            rows = EMPTY;
                            break attempt;
                        }
                    }
                    if (hold_us > 0) await memory.clock.hold(hold_us * 1000);
                }
                if (begin !== 'none') await session.commit();
                memory.end = memory.clock.now();
                if (this.yieldsAny) memory.kept = [...memory.yielded];
                return rows;
            } catch (error) {
                if (!(await this.#recover(Fault.from(error), tries, record))) return FAILED;
            }
        }
    }

    /** After an error: rolls back, and pauses where the retry covers it. Gives whether to try again. */
    async #recover(fault, tries, record) {
        const { spec, memory, retry } = this;
        if (fault.code === null) throw fault.during(spec.name);
        record.error(fault);
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
