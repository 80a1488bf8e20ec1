// The host probe: delays of the main event loop and of libuv's thread pool while the driver works, measured separately.

import { once } from 'node:events';
import { deflate } from 'node:zlib';
import { Worker as Thread } from 'node:worker_threads';

import { Clock } from './clock.mjs';
import { Histogram } from './histogram.mjs';

/**
 * A periodic timer on the main event loop. A due time that passes while the previous one is still late counts too, so a
 * stall of ten periods counts as ten. A thread submits a job to the pool at the same interval; see `pool`.
 */
export class Probe {
    lateness = new Histogram();
    /** Longest delay of the timer since the last `takeLongest`. */
    #longest = 0;
    #timer;
    #since = null;

    /**
     * Creates a probe that is ready to start.
     *
     * @param {number} period_ms
     * @param {number} warm nanoseconds since `go`; earlier due times are not recorded
     * @param {boolean} deflates whether the loop submits a job of its own too; see `Deflates`
     */
    static async open(period_ms, warm, deflates) {
        const pool = new Thread(new URL('pool.mjs', import.meta.url), { workerData: { period_ms, warm } });
        await once(pool, 'message');
        return new Probe(period_ms, warm, pool, deflates);
    }

    constructor(period_ms, warm, pool, deflates) {
        this.period = period_ms * 1e6;
        this.warm = warm;
        this.pool = pool;
        this.deflates = deflates ? new Deflates(period_ms, warm) : null;
    }

    /** @param {bigint} go from `process.hrtime.bigint` */
    start(go) {
        this.clock = new Clock(go);
        this.due = this.period;
        this.pool.postMessage({ go });
        this.deflates?.start(this.clock);
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

    /** Records all due times up to `until`. */
    #late(until, now) {
        this.#longest = Math.max(this.#longest, now - this.due);
        for (; this.due <= until; this.due += this.period) {
            if (this.due >= this.warm) this.lateness.record(now - this.due);
        }
    }

    /** Returns the longest delay since the last call, warm-up included, or for how long the timer is overdue. */
    takeLongest() {
        const longest = Math.max(this.#longest, this.clock.now() - this.due, 0);
        this.#longest = 0;
        return Math.round(longest);
    }

    /**
     * Ends the probe and returns its part of the result.
     *
     * @param {number} ended end of the last worker, in nanoseconds since `go`; a timer due by then may still wait for
     *   the loop that the worker blocked
     */
    async stop(ended) {
        clearTimeout(this.#timer);
        this.#late(ended, this.clock.now());
        const utilization = this.#since && performance.eventLoopUtilization(this.#since).utilization;
        this.pool.postMessage({});
        const [waits] = await once(this.pool, 'message');
        await this.pool.terminate();
        const timers = { probe: this.lateness.encode(), pool_wait: new Histogram(waits).encode() };
        if (this.deflates !== null) timers.deflate = this.deflates.stop().encode();
        return { timers, gauges: Number.isFinite(utilization) ? { utilization } : {} };
    }
}

/**
 * The wait for a `zlib.deflate` of a few bytes that an interval of the loop submits, until its callback: the probe of a
 * published benchmark. It includes the wait for the pool and the delay of the loop on the way back.
 */
class Deflates {
    waits = new Histogram();
    /** Submission times of the outstanding jobs. */
    #under = new Set();
    #timer;

    constructor(period_ms, warm) {
        this.period_ms = period_ms;
        this.warm = warm;
    }

    start(clock) {
        this.clock = clock;
        this.#timer = setInterval(() => this.#submit(clock.now()), this.period_ms);
    }

    #submit(since) {
        if (since < this.warm) return;
        this.#under.add(since);
        deflate('asdf', () => {
            if (this.#under.delete(since)) this.waits.record(this.clock.now() - since);
        });
    }

    /** Ends the interval. Outstanding jobs count with their wait so far. */
    stop() {
        clearInterval(this.#timer);
        for (const since of this.#under) this.waits.record(this.clock.now() - since);
        this.#under.clear();
        return this.waits;
    }
}
