// Opening a connection as an application would, setting it, and asking what took effect.

import { setTimeout } from 'node:timers/promises';

import { codeOf } from './codes.mjs';
import { Fault } from './driver.mjs';

const BUSY = codeOf('SQLITE_BUSY');

/** Milliseconds for which a PRAGMA is tried. */
const PATIENCE = 5000;

/**
 * Opens with the driver's defaults and the options given, then runs the pragmas in order.
 *
 * @param {import('./driver.mjs').Driver} driver
 * @returns {Promise<import('./driver.mjs').Session>}
 */
export async function open(driver, database, connection) {
    for (const name of Object.keys(connection.options)) {
        // One that is given was meant to have an effect, and drivers ignore what they do not know.
        if (!driver.options.includes(name)) throw new Fault(`option \`${name}\`: this driver has none of that name`);
    }
    const session = await driver.open(path(driver, database), connection.options);
    for (const { name, value } of connection.pragmas) await set(session, `PRAGMA ${name} = ${value}`);
    return session;
}

/**
 * A driver whose own busy timeout is 0 cannot change the journal mode while another process of the same trial does. The
 * profile's timeout may come after it, so the PRAGMA itself is tried again.
 */
async function set(session, sql) {
    for (const last = performance.now() + PATIENCE; ; await setTimeout(10)) {
        try {
            await run(session, sql);
            return;
        } catch (fault) {
            if (fault.code === null || (fault.code & 0xff) !== BUSY || performance.now() > last) throw fault;
        }
    }
}

function path(driver, database) {
    if (database.kind === 'file') return database.path;
    if (!database.shared || !driver.sharedMemory) return ':memory:';
    return `file:${database.name}?mode=memory&cache=shared`;
}

/** Runs one statement to its end. */
export async function run(session, sql) {
    try {
        return await session.rows(sql);
    } catch (error) {
        throw Fault.from(error).during(sql);
    }
}

/** The value of each PRAGMA after one read transaction: some settings are only decided when the file is first read. */
export async function readBack(session, names) {
    await run(session, 'SELECT count(*) FROM sqlite_schema');
    const settings = {};
    for (const name of names) {
        const [row] = await run(session, `PRAGMA ${name}`);
        settings[name] = row === undefined ? null : Object.values(row)[0];
    }
    return settings;
}
