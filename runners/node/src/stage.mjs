// The shared state of the workers of a trial, in memory available to every thread.

import { FutexGate, connections } from './sharing.mjs';
import { open, readBack, run } from './connect.mjs';
import { Fault } from './driver.mjs';
import { Schedule } from './schedule.mjs';

const shared = (values) => {
    const memory = new Int32Array(new SharedArrayBuffer(4 * Math.max(1, values.length)));
    memory.set(values);
    return memory;
};

/**
 * @typedef {object} Stage
 * @property {object[]} schedules see `Schedule`, by role
 * @property {Int32Array} working number of workers of each role that have not ended
 * @property {Int32Array} ended 1 for each role whose last worker has ended
 * @property {Float64Array} ends time of that end, in nanoseconds since `go`
 * @property {Int32Array} writeLock see `FutexGate`
 * @property {Int32Array} started 1 after `go`
 * @property {BigInt64Array} go from `process.hrtime.bigint`
 */

/** @returns {Stage} */
export function stage(trial) {
    const workers = trial.roles.map((role) => role.workers * trial.databases.length);
    return {
        schedules: trial.roles.map(() => Schedule.memory()),
        working: shared(workers),
        ended: shared(workers.map((count) => (count === 0 ? 1 : 0))),
        ends: new Float64Array(new SharedArrayBuffer(8 * workers.length)),
        writeLock: FutexGate.memory(1),
        started: shared([0]),
        go: new BigInt64Array(new SharedArrayBuffer(8)),
    };
}

/** Records that a worker of the role has ended or was abandoned. */
export function leave(stage, role, clock) {
    if (Atomics.sub(stage.working, role, 1) !== 1) return;
    stage.ends[role] = clock.now();
    Atomics.store(stage.ended, role, 1);
}

/**
 * Opens, configures, fills and prepares one connection of a database. The first must be open before the others.
 *
 * @param {number} at its index in `connections(trial)`
 * @returns {Promise<{ session: import('./driver.mjs').Session, settings: object }>}
 */
export async function openConnection(driver, trial, database, at) {
    const { label, used } = connections(trial)[at];
    const target = trial.databases[database];
    if (at > 0 && target.kind === 'memory' && !(target.shared && driver.sharedMemory)) {
        const why = target.shared ? 'cannot be shared by connections of this driver' : 'is private to one connection';
        throw new Fault(`memory database \`${target.name}\` ${why}, and a second was asked for`);
    }
    const session = await open(driver, target, trial.connection);
    if (at === 0 && target.kind === 'memory') {
        for (const sql of target.setup) await run(session, sql);
    }
    const settings = { database, label, settings: await readBack(session, trial.connection.read_back) };
    await session.prepare(trial, used);
    return { session, settings };
}
