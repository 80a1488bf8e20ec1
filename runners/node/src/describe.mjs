// The verb `describe`: the properties of this runner and its drivers.

import { Fault, NAMES, load } from './driver.mjs';

/** Version of the protocol. */
export const VERSION = 3;

/** Default kinds of sharing of a driver, under every executor that it supports. */
const SHARINGS = ['own-connection', 'one-connection', 'pool', 'app-lock', 'writer-readers'];

/** Describes all drivers. One that cannot be loaded is omitted, with the reason on standard error. */
export async function describe() {
    const drivers = [];
    for (const name of NAMES) {
        try {
            const driver = await load(name);
            const { version, executors, sharings = SHARINGS, interface: offered } = driver;
            drivers.push({
                name,
                version,
                sqlite: name === 'noop' ? null : await build(driver),
                sharings,
                executors,
                interface: offered,
            });
        } catch (error) {
            console.error(`driver ${name} is left out: ${Fault.from(error).line().reason}`);
        }
    }
    return { protocol: VERSION, runner: 'node', language: 'node', runtime: process.version, drivers };
}

/** Opens an in-memory database to query the build of SQLite. */
async function build(driver) {
    const session = await driver.open(':memory:', {});
    const [{ version, source_id }] = await session.rows(
        'SELECT sqlite_version() AS version, sqlite_source_id() AS source_id',
    );
    const options = await session.rows('PRAGMA compile_options');
    await session.close();
    return { version, source_id, compile_options: options.map((row) => row.compile_options) };
}
