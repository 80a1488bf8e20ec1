// One execution of a transaction: begin, statements, commit, and again where a retry may cure it.

import { codeOf } from './codes.mjs';
import { Fault } from './driver.mjs';
import { binder, scalar } from './params.mjs';
import { COMMITTED, EMPTY, FAILED, firstFetch } from './record.mjs';

/** A transaction as one role runs it. */
export class Plan {
    /** @param {(name: string) => number} place gives the place of a yielded name among the worker's yielded values */
    constructor(index, spec, place) {
        this.index = index;
        this.spec = spec;
        this.yields = spec.statements.map(({ yields }) => yields.map(place));
        this.yieldsAny = this.yields.some((places) => places.length > 0);
        this.timed = firstFetch(spec);
    }
}

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
 * What a worker keeps from one transaction to the next, and what its last execution left behind. Times are in
 * nanoseconds from `go`.
 *
 * @implements {import('./driver.mjs').Effect}
 */
export class Memory {
    ending = COMMITTED;
    /** When the connection was had; null where there was nothing to wait for. */
    had = null;
    /** When the commit, or the last failure, was over. */
    end = 0;
    /** Of the last try, as the next two. */
    rows = 0;
    query = null;
    firstRow = null;
    /** Over all tries, as the next two. */
    verified = 0;
    mismatches = 0;
    /** Codes. */
    errors = [];

    timed = false;
    first = null;

    /** @param {number} names how many are yielded */
    constructor(clock, names, integers) {
        this.clock = clock;
        this.integer = binder(integers);
        this.yielded = new Array(names).fill(null);
        /** The same as of the last commit: a transaction rolled back has yielded nothing. */
        this.kept = [...this.yielded];
    }

    begin() {
        this.verified = 0;
        this.mismatches = 0;
        if (this.errors.length > 0) this.errors = [];
    }

    /** Takes over the columns of a statement's first row. */
    remember(places) {
        places.forEach((place, at) => (this.yielded[place] = scalar(this.first[at], this.integer)));
        this.first = null;
    }
}

/**
 * Runs it to its end on a connection that is held already. It yields what has to be waited for, which is nothing where
 * driver and clock block: an await, or an asynchronous function, would cost a point read a tenth of its time.
 *
 * @param {Plan} plan
 * @param {import('./driver.mjs').Session} session
 * @param {import('./params.mjs').Params} params
 * @param {Memory} memory
 * @param {Retrying} retry
 */
export function* run(plan, session, params, memory, retry) {
    const { spec, index } = plan;
    const { statements } = spec;
    const { clock } = memory;
    memory.begin();
    for (let tries = 1; ; tries++) {
        let waiting;
        try {
            memory.rows = 0;
            memory.query = null;
            memory.firstRow = null;
            memory.ending = COMMITTED;
            if (spec.begin !== 'none') {
                waiting = session.begin(spec.begin);
                if (waiting !== undefined) yield waiting;
            }
            if (spec.hold_us > 0) yield clock.pause(spec.hold_us * 1000);
            attempt: for (let at = 0; at < statements.length; at++) {
                const statement = statements[at];
                for (let execution = 0; execution < statement.repeat; execution++) {
                    memory.timed = plan.timed === at && execution === 0;
                    let seen = session.execute(index, at, params.args(at, execution, memory.yielded), memory);
                    if (typeof seen !== 'number') seen = yield seen;
                    memory.rows += seen;
                    if (memory.first !== null) memory.remember(plan.yields[at]);
                    if (statement.required && seen === 0) {
                        memory.ending = EMPTY;
                        break attempt;
                    }
                }
                if (statement.hold_us > 0) yield clock.pause(statement.hold_us * 1000);
            }
            if (spec.begin !== 'none') {
                waiting = session.commit();
                if (waiting !== undefined) yield waiting;
            }
            memory.end = clock.now();
            if (plan.yieldsAny) memory.kept = [...memory.yielded];
            return;
        } catch (error) {
            const fault = Fault.from(error);
            if (fault.code === null) throw fault.during(spec.name);
            memory.errors.push(fault.code);
            if (plan.yieldsAny) memory.yielded = [...memory.kept];
            memory.first = null;
            yield rollBack(session);
            if (tries < retry.attempts && retry.covers(fault.code)) {
                yield clock.pause(retry.pause(tries));
                continue;
            }
            memory.ending = FAILED;
            memory.rows = 0;
            memory.end = clock.now();
            return;
        }
    }
}

async function rollBack(session) {
    try {
        await session.rollback();
    } catch (error) {
        throw Fault.from(error).during('ROLLBACK');
    }
}
