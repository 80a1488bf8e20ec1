// A worker: repeats its role's steps until the role ends.

import { Stream } from './generator.mjs';
import { End } from './clock.mjs';
import { Params } from './params.mjs';
import { EMPTY, FAILED } from './driver.mjs';
import { note } from './histogram.mjs';
import { Counters, Record } from './record.mjs';
import { Schedule } from './schedule.mjs';
import { Execution, Memory, Retrying } from './transaction.mjs';

/**
 * Who a worker is.
 *
 * @typedef {object} Seat
 * @property {number} database
 * @property {number} role index in the trial
 * @property {number} place in the role, over all processes
 * @property {number} worker index among all workers of its database
 * @property {number} counters index of its first step's counters on the board
 * @property {number} connection its own one's place among those of its database, where it has one
 */

/** @returns {Seat[]} all workers, in the order of the board */
export function seats(trial) {
    const all = [];
    let counters = 0;
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
                    counters,
                    connection: connection++,
                });
                counters += role.steps.length;
            }
        });
    }
    return all;
}

/** One worker, ready to go. */
export class Worker {
    /**
     * @param {Seat} seat
     * @param {{ write: import('./access.mjs').Way, read: import('./access.mjs').Way }} ways
     * @param {'bigint' | 'number'} integers
     * @param {import('./trial.mjs').Stage} stage what the workers share
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
        this.end = endOf(trial, role, stage.ended);
        this.memory = memory;
        this.steps = role.steps.map(({ transaction, stride, offset }, at) => {
            const spec = trial.transactions[transaction];
            const { gate, sessions } = spec.writes ? ways.write : ways.read;
            const params = new Params(trial.seed, spec, seat.worker, integers, place);
            return {
                gate,
                /** On each of the connections behind the gate. */
                executions: sessions.map((session) => new Execution(transaction, spec, session, params, memory, retry)),
                params,
                record: new Record(spec, gate !== null, this.schedule !== null),
                counters: new Counters(stage.board, seat.counters + at),
                /** The operation that comes next. */
                operation: offset + seat.place,
                stride,
            };
        });
    }

    /** Works until the role ends, or something goes wrong that is not SQLite's. */
    async run(clock) {
        const { role, end, warm, schedule, memory, steps } = this;
        memory.clock = clock;
        const limit = role.until.kind === 'count' ? role.until.transactions : Infinity;
        const think = role.load.kind === 'closed' ? role.load.think_us * 1000 : 0;
        let inside = 0;
        let left = null;
        let at = 0;
        // Its own transactions have the numbers place, place + workers, place + 2 * workers, … in its role.
        for (let number = this.seat.place; number < limit; number += role.workers_in_role) {
            let due = null;
            if (schedule !== null) {
                due = schedule.take(end.time);
                if (due === null) {
                    // Nothing more arrives, but the role lasts until its time.
                    await end.sleep(clock, Infinity);
                    break;
                }
            }
            if (role.order === 'weighted') at = this.#byWeight(number);
            const task = steps[at];
            const { gate } = task;
            task.params.draw(task.operation);
            if (due !== null) await end.sleep(clock, due);
            const start = clock.now();
            if (end.isPast(start)) {
                left = due;
                break;
            }
            task.operation += task.stride;

            let held = 0;
            let had = start;
            if (gate !== null) {
                held = gate.take();
                if (typeof held !== 'number') held = await held;
                had = clock.now();
            }
            let seen = task.executions[held].run();
            if (typeof seen !== 'number') seen = await seen;
            if (gate !== null) gate.give(held);

            count(task, memory, seen);
            if (start >= warm && seen >= 0) measure(task.record, memory, seen, start, had, due);
            if (memory.end > warm) inside += memory.end - Math.max(start, warm);
            at = seen === EMPTY || at + 1 === steps.length ? 0 : at + 1;
            if (think > 0) await end.sleep(clock, clock.now() + think);
            // An application's requests come in by the event loop: each has its turn.
            if (clock.shares) await new Promise(setImmediate);
        }
        const ended = clock.now();
        const outside = Math.max(0, ended - warm - inside);
        return { seat: this.seat, records: steps.map(({ record }) => record), ended, inside, outside, left };
    }

    /** The first step whose cumulative weight exceeds the draw. */
    #byWeight(number) {
        this.choice.word(number);
        let drawn = this.choice.below(this.weights);
        return this.role.steps.findIndex(({ weight }) => (drawn -= weight) < 0);
    }
}

function endOf(trial, role, ended) {
    const { until } = role;
    if (until.kind === 'time') return new End(until.ms * 1e6, null, 0);
    if (until.kind === 'count') return new End(Infinity, null, 0);
    const other = trial.roles.findIndex(({ name }) => name === until.name);
    return new End(Infinity, ended, other);
}

/** What counts from `go` on. */
function count({ record, counters }, memory, seen) {
    const { errors } = memory;
    counters.add(seen, errors);
    if (errors.length > 0) {
        record.count(errors, seen !== FAILED);
        memory.errors = [];
    }
    if (memory.verified > 0) {
        record.verified += memory.verified;
        record.mismatches += memory.mismatches;
        memory.verified = memory.mismatches = 0;
    }
}

/** What counts after the warm-up. */
function measure(record, memory, rows, start, had, due) {
    const { end } = memory;
    record.measured++;
    record.rows += rows;
    record.service.record(end - start);
    if (record.wait !== null) record.wait.record(had - start);
    if (record.response !== null) {
        record.response.record(end - due);
        record.lag.record(start - due);
    }
    if (record.query !== null) {
        note(record.query, memory.query, start);
        note(record.first_row, memory.firstRow, start);
    }
}
