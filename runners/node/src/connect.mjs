// Opening a connection as an application would, setting it, and asking what took effect.

import { setTimeout } from 'node:timers/promises';

import { codeOf } from './codes.mjs';
import { Fault } from './driver.mjs';

/**
 * Opens with the driver's defaults and the options given, then runs the settings in order.
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
    for (const { sql } of connection.settings) await run(session, sql);
    return session;
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

/** How long a lock is waited for that another process of the trial holds. */
const PATIENCE_MS = 10_000;
const LOCKED = [codeOf('SQLITE_BUSY'), codeOf('SQLITE_LOCKED')];

/**
 * As `readBack`, at the trial's end. Empty where SQLite does not let itself be asked: what became of the database the core sees
 * for itself.
 */
export async function settingsAtEnd(session, names) {
    for (const begun = performance.now(); ; await setTimeout(1)) {
        try {
            return await readBack(session, names);
        } catch (error) {
            const { code } = Fault.from(error);
            if (code === null) throw error;
            if (!LOCKED.includes(code & 0xff) || performance.now() - begun > PATIENCE_MS) return {};
        }
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
