// Opening a connection as an application would, applying its settings, and reading them back.

import { setTimeout } from 'node:timers/promises';

import { codeOf } from './codes.mjs';
import { Fault } from './driver.mjs';

/**
 * Opens with the driver's defaults and the given options, then applies the settings in order.
 *
 * @param {import('./driver.mjs').Driver} driver
 * @returns {Promise<import('./driver.mjs').Session>}
 */
export async function open(driver, database, connection) {
    for (const name of Object.keys(connection.options)) {
        // Drivers ignore unknown options, but every option of a trial is meant to have an effect.
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

/** Runs one statement to completion. */
export async function run(session, sql) {
    try {
        return await session.rows(sql);
    } catch (error) {
        throw Fault.from(error).during(sql);
    }
}

/** Limit of the wait for a lock held by another process of the trial. */
const PATIENCE_MS = 10_000;
const LOCKED = [codeOf('SQLITE_BUSY'), codeOf('SQLITE_LOCKED')];

/**
 * Like `readBack`, at the end of the trial. Returns no settings if the database cannot be queried; the core checks the
 * state of the database itself.
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

/** Returns the value of each PRAGMA after one read transaction: some take effect at the first read of the file only. */
export async function readBack(session, names) {
    await run(session, 'SELECT count(*) FROM sqlite_schema');
    const settings = {};
    for (const name of names) {
        const [row] = await run(session, `PRAGMA ${name}`);
        settings[name] = row === undefined ? null : Object.values(row)[0];
    }
    return settings;
}
