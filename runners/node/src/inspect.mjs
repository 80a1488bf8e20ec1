// The verb `inspect`: open as an application would, and say what took effect.

import { open, readBack } from './connect.mjs';
import { VERSION } from './describe.mjs';
import { Fault, load } from './driver.mjs';

/** All connections are open at once, as they would be in the application. */
export async function inspect(request) {
    if (request.protocol !== VERSION) throw new Fault(`protocol ${request.protocol} is not ${VERSION}`);
    const driver = await load(request.driver);
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
