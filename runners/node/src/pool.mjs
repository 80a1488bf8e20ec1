// The thread that asks how long a job waits in libuv's pool, which is one for all threads of the process. On the main
// event loop the answer would wait for that loop, too, and a loop that is held would look like a pool that is full.

import { randomFill } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';

import { Clock } from './clock.mjs';
import { Histogram } from './histogram.mjs';

/** The trivial job. */
const JOB = new Uint8Array(1);

const { period_ms, warm } = workerData;
const period = period_ms * 1e6;
const waits = new Histogram();
let clock;
let due;
let timer;
/** When the jobs under way were submitted. */
const under = new Set();

function ring() {
    const now = clock.now();
    if (now >= due) {
        if (now >= warm) submit(now);
        due += period * (Math.floor((now - due) / period) + 1);
    }
    timer = setTimeout(ring, Math.max(0, (due - clock.now()) / 1e6));
}

function submit(now) {
    under.add(now);
    randomFill(JOB, () => {
        waits.record(clock.now() - now);
        under.delete(now);
    });
}

parentPort.on('message', ({ go }) => {
    if (go !== undefined) {
        clock = new Clock(go);
        due = period;
        return ring();
    }
    clearTimeout(timer);
    // Those that wait longest are the last to come, if ever; they count with what they have waited.
    for (const since of under) waits.record(clock.now() - since);
    parentPort.postMessage(waits.counts);
});

// Listening.
parentPort.postMessage(null);
