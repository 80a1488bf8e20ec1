// A thread with a connection of better-sqlite3, for `worker` in layers.mjs.

import { createRequire } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';

const require = createRequire(new URL('../../../runners/node/package.json', import.meta.url));
const db = new (require('better-sqlite3'))(workerData.path);
db.pragma('journal_mode = WAL');
db.pragma(`synchronous = ${workerData.synchronous}`);
const prepared = new Map();
parentPort.on('message', ({ sql, params }) => {
    try {
        let statement = prepared.get(sql);
        if (statement === undefined) prepared.set(sql, (statement = db.prepare(sql)));
        parentPort.postMessage({ rows: statement.reader ? statement.all(...params) : (statement.run(...params), []) });
    } catch (error) {
        parentPort.postMessage({ error: error.message });
    }
});
