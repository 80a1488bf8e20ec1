// Sharing of connections between workers: through a queue of promises on one event loop, through futexes between
// threads.

import { Fault } from './driver.mjs';
import { alone } from './transaction.mjs';

/**
 * The connections to one database, each with its label and the transactions prepared on it.
 *
 * @returns {{ label: string, used: number[] }[]} one per worker in the order of the roles, if each worker has its own
 */
export function connections(trial) {
    const transactions = (role) => role.steps.map((step) => step.transaction);
    const everything = trial.roles.flatMap(transactions);
    const writes = (at) => trial.transactions[at].writes;
    const several = (label, count, used) => Array.from({ length: count }, () => ({ label, used }));
    const { sharing } = trial;
    switch (sharing.kind) {
        case 'own-connection':
        case 'app-lock':
            return trial.roles.flatMap((role) => several(role.name, role.workers, transactions(role)));
        case 'one-connection':
            return several('shared', 1, everything);
        case 'pool':
            return several('pool', sharing.connections, everything);
        case 'writer-readers':
            return [
                ...several('writer', 1, everything.filter(writes)),
                ...several(
                    'reader',
                    sharing.readers,
                    everything.filter((at) => !writes(at)),
                ),
            ];
        default:
            throw new Fault(`sharing ${sharing.kind} is not supported`);
    }
}

/** Whether each worker has its own connection. */
export const own = ({ kind }) => kind === 'own-connection' || kind === 'app-lock';

/** Whether a transaction may have to wait for a connection or a lock. */
export const waits = (sharing, { writes }) => !own(sharing) || (sharing.kind === 'app-lock' && writes);

/**
 * A worker's access to connections: the gate to pass, or null, and the connection behind each of its places.
 *
 * @typedef {{ gate: { take: () => number | Promise<number>, give: (place: number) => void } | null,
 *             sessions: import('./driver.mjs').Session[] }} Way
 */

/**
 * The gates shared by all workers of a database, for transactions that write and for others; null if each worker has
 * its own connection.
 *
 * @param {(places: number) => object} gate creates a gate
 */
export function gates(sharing, gate) {
    const places = (first, count) => ({ gate: gate(count), first, count });
    if (sharing.kind === 'one-connection') return same(places(0, 1));
    if (sharing.kind === 'pool') return same(places(0, sharing.connections));
    if (sharing.kind === 'writer-readers') return { write: places(0, 1), read: places(1, sharing.readers) };
    return null;
}

const same = (way) => ({ write: way, read: way });

/**
 * Returns a worker's access to connections, for transactions that write and for others.
 *
 * @param {object | null} shared result of `gates` for this database
 * @param {object} writeLock the gate of the process for `app-lock`
 * @param {import('./driver.mjs').Session[]} sessions those of the database, or the worker's own one
 * @returns {{ write: Way, read: Way }}
 */
export function ways(sharing, shared, writeLock, sessions) {
    if (shared === null) {
        const free = { gate: null, sessions };
        return sharing.kind === 'app-lock' ? { write: { gate: writeLock, sessions }, read: free } : same(free);
    }
    const way = ({ gate, first, count }) => ({ gate, sessions: sessions.slice(first, first + count) });
    return { write: way(shared.write), read: way(shared.read) };
}

/**
 * Returns the access to the one shared connection if its workers need no lock, otherwise null.
 *
 * No lock is needed if every transaction of the trial is one statement under autocommit, so that transactions cannot
 * interleave, and the library accepts concurrent calls. An application then issues calls as they arrive, and the
 * library queues them: node-sqlite3 in libuv's pool, where each call occupies a thread that waits for the connection's
 * mutex.
 */
export async function unlocked(trial, role, session) {
    const { sharing, transactions } = trial;
    if (sharing.kind !== 'one-connection' || session.another === undefined || !transactions.every(alone)) return null;
    const used = trial.roles[role].steps.map(({ transaction }) => transaction);
    return same({ gate: OPEN, sessions: [await session.another(trial, used)] });
}

/** A gate with a place that is always free. */
const OPEN = { take: () => 0, give() {} };

/** Places on one event loop, granted in order of arrival. */
export class QueueGate {
    #free;
    #waiting = [];

    constructor(places) {
        // Taken from the end: the first opened is lent first, and the last one returned is lent next.
        this.#free = Array.from({ length: places }, (_, at) => places - 1 - at);
    }

    take() {
        if (this.#free.length > 0) return this.#free.pop();
        return new Promise((had) => this.#waiting.push(had));
    }

    give(place) {
        const next = this.#waiting.shift();
        if (next === undefined) this.#free.push(place);
        else next(place);
    }
}

/** Places shared by threads. The memory contains a count of returned places, then 1 for each place that is taken. */
export class FutexGate {
    static memory(places) {
        return new Int32Array(new SharedArrayBuffer(4 * (1 + places)));
    }

    constructor(memory) {
        this.memory = memory;
    }

    /** Blocks the thread until a place is free. */
    take() {
        for (;;) {
            const given = Atomics.load(this.memory, 0);
            for (let place = 1; place < this.memory.length; place++) {
                if (Atomics.compareExchange(this.memory, place, 0, 1) === 0) return place - 1;
            }
            Atomics.wait(this.memory, 0, given);
        }
    }

    give(place) {
        Atomics.store(this.memory, place + 1, 0);
        Atomics.add(this.memory, 0, 1);
        Atomics.notify(this.memory, 0, 1);
    }
}
