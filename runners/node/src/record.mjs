// What a worker writes down of each step of its role, in memory that it shares with the main thread: that one reads it
// while the worker works, and loses nothing of one that is in a call which does not return.

import { NAMES, codeOf, nameOf } from './codes.mjs';
import { FAILED } from './driver.mjs';
import { Histogram, note } from './histogram.mjs';

const HISTOGRAMS = ['service', 'wait', 'response', 'lag', 'query', 'first_row'];

/** The place of EMPTY is 1, that of FAILED is 2. */
const COUNTS = ['committed', 'empty', 'failed', 'ended', 'measured', 'rows', 'verified', 'mismatches'];
const [COMMITTED, , , ENDED, MEASURED, ROWS, VERIFIED, MISMATCHES] = COUNTS.keys();
/** What a tick shows besides errors. */
const SHOWN = COUNTS.slice(0, 3);

const ERRORS = new Map(NAMES.map((name, at) => [name, 2 * at]));
/** The primary code of SQLITE_BUSY. */
const SQLITE_BUSY = 5;
const BUSY = new Set(NAMES.filter((name) => (codeOf(name) & 0xff) === SQLITE_BUSY));

/** Of how many codes the first message is kept, and the bytes of each with its code and length. */
const MESSAGES = 4;
const MESSAGE_BYTES = 256;

/** The statement that `query` and `first_row` belong to; -1 where there is none, or they are not timed. */
export const firstFetch = (transaction) =>
    !transaction.timed_rows
        ? -1
        : transaction.statements.findIndex(({ fetch }) => fetch === 'all' || fetch === 'buffer');

/** Histograms and counts of one step of one worker. Their size does not depend on the number of operations. */
export class Record {
    /** `shares`: whether there is something to wait for. `open`: whether arrivals are scheduled. */
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
        /** By `COUNTS`. An aligned double is stored in one piece. */
        this.counts = memory.counts;
        /** How often each of `NAMES` was seen, and how often cured. */
        this.errors = memory.errors;
        /** For each code that was met: its place among `NAMES` and 1, the length of its first message, the message. */
        this.messages = memory.messages;
        for (const name of HISTOGRAMS) this[name] = memory[name] && new Histogram(memory[name]);
    }

    /** An error was met; the first message of its code is kept. */
    error({ code, message }) {
        const at = ERRORS.get(nameOf(code));
        if (this.errors[at]++ === 0) this.#keep(1 + at / 2, message);
    }

    #keep(code, message) {
        // The drivers put the code's name before it.
        const text = Buffer.from(message.replace(/^((SQLITE_\w+|UNKNOWN): )+/, '').replace(/\s+/g, ' '));
        for (let slot = 0; slot < this.messages.length; slot += MESSAGE_BYTES) {
            if (this.messages[slot] !== 0) continue;
            const length = Math.min(text.length, MESSAGE_BYTES - 2);
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

    /** One execution more: what it gave, the codes of its errors, and whether it committed in the window. */
    add(seen, errors, ended) {
        this.counts[seen >= 0 ? COMMITTED : -seen]++;
        if (ended) this.counts[ENDED]++;
        if (seen !== FAILED) for (const code of errors) this.errors[ERRORS.get(nameOf(code)) + 1]++;
    }

    /** Rows that were checked. */
    verify(verified, mismatches) {
        this.counts[VERIFIED] += verified;
        this.counts[MISMATCHES] += mismatches;
    }

    /** What counts of one that committed and began after the warm-up. */
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

/** The counts of all workers, and the role and transaction where they belong. */
export class Board {
    /** @param {import('./worker.mjs').Seat[]} seats all workers */
    constructor(trial, seats) {
        /** `{ role, transaction }`, each pair once. */
        this.keys = [];
        trial.roles.forEach((role) => role.steps.forEach((step) => this.#place(trial, role, step)));
        /** Of each worker, for each of its steps, with the index into `keys`. */
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

    /** What was counted since the last tick, and how late a timer of the probe ran; there may be none. */
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

    /** Counts of one worker, by its index, over all its steps. */
    ofWorker(at) {
        const sum = (count) => this.records[at].reduce((all, { record }) => all + record.counts[count], 0);
        return { committed: sum(COMMITTED), ended: sum(ENDED) };
    }

    /** The result's entry for each role and transaction, as of the last tick; `progress` of each worker. */
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

/** Histograms in their wire form. */
export function encoded(operation) {
    const wire = { ...operation };
    for (const name of HISTOGRAMS) wire[name] = operation[name]?.encode() ?? null;
    return wire;
}
