// One trial in a fresh process and database: trial.mjs LAYER WORKLOAD SYNCHRONOUS CLIENTS MILLISECONDS FOLDER. Prints
// one line of JSON.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { DatabaseSync } from 'node:sqlite';

import { LAYERS } from './layers.mjs';
import { SCHEMA, verify, WORKLOADS } from './workloads.mjs';

const [layer, workload, synchronous, clients, ms, folder] = process.argv.slice(2);
const directory = mkdtempSync(join(folder, 'onewriter-'));
const path = join(directory, 'bench.db');
try {
    const empty = new DatabaseSync(path);
    empty.exec(`PRAGMA journal_mode = WAL; ${SCHEMA}`);
    empty.close();

    const { write, pragma, close, commits } = await LAYERS[layer](path, synchronous);
    const latency = createHistogram();
    let transactions = 0;
    const timed = async (sql, params) => {
        const began = process.hrtime.bigint();
        const rows = await write(sql, params);
        latency.record(process.hrtime.bigint() - began);
        transactions++;
        return rows;
    };
    const loop = monitorEventLoopDelay({ resolution: 1 });
    loop.enable();
    const cpu = process.cpuUsage();
    const began = performance.now();
    const end = began + Number(ms);
    const rounds = await Promise.all(
        Array.from({ length: Number(clients) }, async (_, client) => {
            let count = 0;
            for (; performance.now() < end; count++) await WORKLOADS[workload](timed, client);
            return count;
        }),
    );
    const seconds = (performance.now() - began) / 1_000;
    const { user, system } = process.cpuUsage(cpu);
    loop.disable();
    const done = rounds.reduce((a, b) => a + b);

    const perCommit = commits === undefined ? 1 : transactions / commits();
    assert.equal(await pragma('journal_mode'), 'wal');
    assert.equal(await pragma('synchronous'), { FULL: 2, NORMAL: 1 }[synchronous]);
    await close();
    verify(path, workload, done);
    console.log(
        JSON.stringify({
            rate: transactions / seconds,
            p50: latency.percentile(50) / 1e6,
            p99: latency.percentile(99) / 1e6,
            loop99: loop.percentile(99) / 1e6,
            loopMax: loop.max / 1e6,
            fairness: (Math.min(...rounds) * rounds.length) / done,
            cpu: (user + system) / transactions,
            perCommit,
        }),
    );
} finally {
    rmSync(directory, { recursive: true });
}
