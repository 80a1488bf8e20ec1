// The benchmark runs, and its check finds what is missing.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';

import { LAYERS, missing } from '../bench/layers.mjs';
import { SCHEMA, verify, WORKLOADS } from '../bench/workloads.mjs';
import { file } from './databases.mjs';

const TRIAL = join(import.meta.dirname, '..', 'bench', 'trial.mjs');

for (const layer of Object.keys(LAYERS)) {
    const lacks = missing(layer);
    test(
        `a trial of ${layer}`,
        { skip: lacks && `the package ${lacks} is missing: litelab runners build node` },
        (t) => {
            for (const workload of Object.keys(WORKLOADS)) {
                const words = [TRIAL, layer, workload, 'NORMAL', '3', '30', dirname(file(t))];
                const { rate, perCommit } = JSON.parse(execFileSync(process.execPath, words, { encoding: 'utf8' }));
                assert.ok(rate > 0 && perCommit >= 1);
            }
        },
    );
}

test('the check of a trial finds a task that is missing or not done', (t) => {
    const path = file(t);
    const db = new DatabaseSync(path);
    db.exec(`${SCHEMA} INSERT INTO task(payload, state) VALUES ('a', 'done'), ('b', 'done'), ('c', 'done')`);
    verify(path, 'queue', 3);
    assert.throws(() => verify(path, 'queue', 4));
    assert.throws(() => verify(path, 'insert', 3));
    db.exec("UPDATE task SET state = 'claimed' WHERE id = 2");
    assert.throws(() => verify(path, 'queue', 3));
    db.close();
});
