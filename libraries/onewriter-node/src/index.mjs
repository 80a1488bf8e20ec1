import { resolve } from 'node:path';

import { Database } from './database.mjs';

export { OnewriterError } from './error.mjs';
export { result } from './plan.mjs';

const DRIVERS = ['node:sqlite', 'better-sqlite3'];
const SYNCHRONOUS = ['FULL', 'NORMAL'];

/** Opens a database. See `open` in index.d.ts. */
export async function open(path, options = {}) {
    if (typeof path !== 'string' || path === '') throw new TypeError('path is no name of a file');
    if (path.startsWith(':memory:'))
        throw new TypeError('a database in memory has one connection, and no write-ahead log');
    return Database.open({ path: resolve(path), ...checked(options) });
}

function checked(options) {
    const { driver = DRIVERS[0], synchronous = SYNCHRONOUS[0], readers = 2, queue = 10_000, ...more } = options;
    const { timeout = 5_000, bigint = false, pragmas = {}, ...unknown } = more;
    const [name] = Object.keys(unknown);
    if (name !== undefined) throw new TypeError(`there is no option ${name}`);
    const oneOf = (name, value, values) => {
        if (!values.includes(value)) throw new TypeError(`${name}: ${value} is none of ${values.join(', ')}`);
    };
    const count = (name, value, least) => {
        if (!Number.isInteger(value) || value < least)
            throw new TypeError(`${name}: ${value} is no number from ${least} on`);
    };
    oneOf('driver', driver, DRIVERS);
    oneOf('synchronous', synchronous, SYNCHRONOUS);
    oneOf('bigint', bigint, [true, false]);
    count('readers', readers, 1);
    count('queue', queue, 1);
    count('timeout', timeout, 0);
    for (const [name, value] of Object.entries(pragmas)) {
        if (!/^\w+$/.test(name) || !/^-?[\w.]+$/.test(value)) throw new TypeError(`pragmas: ${name} = ${value}`);
    }
    return { driver, synchronous, readers, queue, timeout, bigint, pragmas: { ...pragmas } };
}
