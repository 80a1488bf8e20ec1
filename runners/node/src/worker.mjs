// A worker, which repeats the steps of its role until the role ends.

import { waits } from './sharing.mjs';
import { Stream } from './generator.mjs';
import { End } from './clock.mjs';
import { Params } from './params.mjs';
import { EMPTY } from './driver.mjs';
import { Progress } from './progress.mjs';
import { Record } from './record.mjs';
import { Schedule } from './schedule.mjs';
import { Execution, Memory, Retrying } from './transaction.mjs';

/**
 * The identity of a worker, with its shared memory.
 *
 * @typedef {object} Seat
 * @property {number} database
 * @property {number} role index in the trial
 * @property {number} place in the role, over all processes
 * @property {number} worker index among all workers of its database
 * @property {number} connection index of its own connection in its database, if it has one
 * @property {object} progress see `Progress`
 * @property {object[]} records see `Record`, by step
 */

/** @returns {Seat[]} all workers, each with its memory */
export function seats(trial) {
    const all = [];
    for (let database = 0; database < trial.databases.length; database++) {
        let connection = 0;
        trial.roles.forEach((role, at) => {
            for (let w = 0; w < role.workers; w++) {
                const place = role.first_in_role + w;
                all.push({
                    database,
                    role: at,
                    place,
                    worker: role.first_worker + w,
                    connection: connection++,
                    progress: Progress.memory(),
                    records: role.steps.map((step) => {
                        const spec = trial.transactions[step.transaction];
                        return Record.memory(spec, waits(trial.sharing, spec), role.load.kind === 'open');
                    }),
                });
            }
        });
    }
    return all;
}

/** One worker, ready to start. */
export class Worker {
    /**
     * @param {Seat} seat
     * @param {{ write: import('./sharing.mjs').Way, read: import('./sharing.mjs').Way }} ways
     * @param {'bigint' | 'number'} integers
     * @param {import('./stage.mjs').Stage} stage the shared state of the workers
     */
    constructor(trial, seat, ways, integers, stage) {
        const role = trial.roles[seat.role];
        const retry = new Retrying(trial.retry);
        const memory = new Memory(integers);
        const place = (name) => memory.place(name);
        this.seat = seat;
        this.role = role;
        this.schedule = Schedule.of(trial.seed, role, stage.schedules[seat.role]);
        this.choice = new Stream(trial.seed, `${role.name}.step`);
        this.weights = role.steps.reduce((sum, step) => sum + step.weight, 0);
        this.warm = trial.warmup_ms * 1e6;
        this.end = End.of(trial, role, stage);
        this.progress = new Progress(seat.progress, this.warm, this.end);
        this.memory = memory;
        this.steps = role.steps.map(({ transaction, stride, offset }, at) => {
            const spec = trial.transactions[transaction];
            const { gate, sessions } = spec.writes ? ways.write : ways.read;
            const params = new Params(trial.seed, spec, seat.worker, integers, place);
            return {
                gate,
                /** One execution for each connection behind the gate. */
                executions: sessions.map((session) => new Execution(transaction, spec, session, params, memory, retry)),
                params,
                record: new Record(seat.records[at]),
                /** Number of the next operation. */
                operation: offset + seat.place,
                stride,
            };
        });
    }

    /**
     * Works until the role ends, or an error occurs that is not from the database. If its transaction was abandoned,
     * the worker may never end.
     */
    async run(clock) {
        const { role, end, warm, schedule, memory, steps, progress } = this;
        memory.clock = clock;
        const limit = role.until.kind === 'count' ? role.until.transactions : Infinity;
        const think = role.load.kind === 'closed' ? role.load.think_us * 1000 : 0;
        let unstarted = null;
        let at = 0;
        // This worker's transactions have the numbers place, place + workers, place + 2 * workers, … in its role.
        for (let number = this.seat.place; number < limit; number += role.workers_in_role) {
            let due = null;
            if (schedule !== null) {
                due = schedule.take(end.time);
                if (due === null) {
                    // Nothing more arrives, but the role lasts until its end.
                    await end.sleep(clock, Infinity);
                    break;
                }
            }
            if (role.order === 'weighted') at = this.#byWeight(number);
            const { gate, executions, params, record, operation, stride } = steps[at];
            params.draw(operation);
            if (due !== null) await end.sleep(clock, due);
            const start = clock.now();
            if (end.isPast(start)) {
                unstarted = due;
                break;
            }
            steps[at].operation += stride;
            progress.begin(at, start, due);

            let held = 0;
            let had = start;
            if (gate !== null) {
                held = gate.take();
                if (typeof held !== 'number') held = await held;
                had = clock.now();
            }
            let seen = executions[held].run(record, progress);
            if (typeof seen !== 'number') seen = await seen;
            if (gate !== null) gate.give(held);

            if (!progress.over()) return new Promise(() => {});
            record.add(seen, memory.errors, progress.account(seen >= 0, memory.end));
            if (memory.errors.length > 0) memory.errors = [];
            if (memory.verified > 0) {
                record.verify(memory.verified, memory.mismatches);
                memory.verified = memory.mismatches = 0;
            }
            if (start >= warm && seen >= 0) record.measure(memory, seen, start, had, due);
            at = seen === EMPTY || at + 1 === steps.length ? 0 : at + 1;
            if (think > 0) await end.sleep(clock, clock.now() + think);
            // Requests of an application arrive through the event loop, each in an iteration of its own.
            if (clock.shares) await new Promise(setImmediate);
        }
        progress.stop(clock.now(), unstarted);
    }

    /** Returns the first step whose cumulative weight exceeds the draw. */
    #byWeight(number) {
        this.choice.word(number);
        let drawn = this.choice.below(this.weights);
        return this.role.steps.findIndex(({ weight }) => (drawn -= weight) < 0);
    }
}
