// Random plans of thirty callers against a model, and broken layers that it must find. More of them: ONEWRITER_SEEDS.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

import { DRIVERS } from './databases.mjs';

const SOURCE = join(import.meta.dirname, '..', 'src');
const SEEDS = Number(process.env.ONEWRITER_SEEDS ?? 2);
const PLANS = 2_000;

/** Returns what the model reports, or '' if it finds no difference. */
function run(source, driver, seed) {
    const words = [join(import.meta.dirname, 'model_run.mjs'), source, driver, seed, PLANS];
    return new Promise((resolve) => {
        execFile(process.execPath, words, (error, _, stderr) => resolve(error ? stderr || `${error}` : ''));
    });
}

for (const driver of DRIVERS) {
    test(`${driver}: every answer is the model's`, async () => {
        const first = 1 + Math.floor(Math.random() * 1e9);
        for (let seed = first; seed < first + SEEDS; seed++) assert.equal(await run(SOURCE, driver, seed), '');
    });
}

/** Changes of the source that break a promise: file, text, text in its place. */
const BROKEN = {
    'a failed plan with a savepoint stays by half': ['thread/writer', 'this.#rollbackTo.execute();', ''],
    'a failed plan without a savepoint stays by half': ['thread/writer', '(at > 0 || !', '(false && !'],
    'SQLite is trusted with FAIL': [
        'thread/writer',
        ' && !/fail/i.test(sql) && this.#failing.execute().length === 0',
        '',
    ],
    'a lost transaction is not noticed': ['thread/writer', '!this.#connection.isInTransaction()', 'false'],
    'the others are not executed again': ['thread/writer', '?? this.#plan(', '?? (failed.size > 0) ? [] : this.#plan('],
    'a condition is not checked': ['thread/writer', 'expect !== undefined &&', 'false &&'],
    'a failed commit is answered like one': [
        'thread/writer',
        'return this.#uncommitted(',
        'this.#rollback.execute(); return answers; (',
    ],
    'a plan has seen one that was rolled back': [
        'thread/writer',
        'error.message)];',
        'error.message), ...answers.slice(at + 1)];',
    ],
    'plans may commit': ['thread/statements', "if (HEADER.test(sql)) return 'PRAGMA'", "return 'COMMIT'"],
    'a temporary table stays': ['thread/writer', 'statement.creates &&', 'false &&'],
    'callers get the answers of others': ['channel', 'this.#sent.shift()', 'this.#sent.pop()'],
};

for (const [what, [name, text, broken]] of Object.entries(BROKEN)) {
    test(`found: ${what}`, async (t) => {
        const source = mkdtempSync(join(tmpdir(), 'onewriter-'));
        t.after(() => rmSync(source, { recursive: true }));
        cpSync(SOURCE, source, { recursive: true });
        const file = join(source, `${name}.mjs`);
        const code = readFileSync(file, 'utf8');
        assert.equal(code.split(text).length, 2, `${text} occurs once in ${name}`);
        writeFileSync(
            file,
            code.replace(text, () => broken),
        );
        for (let seed = 1; seed <= 10; seed++) if ((await run(source, 'node:sqlite', seed)) !== '') return;
        assert.fail('ten runs of the model have found no difference');
    });
}
