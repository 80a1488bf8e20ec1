// One trial on a driver of Node.js, controlled by JSON on standard input. `docs/reference/protocol.md` specifies the messages.
//
// Read in this order: `trial` opens, starts and reports; `loop` and `threads` run the workers; `worker` is their loop;
// `transaction` is one execution; `record` and `progress` contain a worker's results; `drain` waits for all ends;
// `blocking` and `sqlite3` are the drivers under measurement, `dedicated` is a thread for a blocking one, `noop` is a
// driver without a database; `probe` measures the delays in the program meanwhile.

import { createInterface } from 'node:readline';

import { Fault } from './driver.mjs';

const lines = () => createInterface({ input: process.stdin, crlfDelay: Infinity })[Symbol.asyncIterator]();

/** Writes one line of JSON. On Linux a pipe accepts it at once, so the core can read while the trial runs. */
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
 * Ends the process after all output is written; threads and standard input would keep it alive.
 *
 * `process.exit` joins all threads including those of libuv's pool, and waits for one blocked in a call of SQLite. If
 * there may be such a thread (`hangs`), another program replaces this one with `execve`, which joins no thread.
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
