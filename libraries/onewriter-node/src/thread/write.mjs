// The thread of the connection that writes. One message in for each batch of plans, one out for each commit.

import { parentPort, workerData } from 'node:worker_threads';

import { connect } from './connection.mjs';
import { message } from './message.mjs';
import { Writer } from './writer.mjs';

const connection = await connect(workerData, false);
const writer = new Writer(connection);
parentPort.on('message', (plans) => {
    if (plans === null) {
        connection.close();
        parentPort.close();
    } else {
        writer.execute(plans, (answers) => parentPort.postMessage(answers.map(message)));
    }
});
parentPort.postMessage([]);
