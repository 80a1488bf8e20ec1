// Writes until it is killed: kill_run.mjs PATH DRIVER ROUND [early]. Prints the name of each plan that was answered.
// Each plan inserts two rows. With `early` it prints the name before the commit, which kill.test.mjs must find out.

import { writeSync } from 'node:fs';

import { open } from '../src/index.mjs';

const [path, driver, round, early] = process.argv.slice(2);
const db = await open(path, { driver });
await db.execute('CREATE TABLE IF NOT EXISTS pair(name TEXT, half INTEGER, UNIQUE (name, half))');

/** Prints a name at once. The pipe may be full. */
function print(name) {
    for (;;) {
        try {
            return writeSync(1, `${name}\n`);
        } catch (error) {
            if (error.code !== 'EAGAIN') throw error;
        }
    }
}

const INSERT = 'INSERT INTO pair VALUES (?, ?)';
for (let client = 0; client < 32; client++) {
    (async () => {
        for (let count = 0; ; count++) {
            const name = `${round}.${client}.${count}`;
            const done = db.write([0, 1].map((half) => ({ sql: INSERT, params: [name, half] })));
            if (early === undefined) await done;
            print(name);
            await done;
        }
    })();
}
