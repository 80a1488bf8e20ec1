// A thread that owns one connection and runs its calls one after the other; see `Dedicated`.

import { parentPort, workerData } from 'node:worker_threads';

import { answer } from './dedicated.mjs';
import { Fault, load } from './driver.mjs';
import { parse } from './params.mjs';
import { openConnection } from './stage.mjs';
import { handingOver } from './work.mjs';

const { text, database, at } = workerData;
try {
    const trial = handingOver(parse(text));
    const { session, settings } = await openConnection(await load(trial.driver), trial, database, at);
    answer(parentPort, session);
    parentPort.postMessage({ value: settings });
} catch (error) {
    const { message, code } = Fault.from(error);
    parentPort.postMessage({ fault: { message, code } });
}
