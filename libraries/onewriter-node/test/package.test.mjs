// The declarations, and what is in the package.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { test } from 'node:test';

import * as library from '../src/index.mjs';
import { create, file, look } from './databases.mjs';

const ROOT = join(import.meta.dirname, '..');
const DECLARATIONS = readFileSync(join(ROOT, 'index.d.ts'), 'utf8');

/** Runs a program. Fails with what it has printed. */
function run(file, words, cwd = ROOT) {
    try {
        return execFileSync(file, words, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
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

test('the examples of the README run', async (t) => {
    const text = readFileSync(join(ROOT, 'README.md'), 'utf8');
    const examples = [...text.matchAll(/(?<=^```js\n).*?(?=^```)/gms)].join('');
    const program = examples.replaceAll(
        "'onewriter'",
        JSON.stringify(new URL('../src/index.mjs', import.meta.url).href),
    );
    const folder = dirname(file(t));
    const db = await library.open(join(folder, 'app.db'));
    const schema = ['CREATE TABLE account(id INTEGER PRIMARY KEY, balance)', 'CREATE TABLE tag(note, name)'];
    await db.write([...schema, 'INSERT INTO account VALUES (1, 15), (2, 0)'].map((sql) => ({ sql })));
    await db.close();
    const printed = run(process.execPath, ['--input-type=module', '--eval', program], folder);
    assert.equal(printed, "[ { text: 'hello' } ]\n1 [ { note: 2 } ]\n");
    assert.deepEqual(look(join(folder, 'app.db'), 'SELECT balance FROM account').map(Object.values), [[5], [10]]);
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
