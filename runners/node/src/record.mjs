// The results of each step of a worker, in memory shared with the main thread, which reads it while the worker runs,
// and loses nothing if a call of the worker never returns.

import { NAMES, codeOf, nameOf } from './codes.mjs';
import { FAILED } from './driver.mjs';
import { Histogram, note } from './histogram.mjs';

const HISTOGRAMS = ['service', 'wait', 'response', 'lag', 'query', 'first_row'];

/** EMPTY has index 1, FAILED index 2. */
const COUNTS = ['committed', 'empty', 'failed', 'ended', 'measured', 'rows', 'verified', 'mismatches'];
const [COMMITTED, , , ENDED, MEASURED, ROWS, VERIFIED, MISMATCHES] = COUNTS.keys();
/** Counts in a tick, besides errors. */
const SHOWN = COUNTS.slice(0, 3);

const ERRORS = new Map(NAMES.map((name, at) => [name, 2 * at]));
/** The primary code of SQLITE_BUSY. */
const SQLITE_BUSY = 5;
const BUSY = new Set(NAMES.filter((name) => (codeOf(name) & 0xff) === SQLITE_BUSY));

/** Number of codes whose first message is kept, and bytes per message including its code and length. */
const MESSAGES = 16;
const MESSAGE_BYTES = 256;

/** Returns the index of the statement timed by `query` and `first_row`, or -1. */
export const firstFetch = (transaction) =>
    !transaction.timed_rows
        ? -1
        : transaction.statements.findIndex(({ fetch }) => fetch === 'all' || fetch === 'buffer');

/** Histograms and counts of one step of one worker. Their size does not depend on the number of operations. */
export class Record {
    /** `shares`: the connection is shared. `open`: arrivals are scheduled. */
    static memory(transaction, shares, open) {
        const doubles = (count) => new Float64Array(new SharedArrayBuffer(8 * count));
        const only = (wanted) => (wanted ? Histogram.memory() : null);
        const fetches = firstFetch(transaction) >= 0;
        return {
            counts: doubles(COUNTS.length),
            errors: doubles(2 * NAMES.length),
            messages: new Uint8Array(new SharedArrayBuffer(MESSAGES * MESSAGE_BYTES)),
            service: only(true),
            wait: only(shares),
            response: only(open),
            lag: only(open),
            query: only(fetches),
            first_row: only(fetches),
        };
    }

    constructor(memory) {
        /** Indexed as `COUNTS`. An aligned double is stored atomically. */
        this.counts = memory.counts;
        /** Number of times that each of `NAMES` was seen, and cured. */
        this.errors = memory.errors;
        /** For each code that occurred: its index in `NAMES` plus 1, the length of its first message, the message. */
        this.messages = memory.messages;
        for (const name of HISTOGRAMS) this[name] = memory[name] && new Histogram(memory[name]);
    }

    /** Counts an error, and keeps the first message of its code. */
    error({ code, message }) {
        const at = ERRORS.get(nameOf(code));
        if (this.errors[at]++ === 0) this.#keep(1 + at / 2, message);
    }

    #keep(code, message) {
        // The drivers put the name of the code before the message.
        const text = Buffer.from(message.replace(/^((SQLITE_\w+|UNKNOWN): )+/, '').replace(/\s+/g, ' '));
        for (let slot = 0; slot < this.messages.length; slot += MESSAGE_BYTES) {
            if (this.messages[slot] !== 0) continue;
            let length = Math.min(text.length, MESSAGE_BYTES - 2);
            // No part of a character.
            while ((text[length] & 0xc0) === 0x80) length--;
            this.messages.set(text.subarray(0, length), slot + 2);
            this.messages[slot + 1] = length;
            this.messages[slot] = code;
            return;
        }
    }

    #message(code) {
        for (let slot = 0; slot < this.messages.length; slot += MESSAGE_BYTES) {
            if (this.messages[slot] !== code) continue;
            const start = slot + 2;
            return Buffer.from(this.messages.slice(start, start + this.messages[slot + 1])).toString();
        }
        return undefined;
    }

    /** Counts an execution: its result, the codes of its errors, and whether it committed in the window. */
    add(seen, errors, ended) {
        this.counts[seen >= 0 ? COMMITTED : -seen]++;
        if (ended) this.counts[ENDED]++;
        if (seen !== FAILED) for (const code of errors) this.errors[ERRORS.get(nameOf(code)) + 1]++;
    }

    /** Counts rows that were checked. */
    verify(verified, mismatches) {
        this.counts[VERIFIED] += verified;
        this.counts[MISMATCHES] += mismatches;
    }

    /** Records a committed transaction that started after the warm-up. */
    measure(memory, rows, start, had, due) {
        const { end } = memory;
        this.counts[MEASURED]++;
        this.counts[ROWS] += rows;
        this.service.record(end - start);
        if (this.wait !== null) this.wait.record(had - start);
        if (this.response !== null) {
            this.response.record(end - due);
            this.lag.record(start - due);
        }
        if (this.query !== null) {
            note(this.query, memory.query, start);
            note(this.first_row, memory.firstRow, start);
        }
    }

    /** Adds the counts and errors to the whole. */
    addTo(whole) {
        COUNTS.forEach((name, at) => (whole[name] += this.counts[at]));
        for (const [name, at] of ERRORS) {
            if (this.errors[at] === 0) continue;
            const sum = (whole.errors[name] ??= { seen: 0, cured: 0 });
            sum.seen += this.errors[at];
            sum.cured += this.errors[at + 1];
            sum.message ??= this.#message(1 + at / 2);
        }
    }
}

