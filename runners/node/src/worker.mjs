// A worker: repeats its role's steps until the role ends.

import { Stream } from './generator.mjs';
import { End } from './clock.mjs';
import { Params } from './params.mjs';
import { note } from './histogram.mjs';
import { COMMITTED, Counters, EMPTY, FAILED, Record } from './record.mjs';
import { Schedule } from './schedule.mjs';
import { Memory, Plan, Retrying, run } from './transaction.mjs';

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
        const names = new Map();
        const place = (name) => names.get(name) ?? names.set(name, names.size).size - 1;
        this.seat = seat;
        this.role = role;
        this.integers = integers;
        this.names = names;
        this.retry = new Retrying(trial.retry);
        this.schedule = Schedule.of(trial.seed, role, stage.schedules[seat.role]);
        this.choice = new Stream(trial.seed, `${role.name}.step`);
        this.weights = role.steps.reduce((sum, step) => sum + step.weight, 0);
        this.warm = trial.warmup_ms * 1e6;
        this.end = endOf(trial, role, stage.ended);
        this.steps = role.steps.map((step, at) => {
            const spec = trial.transactions[step.transaction];
            const way = spec.writes ? ways.write : ways.read;
            return {
                step,
                way,
                plan: new Plan(step.transaction, spec, place),
                params: new Params(trial.seed, spec, seat.worker, integers, place),
                record: new Record(spec, way.gate !== null, this.schedule !== null),
                counters: new Counters(stage.board, seat.counters + at),
                /** How often this worker has started it. */
                times: 0,
            };
        });
    }

    /** Works until the role ends, or something goes wrong that is not SQLite's. */
    async run(clock) {
        const { role, end, warm, schedule } = this;
        const memory = new Memory(clock, this.names.size, this.integers);
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
            const task = this.steps[at];
            task.params.draw(task.times * task.step.stride + task.step.offset + this.seat.place);
            if (due !== null) await end.sleep(clock, due);
            const start = clock.now();
            if (end.isPast(start)) {
                left = due;
                break;
            }
            task.times++;

            const { gate, sessions } = task.way;
            let held = 0;
            memory.had = null;
            if (gate !== null) {
                const taken = gate.take();
                held = typeof taken === 'number' ? taken : await taken;
                memory.had = clock.now();
            }
            const execution = run(task.plan, sessions[held], task.params, memory, this.retry);
            const begun = execution.next();
            if (!begun.done) await finish(execution, begun.value);
            if (gate !== null) gate.give(held);

            count(task, memory);
            if (start >= warm && memory.ending === COMMITTED) measure(task.record, memory, start, due);
            if (memory.end > warm) inside += memory.end - Math.max(start, warm);
            at = memory.ending === EMPTY || at + 1 === this.steps.length ? 0 : at + 1;
            if (think > 0) await end.sleep(clock, clock.now() + think);
            // An application's requests come in by the event loop: each has its turn.
            if (clock.shares) await new Promise(setImmediate);
        }
        const ended = clock.now();
        const outside = Math.max(0, ended - warm - inside);
        return { seat: this.seat, records: this.steps.map(({ record }) => record), ended, inside, outside, left };
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

/** Goes on with an execution that has to wait. */
async function finish(execution, waiting) {
    for (;;) {
        let value;
        let failed = false;
        try {
            value = await waiting;
        } catch (error) {
            value = error;
            failed = true;
        }
        const step = failed ? execution.throw(value) : execution.next(value);
        if (step.done) return;
        waiting = step.value;
    }
}

/** What counts from `go` on. */
function count({ record, counters }, memory) {
    counters.add(memory.ending, memory.errors.length);
    record.verified += memory.verified;
    record.mismatches += memory.mismatches;
    if (memory.errors.length > 0) record.count(memory.errors, memory.ending !== FAILED);
}

/** What counts after the warm-up. */
function measure(record, memory, start, due) {
    record.measured++;
    record.rows += memory.rows;
    record.service.record(memory.end - start);
    if (memory.had !== null) note(record.wait, memory.had - start);
    if (due !== null) {
        record.response.record(memory.end - due);
        record.lag.record(start - due);
    }
    if (memory.query !== null) note(record.query, memory.query - start);
    if (memory.firstRow !== null) note(record.first_row, memory.firstRow - start);
}
