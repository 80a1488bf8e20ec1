// The host probe: what the main event loop and libuv's thread pool suffered while the driver worked.

import { randomFill } from 'node:crypto';

import { Histogram } from './histogram.mjs';

/** The trivial job of the pool. */
const JOB = new Uint8Array(1);

/**
 * A timer due every `period`. One that is due while the last is still late counts too, so a stall of ten periods weighs
 * as ten. Each that runs submits a job to the pool, and its callback ends what is measured: the loop's delay is in it.
 */
export class Probe {
    lateness = new Histogram();
    pool = new Histogram();
    #timer;
    #since = null;

    /**
     * @param {import('./clock.mjs').Clock} clock
     * @param {number} period_ms
     * @param {number} warm nanoseconds from `go`; nothing is recorded that was due before
     */
    constructor(clock, period_ms, warm) {
        this.clock = clock;
        this.period = period_ms * 1e6;
        this.warm = warm;
        this.due = this.period;
        this.#wait();
    }

    #wait() {
        this.#timer = setTimeout(() => this.#ring(), Math.max(0, (this.due - this.clock.now()) / 1e6));
    }

    #ring() {
        const now = this.clock.now();
        // A timer of libuv can be up to a millisecond early.
        if (now >= this.due) {
            if (now >= this.warm) {
                this.#since ??= performance.eventLoopUtilization();
                randomFill(JOB, () => this.pool.record(this.clock.now() - now));
            }
            for (; this.due <= now; this.due += this.period) {
                if (this.due >= this.warm) this.lateness.record(now - this.due);
            }
        }
        this.#wait();
    }

    /** Ends it, and gives its part of the result. */
    stop() {
        clearTimeout(this.#timer);
        const utilization = this.#since && performance.eventLoopUtilization(this.#since).utilization;
        return { lateness: this.lateness.encode(), pool_wait: this.pool.encode(), utilization };
    }
}