/** The counts of all workers, by role and transaction. */
export class Board {
    /** @param {import('./worker.mjs').Seat[]} seats all workers */
    constructor(trial, seats) {
        /** The distinct pairs `{ role, transaction }`. */
        this.keys = [];
        trial.roles.forEach((role) => role.steps.forEach((step) => this.#place(trial, role, step)));
        /** For each worker and each of its steps: the record, and its index in `keys`. */
        this.records = seats.map(({ role, records }) =>
            trial.roles[role].steps.map((step, at) => ({
                place: this.#place(trial, trial.roles[role], step),
                record: new Record(records[at]),
            })),
        );
        this.last = this.#sums();
    }

    #place(trial, role, step) {
        const transaction = trial.transactions[step.transaction].name;
        const at = this.keys.findIndex((key) => key.role === role.name && key.transaction === transaction);
        return at >= 0 ? at : this.keys.push({ role: role.name, transaction }) - 1;
    }

    #sums() {
        const zeros = Object.fromEntries(COUNTS.map((name) => [name, 0]));
        const sums = this.keys.map((key) => ({ ...key, ...zeros, errors: {} }));
        for (const { place, record } of this.records.flat()) record.addTo(sums[place]);
        return sums;
    }

    /** Returns the counts since the last tick, and the delay of the probe's timer if there is a probe. */
    tick(t_ms, probe) {
        const before = this.last;
        this.last = this.#sums();
        const counts = this.last.map((sum, at) => {
            const { role, transaction } = sum;
            const difference = { role, transaction };
            for (const kind of SHOWN) difference[kind] = sum[kind] - before[at][kind];
            difference.errors = difference.busy = 0;
            for (const [name, { seen }] of Object.entries(sum.errors)) {
                const more = seen - (before[at].errors[name]?.seen ?? 0);
                difference.errors += more;
                if (BUSY.has(name)) difference.busy += more;
            }
            return difference;
        });
        const some = counts.filter((count) => [...SHOWN, 'errors'].some((kind) => count[kind] > 0));
        return { type: 'tick', t_ms, counts: some, ...(probe && { lag_ns: probe.takeLongest() }) };
    }

    /** Returns the counts of one worker over all its steps. */
    ofWorker(at) {
        const sum = (count) => this.records[at].reduce((all, { record }) => all + record.counts[count], 0);
        return { committed: sum(COMMITTED), ended: sum(ENDED) };
    }

    /**
     * Returns the result's entry for each role and transaction, as of the last tick. `progress` has an entry per
     * worker.
     */
    operations(progress) {
        const wholes = this.last.map((sum) => ({ ...sum, unserved: 0, unfinished: [] }));
        for (const whole of wholes) for (const name of HISTOGRAMS) whole[name] = null;
        this.records.forEach((steps, worker) => {
            for (const { place, record } of steps) {
                for (const name of HISTOGRAMS) {
                    if (record[name] !== null) (wholes[place][name] ??= new Histogram()).merge(record[name]);
                }
            }
            const { step, ...unfinished } = progress[worker].unfinished ?? {};
            if (step !== undefined) wholes[steps[step].place].unfinished.push(unfinished);
        });
        return wholes;
    }
}

/** Converts an operation to its wire form. */
export function encoded({ verified, mismatches, ...operation }) {
    const wire = { ...operation, counters: { verified, mismatches }, timers: {} };
    for (const name of HISTOGRAMS) {
        if (operation[name] !== null) wire.timers[name] = operation[name].encode();
        delete wire[name];
    }
    const { service, ...timers } = wire.timers;
    return { ...wire, service, timers };
}
