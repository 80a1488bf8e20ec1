// The host probe: what the main event loop and libuv's thread pool suffered while the driver worked, each by itself.

import { once } from 'node:events';
import { Worker as Thread } from 'node:worker_threads';

import { Clock } from './clock.mjs';
import { Histogram } from './histogram.mjs';

/**
 * A timer of the main event loop due every period. One that is due while the last is still late counts too, so a stall
 * of ten periods weighs as ten. A thread submits a job to the pool as often; see `pool`.
 */
export class Probe {
    lateness = new Histogram();
    /** The longest that the timer ran late since `takeLongest`. */
    #longest = 0;
    #timer;
    #since = null;

    /**
     * Ready to start.
     *
     * @param {number} period_ms
     * @param {number} warm nanoseconds from `go`; nothing is recorded that was due before
     */
    static async open(period_ms, warm) {
        const pool = new Thread(new URL('pool.mjs', import.meta.url), { workerData: { period_ms, warm } });
        await once(pool, 'message');
        return new Probe(period_ms, warm, pool);
    }

    constructor(period_ms, warm, pool) {
        this.period = period_ms * 1e6;
        this.warm = warm;
        this.pool = pool;
    }

    /** @param {bigint} go by `process.hrtime.bigint` */
    start(go) {
        this.clock = new Clock(go);
        this.due = this.period;
        this.pool.postMessage({ go });
        this.#wait();
    }

    #wait() {
        this.#timer = setTimeout(() => this.#ring(), Math.max(0, (this.due - this.clock.now()) / 1e6));
    }

    #ring() {
        const now = this.clock.now();
        // A timer of libuv can be up to a millisecond early.
        if (now >= this.due) {
            if (now >= this.warm) this.#since ??= performance.eventLoopUtilization();
            this.#late(now, now);
        }
        this.#wait();
    }

    /** Counts all that were due until then. */
    #late(until, now) {
        this.#longest = Math.max(this.#longest, now - this.due);
        for (; this.due <= until; this.due += this.period) {
            if (this.due >= this.warm) this.lateness.record(now - this.due);
        }
    }

    /** The longest that the timer ran late since the last time, or how long it is overdue; in the warm-up, too. */
    takeLongest() {
        const longest = Math.max(this.#longest, this.clock.now() - this.due, 0);
        this.#longest = 0;
        return Math.round(longest);
    }

    /**
     * Ends it, and gives its part of the result.
     *
     * @param {number} ended when the last worker has, in nanoseconds from `go`; what was due by then may still wait for
     *   the loop that it held
     */
    async stop(ended) {
        clearTimeout(this.#timer);
        this.#late(ended, this.clock.now());
        const utilization = this.#since && performance.eventLoopUtilization(this.#since).utilization;
        this.pool.postMessage({});
        const [waits] = await once(this.pool, 'message');
        await this.pool.terminate();
        return { lateness: this.lateness.encode(), pool_wait: new Histogram(waits).encode(), utilization };
    }
}
