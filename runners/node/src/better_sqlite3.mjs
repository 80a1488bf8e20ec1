// The driver `better-sqlite3`: https://github.com/WiseLibs/better-sqlite3

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

import Database from 'better-sqlite3';

import { Blocking } from './blocking.mjs';
import { codeOf } from './codes.mjs';
import { Fault } from './driver.mjs';
import { positional } from './placeholders.mjs';

const manifest = createRequire(import.meta.url).resolve('better-sqlite3/package.json');

class BetterSqlite3 extends Blocking {
    /** Replaces `?7` by `?`: this driver treats it as a named parameter, which an application would not write. */
    translate(sql) {
        return positional(sql);
    }

    columns(statement) {
        // `columns` throws if there are none.
        return statement.reader ? super.columns(statement) : [];
    }

    get open() {
        return this.db.inTransaction;
    }
}

/** Opens a connection of the library. */
export function connect(path, options) {
    try {
        return new Database(path, options);
    } catch (error) {
        // The library checks the folder before SQLite could report that it cannot open the file.
        if (error instanceof TypeError && /directory does not exist/.test(error.message)) {
            throw new Fault(`${path}: ${error.message}`, codeOf('SQLITE_CANTOPEN'));
        }
        throw error;
    }
}

/** @type {import('./driver.mjs').Driver} */
export default {
    version: JSON.parse(readFileSync(manifest, 'utf8')).version,
    executors: ['threads', 'processes', 'inline', 'dedicated'],
    options: ['readonly', 'fileMustExist', 'timeout'],
    integers: 'bigint',
    // Compiled with SQLITE_OMIT_SHARED_CACHE and without SQLITE_USE_URI.
    sharedMemory: false,
    open: (path, options) => new BetterSqlite3(connect(path, options)),
    openDsn: (dsn, options) => new BetterSqlite3(new Database(dsn, options)),
};
