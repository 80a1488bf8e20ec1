// The driver `node:sqlite`, part of Node.js: https://nodejs.org/api/sqlite.html

import { DatabaseSync } from 'node:sqlite';

import { Blocking } from './blocking.mjs';

class NodeSqlite extends Blocking {
    get open() {
        return this.db.isTransaction;
    }
}

const open = (path, options) => new NodeSqlite(new DatabaseSync(path, options));

/** @type {import('./driver.mjs').Driver} */
export default {
    version: process.versions.node,
    executors: ['threads', 'processes', 'inline', 'dedicated'],
    options: ['readOnly', 'enableForeignKeyConstraints', 'enableDoubleQuotedStringLiterals', 'timeout'],
    integers: 'bigint',
    sharedMemory: true,
    open,
    openDsn: open,
};
