// How far a worker is, in memory that it shares with the main thread: one that is in a call cannot tell.

const IDLE = 0;
const BUSY = 1;
const ABANDONED = 2;

/** Places of the values: index of the step, and nanoseconds, from `go` where they are moments. */
const STEP = 0;
const START = 1;
const DUE = 2;
const INSIDE = 3;
const COMMIT = 4;
const STALL = 5;
const ENDED = 6;
const UNSTARTED = 7;
const VALUES = 8;

export class Progress {
    static memory() {
        return {
            state: new Int32Array(new SharedArrayBuffer(4)),
            values: new Float64Array(new SharedArrayBuffer(8 * VALUES)),
        };
    }

    /**
     * @param {number} warm end of the warm-up, in nanoseconds since `go`
     * @param {import('./clock.mjs').End} end of the role
     */
    constructor({ state, values }, warm, end) {
        this.state = state;
        this.values = values;
        this.warm = warm;
        this.end = end;
    }

    /** A transaction begins; `due` is null in a closed loop. */
    begin(step, start, due) {
        this.values[STEP] = step;
        this.values[START] = start;
        this.values[DUE] = due ?? NaN;
        Atomics.store(this.state, 0, BUSY);
    }

    /** It is over, and counts unless it was abandoned before. */
    over() {
        return Atomics.compareExchange(this.state, 0, BUSY, IDLE) === BUSY;
    }

    /** Accounts for it. Gives whether it committed in the window. */
    account(committed, now) {
        const { values, warm } = this;
        const until = this.end.clip(now);
        values[INSIDE] += Math.max(0, until - Math.max(values[START], warm));
        if (!committed) return false;
        values[STALL] = Math.max(values[STALL], now - values[COMMIT]);
        values[COMMIT] = now;
        return now > warm && until === now;
    }

    /** The worker has ended. `unstarted`: when an arrival was due that it took and did not start, or null. */
    stop(now, unstarted) {
        this.values[STALL] = Math.max(this.values[STALL], now - this.values[COMMIT]);
        this.values[ENDED] = now;
        this.values[UNSTARTED] = unstarted ?? NaN;
    }

    /** Waits no longer for the transaction under way; false where there is none. */
    abandon(now) {
        if (Atomics.compareExchange(this.state, 0, BUSY, ABANDONED) !== BUSY) return false;
        this.account(false, now);
        this.stop(now, null);
        return true;
    }

    /** The transaction that was abandoned, as the result has it, and its step; or null. */
    get unfinished() {
        if (Atomics.load(this.state, 0) !== ABANDONED) return null;
        const { values } = this;
        const since = (moment) => Math.round(values[ENDED] - moment);
        const response_ns = Number.isNaN(values[DUE]) ? null : since(values[DUE]);
        return { step: values[STEP], service_ns: since(values[START]), response_ns };
    }

    /** When the worker ended, or was abandoned. */
    get ended() {
        return this.values[ENDED];
    }

    /** Whether it took an arrival that was due by then, and did not start it. */
    leftUnstarted(end) {
        return this.values[UNSTARTED] <= end;
    }

    /** The times of the result, all in whole nanoseconds. */
    times() {
        const { values, warm } = this;
        const window = Math.max(0, this.end.clip(values[ENDED]) - warm);
        const inside = Math.round(Math.min(values[INSIDE], window));
        return { inside_ns: inside, outside_ns: Math.round(window) - inside, stall_ns: Math.round(values[STALL]) };
    }
}
