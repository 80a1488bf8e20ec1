// Workers as asynchronous tasks on the main event loop: the executors `inline` (the driver blocks the loop), `offload`
// (it answers later) and `dedicated` (each connection has its own thread).

import { QueueGate, connections, gates, unlocked, ways } from './sharing.mjs';
import { LoopClock } from './clock.mjs';
import { run, settingsAtEnd } from './connect.mjs';
import { Dedicated } from './dedicated.mjs';
import { leave, openConnection } from './stage.mjs';
import { Worker } from './worker.mjs';

export class Loop {
    /** Settings of every connection. */
    connections = [];
    /** Sessions by database. */
    sessions = [];
    workers = [];

    static async open(trial, driver, stage, seats, text) {
        const loop = new Loop(trial, stage);
        for (let database = 0; database < trial.databases.length; database++) {
            const sessions = [];
            for (let at = 0; at < connections(trial).length; at++) {
                const { session, settings } =
                    trial.executor === 'dedicated'
                        ? await Dedicated.open(trial, text, database, at)
                        : await openConnection(driver, trial, database, at);
                sessions.push(session);
                loop.connections.push(settings);
            }
            loop.sessions.push(sessions);
        }
        const writeLock = new QueueGate(1);
        const shared = trial.databases.map(() => gates(trial.sharing, (places) => new QueueGate(places)));
        for (const seat of seats) {
            const all = loop.sessions[seat.database];
            const gated = shared[seat.database];
            const mine = gated === null ? [all[seat.connection]] : all;
            const way = (await unlocked(trial, seat.role, all[0])) ?? ways(trial.sharing, gated, writeLock, mine);
            loop.workers.push(new Worker(trial, seat, way, driver.integers, stage));
        }
        return loop;
    }

    constructor(trial, stage) {
        this.trial = trial;
        this.stage = stage;
    }

    /** Starts all workers. Returns a promise of the end of each. */
    run(go) {
        const clock = new LoopClock(go, this.trial.executor === 'inline');
        return this.workers.map(async (worker) => {
            await worker.run(clock);
            leave(this.stage, worker.seat.role, clock);
        });
    }

    /**
     * Runs `teardown` on the first connection of each database, and closes all connections. Returns their final
     * settings.
     */
    async close() {
        const connections = [];
        for (const [at, session] of this.sessions.flat().entries()) {
            const settings = await settingsAtEnd(session, this.trial.connection.read_back);
            connections.push({ ...this.connections[at], settings });
        }
        for (const [database, sessions] of this.sessions.entries()) {
            for (const sql of this.trial.databases[database].teardown ?? []) await run(sessions[0], sql);
        }
        for (const session of this.sessions.flat()) await session.close();
        return connections;
    }
}
