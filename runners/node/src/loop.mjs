// Workers as asynchronous tasks on the main event loop: the executors `inline` (the driver blocks the loop), `offload`
// (it answers later), `dedicated` (a thread of its own answers for each connection) and `processes` (each has one such
// task).

import { once } from 'node:events';

import { QueueGate, connections, gates, unlocked, ways } from './access.mjs';
import { Alarm, LoopClock } from './clock.mjs';
import { run } from './connect.mjs';
import { Dedicated } from './dedicated.mjs';
import { leave, openConnection } from './stage.mjs';
import { Worker, seats } from './worker.mjs';

export class Loop {
    /** Settings of every connection. */
    connections = [];
    /** By database. */
    sessions = [];
    workers = [];

    static async open(trial, driver, stage, text) {
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
        const shared = trial.databases.map(() => gates(trial.access, (places) => new QueueGate(places)));
        for (const seat of seats(trial)) {
            const all = loop.sessions[seat.database];
            const gated = shared[seat.database];
            const mine = gated === null ? [all[seat.connection]] : all;
            const way = (await unlocked(trial, seat.role, all[0])) ?? ways(trial.access, gated, writeLock, mine);
            loop.workers.push(new Worker(trial, seat, way, driver.integers, stage));
        }
        loop.alarm = new Alarm();
        await once(loop.alarm.thread, 'online');
        return loop;
    }

    constructor(trial, stage) {
        this.trial = trial;
        this.stage = stage;
    }

    /** Starts all workers; resolves when the last has ended. */
    run(go) {
        const clock = new LoopClock(go, this.alarm, this.trial.executor === 'inline');
        return Promise.all(
            this.workers.map(async (worker) => {
                const done = await worker.run(clock);
                leave(this.stage, worker.seat.role);
                return done;
            }),
        );
    }

    /** Runs `teardown` on the first connection of each database, and closes them all. */
    async close() {
        for (const [database, sessions] of this.sessions.entries()) {
            for (const sql of this.trial.databases[database].teardown ?? []) await run(sessions[0], sql);
        }
        for (const session of this.sessions.flat()) await session.close();
    }
}
