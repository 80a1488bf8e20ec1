// Time since `go`, and pauses: blocking ones in a thread of its own, timers on an event loop.

// The global of this name is a getter, which takes as long as the clock itself.
import { performance } from 'node:perf_hooks';
import { Worker } from 'node:worker_threads';

/** How long a pause may outlast the event that should end it, in nanoseconds. */
const SLICE = 10e6;

/** Milliseconds of the system's monotonic clock, the same in all threads; `performance.now` starts anew in each. */
export const systemNow = () => Number(process.hrtime.bigint()) / 1e6;

/** Never written: something to wait for in vain. */
const nothing = new Int32Array(new SharedArrayBuffer(4));

/** Blocks this thread. */
export function block(ms) {
    if (ms > 0) Atomics.wait(nothing, 0, 0, ms);
}

/** Nanoseconds since `go`, as a double. */
export class Clock {
    /** @param {number} go in milliseconds of `systemNow` */
    constructor(go) {
        this.go = performance.now() - (systemNow() - go);
    }

    now() {
        return (performance.now() - this.go) * 1e6;
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

    /**
     * @param {Alarm} alarm
     * @param {boolean} inline whether transactions run on the loop itself: what pauses inside one holds the loop
     */
    constructor(go, alarm, inline) {
        super(go);
        this.alarm = alarm;
        this.inline = inline;
    }

    pause(nanos) {
        return nanos > 0 ? this.alarm.at(performance.now() + nanos / 1e6) : undefined;
    }

    hold(nanos) {
        return this.inline ? block(nanos / 1e6) : this.pause(nanos);
    }
}

/**
 * Pauses of an event loop to a tenth of a millisecond or better. Its own timers have steps of one, which would make an
 * arrival or a held lock late for no reason that an application has: there it is a socket that ends the pause. So a
 * thread sleeps instead, and wakes the loop.
 */
export class Alarm {
    sleepers = [];
    bell = new Int32Array(new SharedArrayBuffer(4));
    /** When to ring next, in milliseconds of `systemNow`. */
    due = new Float64Array(new SharedArrayBuffer(8));

    constructor() {
        const { bell, due } = this;
        this.thread = new Worker(new URL('alarm.mjs', import.meta.url), { workerData: { bell, due } });
        this.thread.on('message', () => this.#wake());
        this.thread.unref();
        this.offset = systemNow() - performance.now();
    }

    /** @param {number} when in milliseconds of `performance.now` */
    at(when) {
        return new Promise((wake) => {
            this.sleepers.push({ when, wake });
            if (this.sleepers.every((other) => when <= other.when)) this.#set(when);
        });
    }

    #set(when) {
        this.due[0] = when + this.offset;
        Atomics.add(this.bell, 0, 1);
        Atomics.notify(this.bell, 0);
    }

    #wake() {
        const now = performance.now();
        const due = this.sleepers.filter(({ when }) => when <= now);
        this.sleepers = this.sleepers.filter(({ when }) => when > now);
        if (this.sleepers.length > 0) this.#set(Math.min(...this.sleepers.map(({ when }) => when)));
        for (const { wake } of due) wake();
    }
}

/** When a role's last transaction may start: at a time known beforehand, or until another role has ended. */
export class End {
    /**
     * @param {number} time nanoseconds since `go`, or Infinity
     * @param {Int32Array | null} flags of all roles, 1 where one has ended
     * @param {number} role the one that this end waits for
     */
    constructor(time, flags, role) {
        this.time = time;
        this.flags = flags;
        this.role = role;
    }

    isPast(now) {
        return now > this.time || (this.flags !== null && Atomics.load(this.flags, this.role) === 1);
    }

    /** Sleeps until `due`, or until it is too late anyway. */
    async sleep(clock, due) {
        for (;;) {
            const now = clock.now();
            if (now >= due || this.isPast(now)) return;
            // Just past the end, for a start at the end itself is in time.
            const left = Math.min(due, this.time + 1) - now;
            await clock.pause(Math.max(1, this.flags !== null ? Math.min(left, SLICE) : left));
        }
    }
}
