// Arrivals of an open loop: one schedule for all workers of a role, in memory shared by threads.

import { FutexGate } from './sharing.mjs';
import { Fault } from './driver.mjs';
import { Stream } from './generator.mjs';

export class Schedule {
    /** Allocates the shared memory: the lock, and `[number, seconds from go to the last arrival taken]`. */
    static memory() {
        return { lock: FutexGate.memory(1), next: new Float64Array(new SharedArrayBuffer(16)) };
    }

    /** Returns null for a closed loop. */
    static of(seed, role, memory) {
        return role.load.kind === 'open' ? new Schedule(seed, role, memory) : null;
    }

    constructor(seed, role, memory) {
        const { rate, arrivals } = role.load;
        if (!(Number.isFinite(rate) && rate > 0)) throw new Fault(`role \`${role.name}\`: a rate of ${rate} is none`);
        this.rate = rate;
        this.constant = arrivals === 'constant';
        this.stream = new Stream(seed, `${role.name}.arrivals.${role.first_in_role}`);
        // Gaps from `go` to the first of constant arrivals: 1, or less if several processes share the role.
        this.phase = (role.first_in_role + role.workers) / role.workers_in_role;
        this.lock = new FutexGate(memory.lock);
        this.next = memory.next;
    }

    /**
     * Returns the next arrival in nanoseconds since `go`. If that is after `end`, it returns null and keeps the
     * arrival.
     */
    take(end) {
        this.lock.take();
        const [number, elapsed] = this.next;
        const seconds = this.#after(number, elapsed);
        const due = Math.floor(seconds * 1e9);
        if (due <= end) {
            this.next[0] = number + 1;
            this.next[1] = seconds;
        }
        this.lock.give(0);
        return due <= end ? due : null;
    }

    /** Each gap precedes its arrival, so nothing is due at `go` itself. */
    #after(number, elapsed) {
        // Computed from the number, so that rounding errors do not accumulate.
        if (this.constant) return (number + this.phase) / this.rate;
        this.stream.word(number);
        return elapsed - Math.log(1 - this.stream.unit()) / this.rate;
    }

    /** Counts the arrivals due until `end` that no worker has taken. Consumes the rest of the schedule. */
    rest(end) {
        let count = 0;
        while (this.take(end) !== null) count++;
        return count;
    }
}
