// Time since `go`, and pauses: blocking ones in a separate thread, timers on an event loop.

import { performance } from 'node:perf_hooks';
import { setTimeout } from 'node:timers/promises';

/** Longest time in nanoseconds by which a pause may outlast the event that should end it. */
const SLICE = 10e6;

/** Never written, so that a wait for it lasts until its timeout. */
const nothing = new Int32Array(new SharedArrayBuffer(4));

/** Blocks this thread. */
export function block(ms) {
    if (ms > 0) Atomics.wait(nothing, 0, 0, ms);
}

/** Number of attempts to read two clocks at one time: the thread may pause between the readings. */
const READINGS = 5;

/** Nanoseconds since `go`, as a double, from the monotonic clock shared by all threads. */
export class Clock {
    /** @param {bigint} go from `process.hrtime.bigint` */
    constructor(go) {
        // `performance.now` is the same clock from another origin, a different one in each thread, and takes half as
        // long to read.
        let least = Infinity;
        for (let reading = 0; reading < READINGS; reading++) {
            const before = performance.now();
            const at = process.hrtime.bigint();
            const gap = performance.now() - before;
            if (gap >= least) continue;
            least = gap;
            this.origin = (before + gap / 2) * 1e6 - Number(at - go);
        }
    }

    now() {
        return performance.now() * 1e6 - this.origin;
    }
}

/** The clock of a worker with its own thread. */
export class BlockingClock extends Clock {
    /** Whether other workers run on this thread, so that each must yield to them. */
    shares = false;

    /** Returns after the pause; never returns a promise. */
    pause(nanos) {
        block(nanos / 1e6);
    }

    /** Pauses inside a transaction. */
    hold(nanos) {
        block(nanos / 1e6);
    }
}

/** The clock of workers that are tasks on one event loop. */
export class LoopClock extends Clock {
    shares = true;

    /** @param {boolean} inline whether transactions run on the loop itself: a pause inside one then blocks the loop */
    constructor(go, inline) {
        super(go);
        this.inline = inline;
    }

    /** Timers have a resolution of a millisecond, and can be up to one early. */
    async pause(nanos) {
        const over = this.now() + nanos;
        for (let left = nanos; left > 0; left = over - this.now()) await setTimeout(Math.ceil(left / 1e6));
    }

    hold(nanos) {
        return this.inline ? block(nanos / 1e6) : this.pause(nanos);
    }
}

/** The end of a role: a fixed time, or the end of another role. */
export class End {
    /**
     * @param {number} time nanoseconds since `go`, or Infinity
     * @param {import('./stage.mjs').Stage | null} stage contains the end of the other role
     * @param {number} role the other role
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

    /** Returns `now`, or the end if that is earlier. */
    clip(now) {
        const ended = this.stage !== null && Atomics.load(this.stage.ended, this.role) === 1;
        return Math.min(now, ended ? this.stage.ends[this.role] : this.time);
    }

    isPast(now) {
        return this.clip(now) < now;
    }

    /** Waits until `due`, or until just after the end if that is earlier. */
    async sleep(clock, due) {
        for (;;) {
            const now = clock.now();
            if (now >= due || this.isPast(now)) return;
            // Just past the end, because a start at the end itself is in time.
            const left = Math.min(due, this.time + 1) - now;
            await clock.pause(this.stage !== null ? Math.min(left, SLICE) : left);
        }
    }
}
