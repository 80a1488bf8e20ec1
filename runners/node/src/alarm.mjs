// The thread that sleeps for an event loop; see `Alarm`.

import { parentPort, workerData } from 'node:worker_threads';

import { systemNow } from './clock.mjs';

const { bell, due } = workerData;
let answered = 0;
for (;;) {
    const asked = Atomics.load(bell, 0);
    if (asked === answered) {
        Atomics.wait(bell, 0, asked);
        continue;
    }
    const left = due[0] - systemNow();
    if (left > 0) {
        Atomics.wait(bell, 0, asked, left);
        continue;
    }
    answered = asked;
    parentPort.postMessage(null);
}
