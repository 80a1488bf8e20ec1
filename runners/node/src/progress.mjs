// The progress of a worker, in memory shared with the main thread, because a worker blocked in a call cannot report it.

const IDLE = 0;
const BUSY = 1;
const ABANDONED = 2;

/** Indices of the values: the step, and nanoseconds; points in time are relative to `go`. */
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

    /** Records the start of a transaction; `due` is null in a closed loop. */
    begin(step, start, due) {
        this.values[STEP] = step;
        this.values[START] = start;
        this.values[DUE] = due ?? NaN;
        Atomics.store(this.state, 0, BUSY);
    }

    /** Records the end of a transaction. Returns false if it was abandoned before, so that it does not count. */
    over() {
        return Atomics.compareExchange(this.state, 0, BUSY, IDLE) === BUSY;
    }

    /** Accounts for the time of the transaction. Returns whether it committed in the window. */
    account(committed, now) {
        const { values, warm } = this;
        const until = this.end.clip(now);
        values[INSIDE] += Math.max(0, until - Math.max(values[START], warm));
        if (!committed) return false;
        values[STALL] = Math.max(values[STALL], now - values[COMMIT]);
        values[COMMIT] = now;
        return now > warm && until === now;
    }

    /** Records the end of the worker. `unstarted`: due time of an arrival that it took and did not start, or null. */
    stop(now, unstarted) {
        this.values[STALL] = Math.max(this.values[STALL], now - this.values[COMMIT]);
        this.values[ENDED] = now;
        this.values[UNSTARTED] = unstarted ?? NaN;
    }

    /** Abandons the running transaction. Returns false if there is none. */
    abandon(now) {
        if (Atomics.compareExchange(this.state, 0, BUSY, ABANDONED) !== BUSY) return false;
        this.account(false, now);
        this.stop(now, null);
        return true;
    }

    /** Whether the running transaction was abandoned. */
    get abandoned() {
        return Atomics.load(this.state, 0) === ABANDONED;
    }

    /** The abandoned transaction in the form of the result, with its step; or null. */
    get unfinished() {
        if (!this.abandoned) return null;
        const { values } = this;
        const since = (moment) => Math.round(values[ENDED] - moment);
        const response_ns = Number.isNaN(values[DUE]) ? null : since(values[DUE]);
        return { step: values[STEP], service_ns: since(values[START]), response_ns };
    }

    /** End of the worker, or the time at which it was abandoned. */
    get ended() {
        return this.values[ENDED];
    }

    /** Whether it took an arrival due by `end` and did not start it. */
    leftUnstarted(end) {
        return this.values[UNSTARTED] <= end;
    }

    /** Returns the times of the result in whole nanoseconds. */
    times() {
        const { values, warm } = this;
        const window = Math.max(0, this.end.clip(values[ENDED]) - warm);
        const inside = Math.round(Math.min(values[INSIDE], window));
        return { inside_ns: inside, outside_ns: Math.round(window) - inside, stall_ns: Math.round(values[STALL]) };
    }
}
