// The declarations, and what is in the package.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { test } from 'node:test';

import * as library from '../src/index.mjs';
import { create } from './databases.mjs';

const ROOT = join(import.meta.dirname, '..');
const DECLARATIONS = readFileSync(join(ROOT, 'index.d.ts'), 'utf8');

/** Runs a program. Fails with what it has printed. */
function run(file, words) {
    try {
        return execFileSync(file, words, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
    } catch ({ stdout, stderr, message }) {
        assert.fail(stdout || stderr || message);
    }
}

test('the declarations accept and refuse what they should', () => {
    const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc');
    const options =
        '--noEmit --strict --exactOptionalPropertyTypes --module nodenext --target esnext --lib esnext,dom --types';
    run(process.execPath, [tsc, ...options.split(' '), '', join('test', 'types.ts')]);
});

test('the declarations name what there is, and no more', async (t) => {
    const names = [...DECLARATIONS.matchAll(/^export (?:function|class) (\w+)/gm)].map(([, name]) => name);
    assert.deepEqual(Object.keys(library).sort(), names.sort());
    const db = await create(t);
    const [body] = /(?<=export interface Database \{).*?(?=^\})/ms.exec(DECLARATIONS);
    const members = [...body.matchAll(/^ {4}(?:readonly )?(\w+)[(<:]/gm)].map(([, name]) => name);
    const there = Object.getOwnPropertyNames(Object.getPrototypeOf(db)).filter((name) => name !== 'constructor');
    assert.deepEqual(members.sort(), there.sort());
});

test('the codes of errors are declared', () => {
    const source = ['channel', 'database', 'thread/connection', 'thread/statements', 'thread/writer']
        .map((name) => readFileSync(join(ROOT, 'src', `${name}.mjs`), 'utf8'))
        .join('');
    const used = new Set(source.match(/(?<=')ERR_\w+(?=')/g));
    const declared = new Set(DECLARATIONS.match(/(?<=\| ')ERR_\w+/g));
    assert.deepEqual([...used].sort(), [...declared].sort());
});

test('the package contains its source, its declarations and its texts', (t) => {
    const npm = join(dirname(process.execPath), 'npm');
    const words = ['pack', '--dry-run', '--json', '--ignore-scripts'];
    const [{ files }] = JSON.parse(run(existsSync(npm) ? npm : 'npm', words));
    const names = files.map(({ path }) => path);
    for (const name of ['README.md', 'CHANGELOG.md', 'LICENSE-APACHE', 'LICENSE-MIT', 'index.d.ts', 'src/index.mjs']) {
        assert.ok(names.includes(name), `${name} is missing`);
    }
    const more = names.filter((name) => !/^(src\/.*\.mjs|index\.d\.ts|package\.json|[A-Z-]+(\.md)?)$/.test(name));
    assert.deepEqual(more, []);
});
