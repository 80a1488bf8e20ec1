// Arrivals of an open load: one schedule for all workers of a role, in memory that threads share.

import { FutexGate } from './access.mjs';
import { Fault } from './driver.mjs';
import { Stream } from './generator.mjs';

export class Schedule {
    /** What threads share: the lock, and `[number, seconds from go to the last arrival taken]`. */
    static memory() {
        return { lock: FutexGate.memory(1), next: new Float64Array(new SharedArrayBuffer(16)) };
    }

    /** Null for a closed loop. */
    static of(seed, role, memory) {
        return role.load.kind === 'open' ? new Schedule(seed, role, memory) : null;
    }

    constructor(seed, role, memory) {
        const { rate, arrivals } = role.load;
        if (!(Number.isFinite(rate) && rate > 0)) throw new Fault(`role \`${role.name}\`: a rate of ${rate} is none`);
        this.rate = rate;
        this.constant = arrivals === 'constant';
        this.stream = new Stream(seed, `${role.name}.arrivals.${role.first_in_role}`);
        // From `go` to the first of constant arrivals, in gaps: 1, but less in one process of several.
        this.phase = (role.first_in_role + role.workers) / role.workers_in_role;
        this.lock = new FutexGate(memory.lock);
        this.next = memory.next;
    }

    /** When the next arrival is due, in nanoseconds from `go`. Null, and it stays, when that is after `end`. */
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

    /** A gap comes before its arrival, the first one, too: nothing is due at `go` itself. */
    #after(number, elapsed) {
        // From the number, not by adding up, so that no rounding gathers.
        if (this.constant) return (number + this.phase) / this.rate;
        this.stream.word(number);
        return elapsed - Math.log(1 - this.stream.unit()) / this.rate;
    }

    /** How many arrivals are due until `end` that nobody took. Takes what is left of the schedule. */
    rest(end) {
        let count = 0;
        while (this.take(end) !== null) count++;
        return count;
    }
}
