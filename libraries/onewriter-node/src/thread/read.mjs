// The thread of a connection that reads.

import { parentPort, workerData } from 'node:worker_threads';

import { connect, failure } from './connection.mjs';
import { message } from './message.mjs';
import { Statements } from './statements.mjs';

/** Milliseconds after which the reads that are done are answered. */
const TIME = 5;

const connection = await connect(workerData, true);
const statements = new Statements(connection);

function read([sql, params]) {
    try {
        const rows = statements.get(sql).execute(params);
        return typeof rows === 'number' ? [] : rows;
    } catch (error) {
        return message(failure(error));
    }
}

parentPort.on('message', (reads) => {
    if (reads === null) {
        connection.close();
        parentPort.close();
        return;
    }
    let answers = [];
    let end = performance.now() + TIME;
    for (const [at, request] of reads.entries()) {
        answers.push(read(request));
        if (at + 1 < reads.length && performance.now() < end) continue;
        parentPort.postMessage(answers);
        answers = [];
        end = performance.now() + TIME;
    }
});
parentPort.postMessage([]);
