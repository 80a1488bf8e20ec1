// What a worker writes down. Each has its own; they are added up when the trial is over. Only the few counts that
// `tick` shows are in memory that threads share, written by one of them and read by the main one.

import { nameOf } from './codes.mjs';
import { Histogram } from './histogram.mjs';

const HISTOGRAMS = ['service', 'wait', 'response', 'lag', 'query', 'first_row'];

/** The place of EMPTY is 1, that of FAILED is 2. */
const KINDS = ['committed', 'empty', 'failed', 'errors', 'busy'];
const COMMITTED = 0;
const ERRORS = 3;
const BUSY = 4;
/** The primary code of SQLITE_BUSY. */
const SQLITE_BUSY = 5;

/** Doubles from one step's counts to the next: 128 bytes, two cache lines, for processors that fetch them in pairs. */
const STRIDE = 16;

/** The statement that `query` and `first_row` belong to; -1 where there is none, or they are not timed. */
export const firstFetch = (transaction) =>
    !transaction.timed_rows
        ? -1
        : transaction.statements.findIndex(({ fetch }) => fetch === 'all' || fetch === 'buffer');

/** Histograms and counts of one step of one worker. Their size does not depend on the number of operations. */
export class Record {
    measured = 0;
    rows = 0;
    verified = 0;
    mismatches = 0;
    /** By extended code, `{ seen, cured }`. */
    errors = new Map();

    /** `shares`: whether there is something to wait for. `open`: whether arrivals are scheduled. */
    constructor(transaction, shares, open) {
        const only = (wanted) => (wanted ? new Histogram() : null);
        const fetches = firstFetch(transaction) >= 0;
        this.service = new Histogram();
        this.wait = only(shares);
        this.response = only(open);
        this.lag = only(open);
        this.query = only(fetches);
        this.first_row = only(fetches);
    }

    /** Counts the errors of one execution, the same code as often as it was seen. */
    count(codes, cured) {
        for (const code of codes) {
            const count = this.errors.get(code) ?? { seen: 0, cured: 0 };
            count.seen++;
            if (cured) count.cured++;
            this.errors.set(code, count);
        }
    }

    /** As a message between threads, and back. */
    static revive(message) {
        const record = Object.assign(Object.create(Record.prototype), message);
        for (const name of HISTOGRAMS) {
            if (record[name] !== null) record[name] = new Histogram(record[name].counts);
        }
        return record;
    }

    /** Adds this to the whole. */
    mergeInto(whole) {
        for (const name of ['measured', 'rows', 'verified', 'mismatches']) whole[name] += this[name];
        for (const [code, { seen, cured }] of this.errors) {
            const sum = (whole.errors[nameOf(code)] ??= { seen: 0, cured: 0 });
            sum.seen += seen;
            sum.cured += cured;
        }
        for (const name of HISTOGRAMS) {
            if (this[name] !== null) (whole[name] ??= new Histogram()).merge(this[name]);
        }
    }
}

/** The counts of one step of one worker that `tick` shows. */
export class Counters {
    constructor(memory, at) {
        this.memory = memory;
        this.at = at * STRIDE;
    }

    /** One execution more: what it gave, and the codes of its errors. An aligned double is stored in one piece. */
    add(seen, errors) {
        this.memory[this.at + (seen >= 0 ? COMMITTED : -seen)]++;
        if (errors.length === 0) return;
        this.memory[this.at + ERRORS] += errors.length;
        this.memory[this.at + BUSY] += errors.filter((code) => (code & 0xff) === SQLITE_BUSY).length;
    }
}

/** The counts of all workers, and the role and transaction where they belong. */
export class Board {
    static memory(trial) {
        const steps = trial.roles.reduce((sum, role) => sum + role.workers * role.steps.length, 0);
        return new Float64Array(new SharedArrayBuffer(8 * STRIDE * Math.max(1, steps * trial.databases.length)));
    }

    /** @param {import('./worker.mjs').Seat[]} seats all workers */
    constructor(trial, memory, seats) {
        this.memory = memory;
        /** `{ role, transaction }`, each pair once. */
        this.keys = [];
        /** Index into `keys` of each step of each worker. */
        this.places = [];
        trial.roles.forEach((role) => role.steps.forEach((step) => this.#place(trial, role, step)));
        for (const seat of seats) {
            const role = trial.roles[seat.role];
            for (const step of role.steps) this.places.push(this.#place(trial, role, step));
        }
        this.last = this.#sums();
    }

    #place(trial, role, step) {
        const transaction = trial.transactions[step.transaction].name;
        const at = this.keys.findIndex((key) => key.role === role.name && key.transaction === transaction);
        return at >= 0 ? at : this.keys.push({ role: role.name, transaction }) - 1;
    }

    #sums() {
        const sums = this.keys.map((key) => ({ ...key, committed: 0, empty: 0, failed: 0, errors: 0, busy: 0 }));
        this.places.forEach((place, at) =>
            KINDS.forEach((kind, k) => (sums[place][kind] += this.memory[at * STRIDE + k])),
        );
        return sums;
    }

    /** What was counted since the last tick, and how late a timer of the probe ran; there may be none. */
    tick(t_ms, probe) {
        const now = this.#sums();
        const since = now.map((count, at) => {
            const difference = { ...count };
            for (const kind of KINDS) difference[kind] -= this.last[at][kind];
            return difference;
        });
        this.last = now;
        const counts = since.filter((count) => KINDS.some((kind) => count[kind] > 0));
        return { type: 'tick', t_ms, counts, ...(probe && { lag_ns: probe.takeLongest() }) };
    }

    /** Commits of one worker. */
    committed(trial, seat) {
        const steps = trial.roles[seat.role].steps.length;
        let sum = 0;
        for (let at = 0; at < steps; at++) sum += this.memory[(seat.counters + at) * STRIDE + COMMITTED];
        return sum;
    }

    /** The result's entry for each role and transaction, from what its workers recorded. */
    operations(trial, done) {
        const whole = this.#sums().map((sum) => {
            const { errors: _, busy: __, ...counts } = sum;
            const transaction = trial.transactions.find(({ name }) => name === sum.transaction);
            const empty = new Record(transaction, false, false);
            return { ...counts, ...empty, errors: {}, unserved: 0 };
        });
        for (const { seat, records } of done) {
            records.forEach((record, at) => record.mergeInto(whole[this.places[seat.counters + at]]));
        }
        return whole;
    }
}

/** Histograms in their wire form. */
export function encoded(operation) {
    const wire = { ...operation };
    for (const name of HISTOGRAMS) wire[name] = operation[name]?.encode() ?? null;
    return wire;
}
