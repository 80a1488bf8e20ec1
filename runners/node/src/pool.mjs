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
let under = 0;
let stopped = false;

function ring() {
    const now = clock.now();
    if (now >= due) {
        if (now >= warm) submit(now);
        due += period * (Math.floor((now - due) / period) + 1);
    }
    timer = setTimeout(ring, Math.max(0, (due - clock.now()) / 1e6));
}

function submit(now) {
    under++;
    randomFill(JOB, () => {
        waits.record(clock.now() - now);
        under--;
        answer();
    });
}

/** Those that wait longest are the last to come, and count like the others. */
function answer() {
    if (stopped && under === 0) parentPort.postMessage(waits.counts);
}

parentPort.on('message', ({ go }) => {
    if (go !== undefined) {
        clock = new Clock(go);
        due = period;
        return ring();
    }
    clearTimeout(timer);
    stopped = true;
    answer();
});

// Listening.
parentPort.postMessage(null);
