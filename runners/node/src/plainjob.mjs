// The driver `plainjob`, on better-sqlite3: https://www.npmjs.com/package/plainjob
//
// By default it sets WAL, `synchronous = NORMAL` and a busy timeout of five seconds. A claim takes the write lock
// first; the library's own worker then reads the task by its id, and so does this driver. Once a minute an open queue
// releases claimed tasks that were enqueued more than half an hour ago, regardless of when and by which worker they
// were claimed. A task marked as failed is never retried. It has no priorities.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

import { better, defineQueue } from 'plainjob';

import { connect } from './better_sqlite3.mjs';
import { INTERFACE, Queue } from './queue.mjs';

/** Applications have several types of tasks; this driver uses one. */
const TYPE = 'task';

/** A logger without output, because standard output carries the protocol. */
const silent = { error() {}, warn() {}, info() {}, debug() {} };

class Plainjob extends Queue {
    constructor(db, options) {
        super();
        this.db = db;
        this.queue = defineQueue({ ...options, connection: better(db), logger: silent });
    }

    rows(sql) {
        const statement = this.db.prepare(sql);
        if (statement.reader) return statement.all();
        statement.run();
        return [];
    }

    enqueue(payload) {
        this.queue.add(TYPE, payload);
    }

    claim() {
        const claimed = this.queue.getAndMarkJobAsProcessing(TYPE);
        if (claimed === undefined) return null;
        const { id, data } = this.queue.getJobById(claimed.id);
        return [id, JSON.parse(data)];
    }

    complete(id) {
        this.queue.markJobAsDone(id);
    }

    close() {
        this.queue.close();
    }
}

const manifest = createRequire(import.meta.url).resolve('plainjob/package.json');

/** @type {import('./driver.mjs').Driver} */
export default {
    version: JSON.parse(readFileSync(manifest, 'utf8')).version,
    executors: ['threads', 'processes', 'inline'],
    sharings: ['own-connection', 'one-connection'],
    interface: INTERFACE,
    options: ['timeout', 'maintenanceInterval'],
    integers: 'number',
    sharedMemory: false,
    open: (path, options) => new Plainjob(connect(path, {}), options),
};
