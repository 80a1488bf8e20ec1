// The driver `better-sqlite3`: https://github.com/WiseLibs/better-sqlite3

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

import Database from 'better-sqlite3';

import { Blocking } from './blocking.mjs';
import { codeOf } from './codes.mjs';
import { Fault } from './driver.mjs';

const manifest = createRequire(import.meta.url).resolve('better-sqlite3/package.json');

class BetterSqlite3 extends Blocking {
    compile(sql) {
        const { text, order } = positional(sql);
        return { statement: this.db.prepare(text), order };
    }

    columns(statement) {
        // It throws where there are none.
        return statement.reader ? super.columns(statement) : [];
    }

    get open() {
        return this.db.inTransaction;
    }
}

/**
 * `?7` counts as a named parameter with this driver, which an application would not write: each becomes `?`.
 * Text, quoted names and comments stay as they are.
 */
export function positional(sql) {
    const order = [];
    const tokens = /'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|--[^\n]*|\/\*[\s\S]*?\*\/|\?(\d+)/g;
    const text = sql.replace(tokens, (token, number) => {
        if (number === undefined) return token;
        order.push(Number(number) - 1);
        return '?';
    });
    return { text, order: order.every((place, at) => place === at) ? null : order };
}

function open(path, options) {
    try {
        return new BetterSqlite3(new Database(path, options));
    } catch (error) {
        // It looks for the folder itself, before SQLite can say that it cannot open the file.
        if (error instanceof TypeError && /directory does not exist/.test(error.message)) {
            throw new Fault(`${path}: ${error.message}`, codeOf('SQLITE_CANTOPEN'));
        }
        throw error;
    }
}

/** @type {import('./driver.mjs').Driver} */
export default {
    version: JSON.parse(readFileSync(manifest, 'utf8')).version,
    executors: ['threads', 'processes', 'inline'],
    options: ['readonly', 'fileMustExist', 'timeout'],
    // It binds every number as a double.
    integers: 'bigint',
    // Compiled with SQLITE_OMIT_SHARED_CACHE and without SQLITE_USE_URI.
    sharedMemory: false,
    open,
};
