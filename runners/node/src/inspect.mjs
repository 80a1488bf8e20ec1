// The verb `inspect`: opens connections as an application would and reports the settings in effect.

import { open, readBack } from './connect.mjs';
import { VERSION } from './describe.mjs';
import { inspectDsn } from './dsn.mjs';
import { Fault, load } from './driver.mjs';

/** Opens all connections at the same time, as in the application. */
export async function inspect(request) {
    if (request.protocol !== VERSION) throw new Fault(`protocol ${request.protocol} is not ${VERSION}`);
    const driver = await load(request.driver);
    if ((request.dsn ?? null) !== null) return inspectDsn(driver, request);
    const database = { kind: 'file', path: request.database };
    const sessions = [];
    const connections = [];
    for (let n = 0; n < request.connections; n++) {
        const session = await open(driver, database, request);
        sessions.push(session);
        const settings = await readBack(session, request.read_back);
        connections.push({ database: 0, label: 'connection', settings });
    }
    for (const session of sessions) await session.close();
    return { connections };
}
