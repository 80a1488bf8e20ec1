// One trial on a driver of Node.js, driven by JSON on standard input. `docs/PROTOCOL.md` is its contract.
//
// Read in this order: `trial` opens, starts and reports; `loop` and `threads` are where workers run; `worker` is their
// loop; `transaction` is one execution; `record` and `progress` are what a worker writes down; `drain` waits for all
// ends; `blocking` and `sqlite3` are the drivers under measurement, `dedicated` is a thread for one of the former,
// `noop` the same without a database; `probe` is what the program suffers meanwhile.

import { createInterface } from 'node:readline';

import { Fault } from './driver.mjs';

const lines = () => createInterface({ input: process.stdin, crlfDelay: Infinity })[Symbol.asyncIterator]();

/** Writes one line of JSON. On Linux a pipe takes it at once; the core reads while the trial runs. */
const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);

const verbs = {
    async describe() {
        const { describe } = await import('./describe.mjs');
        say(await describe());
    },

    async inspect() {
        const { inspect } = await import('./inspect.mjs');
        say(await inspect(JSON.parse((await lines().next()).value ?? 'null')));
    },

    async run() {
        const { run } = await import('./trial.mjs');
        try {
            return await run(lines(), say);
        } catch (error) {
            say(Fault.from(error).line());
            throw error;
        }
    },
};

/**
 * Ends the process when all is written: threads and standard input would keep it. `process.exit` joins all threads and
 * those of libuv's pool, and one that is in a call of SQLite holds it up for as long as that lasts. Where there may be
 * such a one (`hangs`) another program takes the place of this one, and no thread is waited for.
 */
const end = (code, hangs) =>
    process.stdout.write('', () => {
        if (hangs) process.execve('/bin/sh', ['sh', '-c', `exit ${code}`]);
        process.exit(code);
    });

if (import.meta.main) {
    const verb = verbs[process.argv[2]];
    if (verb === undefined) {
        console.error('usage: main.mjs describe|run|inspect');
        process.exit(2);
    }
    verb().then(
        (hangs) => end(0, hangs),
        (error) => {
            console.error(error);
            end(1, true);
        },
    );
}
