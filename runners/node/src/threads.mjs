// The executors `threads` and `processes`: one thread per worker. The main thread remains free for ticks, the probe and
// the end of the drain, even while workers are blocked in calls. If workers share connections, each connection has a
// thread too, because two threads of Node.js cannot use one connection; see `Remote`.

import { Worker as Thread } from 'node:worker_threads';

import { FutexGate, connections, gates, own } from './sharing.mjs';
import { Fault } from './driver.mjs';

export class Threads {
    /** Settings of every connection. */
    connections = [];

    static async open(trial, driver, stage, seats, text) {
        const crew = new Threads(trial, stage);
        const start = (data) =>
            new Member(
                new Thread(new URL('thread.mjs', import.meta.url), { workerData: { text, stage, ...data } }),
                crew,
            );
        const shares = !own(trial.sharing);
        const gated = trial.databases.map(() => gates(trial.sharing, (places) => FutexGate.memory(places)));
        crew.workers = seats.map((seat) => start({ seat, gates: gated[seat.database] }));
        // The thread of each connection, by database.
        crew.owners = trial.databases.map((_, database) =>
            shares
                ? connections(trial).map((_, at) => start({ database, at }))
                : crew.workers.filter((_, at) => seats[at].database === database),
        );
        // One after the other: the first creates an in-memory database, and only one can change the journal mode.
        for (const owner of crew.owners.flat()) crew.connections.push(await owner.ask({ type: 'open' }));
        for (const [at, worker] of crew.workers.entries()) {
            const lines = shares ? crew.owners[seats[at].database].map((owner) => owner.connect()) : [];
            const ports = lines.map(({ port }) => port);
            await worker.ask({ type: 'prepare', lines }, ports);
        }
        return crew;
    }

    constructor(trial, stage) {
        this.trial = trial;
        this.stage = stage;
        /** Rejects when a thread fails: other workers may wait for what the faulty one still holds. */
        this.failure = Promise.withResolvers();
        this.failure.promise.catch(() => {});
    }

    /** Starts all workers. Returns a promise of the end of each. */
    run(go) {
        this.stage.go[0] = go;
        Atomics.store(this.stage.started, 0, 1);
        Atomics.notify(this.stage.started, 0);
        return this.workers.map((worker) => Promise.race([worker.ask({ type: 'done' }), this.failure.promise]));
    }

    /**
     * Runs `teardown` on the first connection of each database, and closes all connections. Returns their final
     * settings.
     */
    async close() {
        const connections = [];
        for (const [at, owner] of this.owners.flat().entries()) {
            connections.push({ ...this.connections[at], settings: await owner.ask({ type: 'settings' }) });
        }
        for (const [database, owners] of this.owners.entries()) {
            const teardown = this.trial.databases[database].teardown ?? [];
            if (teardown.length > 0) await owners[0].ask({ type: 'teardown', statements: teardown });
        }
        for (const owner of this.owners.flat()) await owner.ask({ type: 'close' });
        await Promise.all(
            new Set([...this.workers, ...this.owners.flat()]).values().map((member) => member.thread.terminate()),
        );
        return connections;
    }
}

/** One thread, as seen by the main thread. */
class Member {
    #answers = [];

    constructor(thread, crew) {
        this.thread = thread;
        thread.on('message', (message) => {
            if (message.fault === undefined) return this.#answers.shift().resolve(message.value);
            const fault = new Fault(message.fault.message, message.fault.code);
            crew.failure.reject(fault);
            this.#answers.shift()?.reject(fault);
        });
        thread.on('error', (error) => {
            crew.failure.reject(error);
            this.#answers.shift()?.reject(error);
        });
    }

    /** Sends a request. Requests are answered in order. */
    ask(message, transfer = []) {
        const answer = Promise.withResolvers();
        this.#answers.push(answer);
        this.thread.postMessage(message, transfer);
        return answer.promise;
    }

    /** Creates a channel to this thread's connection and returns the worker's end. */
    connect() {
        const { port1, port2 } = new MessageChannel();
        const answered = new Int32Array(new SharedArrayBuffer(4));
        this.thread.postMessage({ type: 'serve', port: port1, answered }, [port1]);
        return { port: port2, answered };
    }
}
