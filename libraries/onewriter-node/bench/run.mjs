// Measures the layers of layers.mjs against each other, in rounds: each round has one trial of every layer, in random
// order, for every choice of the rest. Prints the tables of report.mjs.
//
//     node bench/run.mjs [--rounds 12] [--ms 1000] [--clients 1,8,64,256] [--synchronous FULL,NORMAL]
//         [--workloads insert,queue] [--folder .] [--out FILE]
//
// `--folder` is on the disk whose syncs are measured. `--out` is a file to which each trial is appended as a line of
// JSON; the rounds that it has count.

import { execFile } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { parseArgs, promisify } from 'node:util';

import { LAYERS } from './layers.mjs';
import { report } from './report.mjs';

const { values } = parseArgs({
    options: {
        rounds: { type: 'string', default: '12' },
        ms: { type: 'string', default: '1000' },
        clients: { type: 'string', default: '1,8,64,256' },
        synchronous: { type: 'string', default: 'FULL,NORMAL' },
        workloads: { type: 'string', default: 'insert,queue' },
        folder: { type: 'string', default: '.' },
        out: { type: 'string' },
    },
});
const list = (text) => text.split(',');
const trial = new URL('trial.mjs', import.meta.url).pathname;
const run = promisify(execFile);

/** Returns the values in random order. */
function shuffled(given) {
    const values = [...given];
    for (let at = values.length - 1; at > 0; at--) {
        const other = Math.floor(Math.random() * (at + 1));
        [values[at], values[other]] = [values[other], values[at]];
    }
    return values;
}

const before = values.out && existsSync(values.out) ? readFileSync(values.out, 'utf8').trim().split('\n') : [];
const trials = before.filter(Boolean).map((line) => JSON.parse(line));
const first = Math.max(0, ...trials.map(({ round }) => round + 1));
for (let round = first; round < Number(values.rounds); round++) {
    console.error(`round ${round + 1} of ${values.rounds}`);
    const lines = [];
    for (const synchronous of list(values.synchronous)) {
        for (const workload of list(values.workloads)) {
            for (const clients of list(values.clients)) {
                for (const layer of shuffled(Object.keys(LAYERS))) {
                    const words = [layer, workload, synchronous, clients, values.ms, values.folder];
                    const { stdout } = await run(process.execPath, [trial, ...words]);
                    lines.push({
                        round,
                        layer,
                        workload,
                        synchronous,
                        clients: Number(clients),
                        ...JSON.parse(stdout),
                    });
                }
            }
        }
    }
    trials.push(...lines);
    if (values.out) appendFileSync(values.out, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
}
console.log(report(trials));
