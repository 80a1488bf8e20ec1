// SIGKILL at random moments: every plan that was answered is in the database, and none by half. More kills:
// ONEWRITER_KILLS.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';

import { DRIVERS, file, look } from './databases.mjs';

const KILLS = Number(process.env.ONEWRITER_KILLS ?? 10);

/** Starts a process that writes and kills it after a random number of answers. Returns the answered names. */
async function kill(path, ...words) {
    const program = join(import.meta.dirname, 'kill_run.mjs');
    const child = spawn(process.execPath, [program, path, ...words], { stdio: ['ignore', 'pipe', 'inherit'] });
    const exited = once(child, 'exit');
    const at = 1 + Math.floor(Math.random() * 500);
    const names = [];
    for await (const line of createInterface({ input: child.stdout })) {
        names.push(line);
        if (names.length === at) child.kill('SIGKILL');
    }
    const [, signal] = await exited;
    assert.equal(signal, 'SIGKILL', 'it writes until it is killed');
    return names;
}

/** Returns the answered names that are not in the database as a whole, after checks of all others. */
function missing(path, names) {
    assert.deepEqual({ ...look(path, 'PRAGMA integrity_check')[0] }, { integrity_check: 'ok' });
    assert.deepEqual(
        look(path, 'SELECT name FROM pair GROUP BY name HAVING count(*) <> 2'),
        [],
        'no plan is there by half',
    );
    const found = new Set(look(path, 'SELECT DISTINCT name FROM pair').map(({ name }) => name));
    return names.filter((name) => !found.has(name));
}

for (const driver of DRIVERS) {
    test(`${driver}: what was answered before ${KILLS} kills is there`, async (t) => {
        const path = file(t);
        const names = [];
        for (let round = 0; round < KILLS; round++) {
            names.push(...(await kill(path, driver, `${round}`)));
            assert.deepEqual(missing(path, names), []);
        }
    });
}

test('found: a layer that answers before the commit', async (t) => {
    const path = file(t);
    for (let round = 0; round < 50; round++) {
        const names = await kill(path, 'node:sqlite', `${round}`, 'early');
        if (missing(path, names).length > 0) return;
    }
    assert.fail('fifty kills have lost nothing');
});
