// The thread that measures how long a job waits in libuv's pool, which all threads of the process share. On the main
// event loop the answer would also wait for that loop, and a blocked loop would look like a full pool.

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
/** Submission times of the outstanding jobs. */
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
    // The jobs that wait longest may never complete; they count with their wait so far.
    for (const since of under) waits.record(clock.now() - since);
    parentPort.postMessage(waits.counts);
});

// Ready to receive `go`.
parentPort.postMessage(null);
