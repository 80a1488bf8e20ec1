// A thread of `Threads`: a worker, or a connection shared by workers.

import { parentPort, workerData } from 'node:worker_threads';

import { FutexGate, ways } from './sharing.mjs';
import { BlockingClock } from './clock.mjs';
import { run, settingsAtEnd } from './connect.mjs';
import { Fault, load } from './driver.mjs';
import { parse } from './params.mjs';
import { Remote, serve } from './remote.mjs';
import { leave, openConnection } from './stage.mjs';
import { Worker } from './worker.mjs';

const { text, stage, seat, gates, database, at } = workerData;
const trial = parse(text);
const driver = await load(trial.driver);
let session = null;
let worker = null;

/** Handlers of the main thread's requests, by `type`. */
const verbs = {
    async open() {
        const opened = await openConnection(driver, trial, database ?? seat.database, at ?? seat.connection);
        session = opened.session;
        return opened.settings;
    },

    prepare({ lines }) {
        const way = ({ gate, ...places }) => ({ gate: new FutexGate(gate), ...places });
        const shared = gates === null ? null : { write: way(gates.write), read: way(gates.read) };
        const sessions = shared === null ? [session] : lines.map((line) => new Remote(line));
        const open = ways(trial.sharing, shared, new FutexGate(stage.writeLock), sessions);
        worker = new Worker(trial, seat, open, driver.integers, stage);
        setImmediate(work);
    },

    done: () => finished.promise,

    settings: () => settingsAtEnd(session, trial.connection.read_back),

    async teardown({ statements }) {
        for (const sql of statements) await run(session, sql);
    },

    close: () => session.close(),
};

const finished = Promise.withResolvers();

/** Waits for `go` together with all other workers. */
async function work() {
    try {
        Atomics.wait(stage.started, 0, 0);
        const clock = new BlockingClock(stage.go[0]);
        await worker.run(clock);
        leave(stage, seat.role, clock);
        finished.resolve();
    } catch (error) {
        // Sent immediately: the request for the end may already have been answered by the failure of another worker.
        parentPort.postMessage({ fault: told(error) });
    }
}

const told = (error) => {
    const { message, code } = Fault.from(error);
    return { message, code };
};

parentPort.on('message', async (message) => {
    if (message.type === 'serve') {
        serve(message, session, () => new BlockingClock(stage.go[0]));
        return;
    }
    try {
        parentPort.postMessage({ value: await verbs[message.type](message) });
    } catch (error) {
        parentPort.postMessage({ fault: told(error) });
    }
});
