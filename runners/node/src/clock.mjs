// Time since `go`, and pauses: blocking ones in a thread of its own, timers on an event loop.

import { setTimeout } from 'node:timers/promises';

/** How long a pause may outlast the event that should end it, in nanoseconds. */
const SLICE = 10e6;

/** Never written: something to wait for in vain. */
const nothing = new Int32Array(new SharedArrayBuffer(4));

/** Blocks this thread. */
export function block(ms) {
    if (ms > 0) Atomics.wait(nothing, 0, 0, ms);
}

/** Nanoseconds since `go`, as a double, by the monotonic clock that all threads have in common. */
export class Clock {
    /** @param {bigint} go by `process.hrtime.bigint` */
    constructor(go) {
        this.go = go;
    }

    now() {
        return Number(process.hrtime.bigint() - this.go);
    }
}

/** The clock of a worker that has a thread of its own. */
export class BlockingClock extends Clock {
    /** Whether others run on this thread, so that one has to make room for them. */
    shares = false;

    /** Returns when the time is over; never a promise. */
    pause(nanos) {
        block(nanos / 1e6);
    }

    /** The same inside a transaction. */
    hold(nanos) {
        block(nanos / 1e6);
    }
}

/** The clock of workers that are tasks of one event loop. */
export class LoopClock extends Clock {
    shares = true;

    /** @param {boolean} inline whether transactions run on the loop itself: what pauses inside one holds the loop */
    constructor(go, inline) {
        super(go);
        this.inline = inline;
    }

    /** A timer has steps of a millisecond, and can be up to one early. */
    async pause(nanos) {
        const over = this.now() + nanos;
        for (let left = nanos; left > 0; left = over - this.now()) await setTimeout(Math.ceil(left / 1e6));
    }

    hold(nanos) {
        return this.inline ? block(nanos / 1e6) : this.pause(nanos);
    }
}

/** When a role ends: at a time known beforehand, or with another role. */
export class End {
    /**
     * @param {number} time nanoseconds since `go`, or Infinity
     * @param {import('./stage.mjs').Stage | null} stage where it is told that another role has ended
     * @param {number} role that other one
     */
    constructor(time, stage, role) {
        this.time = time;
        this.stage = stage;
        this.role = role;
    }

    static of(trial, { until }, stage) {
        if (until.kind === 'time') return new End(until.ms * 1e6, null, 0);
        if (until.kind === 'count') return new End(Infinity, null, 0);
        const other = trial.roles.findIndex(({ name }) => name === until.name);
        return new End(Infinity, stage, other);
    }

    /** `now`, or the end where that has been before. */
    clip(now) {
        const ended = this.stage !== null && Atomics.load(this.stage.ended, this.role) === 1;
        return Math.min(now, ended ? this.stage.ends[this.role] : this.time);
    }

    isPast(now) {
        return this.clip(now) < now;
    }

    /** Sleeps until `due`, or until it is too late anyway. */
    async sleep(clock, due) {
        for (;;) {
            const now = clock.now();
            if (now >= due || this.isPast(now)) return;
            // Just past the end, for a start at the end itself is in time.
            const left = Math.min(due, this.time + 1) - now;
            await clock.pause(this.stage !== null ? Math.min(left, SLICE) : left);
        }
    }
}
