// What callers get: results, references, conditions, values, settings.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { open, OnewriterError, result } from '../src/index.mjs';
import { codeOf, create, DRIVERS, file, look } from './databases.mjs';

const NOTE = 'CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT, data BLOB)';

for (const driver of DRIVERS) {
    test(`${driver}: a plan returns the result of each statement`, async (t) => {
        const db = await create(t, [NOTE], { driver });
        const results = await db.write([
            { sql: 'INSERT INTO note(text) VALUES (?), (?)', params: ['a', 'b'] },
            { sql: 'UPDATE note SET text = upper(text) WHERE text = :text RETURNING id, text', params: { text: 'b' } },
            { sql: 'SELECT count(*) AS n FROM note' },
            { sql: 'CREATE INDEX by_text ON note(text)' },
            { sql: '/* all; */ -- of them\n\tDELETE FROM note; -- COMMIT' },
        ]);
        assert.deepEqual(results, [
            { count: 2, rows: [] },
            { count: 1, rows: [{ id: 2, text: 'B' }] },
            { count: 1, rows: [{ n: 2 }] },
            { count: 0, rows: [] },
            { count: 2, rows: [] },
        ]);
    });

    test(`${driver}: a reference is a value of an earlier statement`, async (t) => {
        const db = await create(t, [NOTE, 'CREATE TABLE link(a, b)'], { driver });
        const insert = { sql: 'INSERT INTO note(text) VALUES (?) RETURNING id, text', params: ['first'] };
        await db.execute(insert.sql, ['zeroth']);
        await db.write([
            insert,
            insert,
            { sql: 'INSERT INTO link VALUES (?, ?)', params: [result(0, 'id'), result(1, 'id')] },
            { sql: 'INSERT INTO link VALUES (:a, :b)', params: { a: result(1, 'text'), b: 1n } },
        ]);
        assert.deepEqual(await db.read('SELECT * FROM link'), [
            { a: 2, b: 3 },
            { a: 'first', b: 1 },
        ]);
        const use = (reference) => [insert, { sql: 'DELETE FROM link' }, { sql: 'SELECT ?', params: [reference] }];
        for (const reference of [result(0, 'no'), result(0, 'constructor'), result(1, 'id')]) {
            assert.equal(await codeOf(db.write(use(reference))), 'ERR_REFERENCE');
        }
        assert.equal(await codeOf(db.write(use(result(2, 'id')))), 'TypeError', 'no earlier statement');
        assert.equal(await codeOf(db.execute('SELECT ?', [result(0, 'id')])), 'TypeError');
        assert.throws(() => result(-1, 'id'), TypeError);
        assert.equal((await db.read('SELECT * FROM link')).length, 2);
    });

    test(`${driver}: a plan whose condition is not met changes nothing`, async (t) => {
        const db = await create(t, [NOTE, 'INSERT INTO note VALUES (1, NULL, NULL)'], { driver });
        const insert = { sql: 'INSERT INTO note(text) VALUES (1)' };
        const unmet = [
            { sql: 'DELETE FROM note WHERE id = 77', expect: 1 },
            { sql: 'DELETE FROM note', expect: 1 },
            { sql: 'SELECT 1 WHERE 0', expect: 1 },
            { sql: 'UPDATE note SET text = 5 RETURNING id', expect: 0 },
        ];
        for (const repeated of [1, 2]) {
            for (const statement of unmet) {
                const error = await db.write([insert, statement]).catch((error) => error);
                assert.ok(error instanceof OnewriterError);
                assert.deepEqual([error.code, error.statement, error.uncertain], ['ERR_EXPECT', 1, false], repeated);
            }
        }
        await db.write([insert, { sql: 'DELETE FROM note', expect: 2 }]);
        assert.deepEqual(await db.read('SELECT * FROM note'), []);
    });

    test(`${driver}: values arrive as they were when the call was made`, async (t) => {
        const db = await create(t, [NOTE], { driver });
        const pool = Buffer.from('the pool of a buffer').subarray(4, 8);
        const params = ['text', pool];
        const done = db.execute('INSERT INTO note(text, data) VALUES (?, ?) RETURNING data', params);
        params[0] = 'changed';
        pool.fill(0);
        const { rows } = await done;
        assert.deepEqual(rows, [{ data: new Uint8Array(Buffer.from('pool')) }]);
        const [row] = await db.read('SELECT text, data, NULL AS none, 1.5 AS real FROM note');
        assert.deepEqual(row, { text: 'text', data: rows[0].data, none: null, real: 1.5 });
        assert.deepEqual(
            await db.read('SELECT :a || ? AS ab', { a: 'x' }).catch(({ code }) => code),
            {
                'node:sqlite': [{ ab: null }],
                'better-sqlite3': 'ERR_STATEMENT',
            }[driver],
        );
    });

    test(`${driver}: integers beyond 2^53 are exact as bigint`, async (t) => {
        const db = await create(t, [NOTE], { driver, bigint: true });
        const [{ rows }] = await db.write([
            { sql: 'INSERT INTO note(id) VALUES (?) RETURNING id', params: [2n ** 63n - 1n] },
            { sql: 'UPDATE note SET text = 1', expect: 1 },
        ]);
        assert.equal(rows[0].id, 9223372036854775807n);
        assert.deepEqual(await db.read('SELECT id FROM note'), rows);
    });

    test(`${driver}: the defaults are WAL, FULL and foreign keys; other settings are the application's`, async (t) => {
        const db = await create(t, [NOTE], { driver, pragmas: { cache_size: -1234, recursive_triggers: 'ON' } });
        const names = ['journal_mode', 'synchronous', 'foreign_keys', 'cache_size', 'recursive_triggers'];
        const settings = `SELECT * FROM ${names.map((name) => `pragma_${name}`).join()}`;
        const expected = { journal_mode: 'wal', foreign_keys: 1, cache_size: -1234, recursive_triggers: 1 };
        const { rows } = await db.execute(settings);
        assert.deepEqual(rows, [{ ...expected, synchronous: 2 }]);
        const [{ synchronous, ...reader }] = await db.read(settings);
        assert.deepEqual(reader, expected);
        const normal = await create(t, [], { driver, synchronous: 'NORMAL', pragmas: { synchronous: 0 } });
        assert.deepEqual((await normal.execute('SELECT * FROM pragma_synchronous')).rows, [{ synchronous: 1 }]);
    });

    test(`${driver}: a read sees every write answered before, and cannot write`, async (t) => {
        const db = await create(t, [NOTE], { driver });
        for (let count = 1; count <= 50; count++) {
            await db.execute('INSERT INTO note(text) VALUES (?)', [`${count}`]);
            const reads = Array.from({ length: 5 }, () => db.read('SELECT count(*) AS count FROM note'));
            for (const rows of await Promise.all(reads)) assert.deepEqual(rows, [{ count }]);
        }
        for (const sql of ['DELETE FROM note', 'DROP TABLE note', 'WITH a AS (SELECT 1) DELETE FROM note']) {
            assert.equal(await codeOf(db.read(sql)), 'SQLITE_READONLY', sql);
        }
        assert.deepEqual(await db.read('DROP TABLE IF EXISTS absent'), []);
        assert.equal(await codeOf(db.read('BEGIN')), 'ERR_NOT_ALLOWED');
        assert.equal(await codeOf(db.read('SELECT no FROM note')), 'SQLITE_ERROR');
        assert.equal((await db.read('SELECT * FROM note')).length, 50);
    });

    test(`${driver}: a statement returns the columns of a table that was altered meanwhile`, async (t) => {
        const db = await create(t, ['CREATE TABLE t(a)', 'INSERT INTO t VALUES (1)'], { driver, readers: 1 });
        const all = 'SELECT * FROM t';
        const both = async () => [await db.read(all), (await db.execute(all)).rows];
        assert.deepEqual(await both(), [[{ a: 1 }], [{ a: 1 }]]);
        await db.execute('ALTER TABLE t ADD COLUMN b DEFAULT 2');
        assert.deepEqual(await both(), [[{ a: 1, b: 2 }], [{ a: 1, b: 2 }]]);
        await db.execute('ALTER TABLE t DROP COLUMN a');
        assert.deepEqual(await both(), [[{ b: 2 }], [{ b: 2 }]]);
    });
}

test('what is no plan is refused', async (t) => {
    const db = await create(t, [NOTE]);
    const bad = [undefined, [], {}, ['SELECT 1'], [null], [{ sql: 1 }], new Array(1)];
    const params = [[true], [undefined], [{}], [() => 1], [Symbol('a')], [[1]], [new Date()], 'text', 5, null];
    const withParams = params.map((params) => [{ sql: 'SELECT ?', params }]);
    const withExpect = [-1, 0.5, '1', null].map((expect) => [{ sql: 'SELECT 1', expect }]);
    for (const plan of [...bad, ...withParams, ...withExpect, [{ sql: 'SELECT ?', params: new Uint8Array(1) }]]) {
        assert.equal(await codeOf(db.write(plan)), 'TypeError', JSON.stringify(plan));
    }
    assert.equal(await codeOf(db.read(7)), 'TypeError');
    assert.equal(await codeOf(db.read('SELECT ?', [result(0, 'a')])), 'TypeError');
    assert.equal(db.pending, 0);
});

test('what is no option is refused', async (t) => {
    const bad = [
        { driver: 'sqlite3' },
        { synchronous: 'OFF' },
        { readers: 0 },
        { queue: 0 },
        { timeout: -1 },
        { bigint: 1 },
    ];
    for (const options of [...bad, { pragmas: { 'a = 1; b': 1 } }, { pragmas: { a: '1; b' } }, { busy: 1 }]) {
        assert.equal(await codeOf(open(file(t), options)), 'TypeError', JSON.stringify(options));
    }
    assert.equal(await codeOf(open(':memory:')), 'TypeError');
    assert.equal(await codeOf(open('')), 'TypeError');
});

test('the same database can be opened again, and by both drivers one after the other', async (t) => {
    const path = file(t);
    for (const [at, driver] of [...DRIVERS, ...DRIVERS].entries()) {
        const db = await open(path, { driver });
        await db.write([{ sql: 'CREATE TABLE IF NOT EXISTS t(a)' }, { sql: 'INSERT INTO t VALUES (?)', params: [at] }]);
        await db.close();
    }
    assert.deepEqual(
        look(path, 'SELECT a FROM t').map(({ a }) => a),
        [0, 1, 2, 3],
    );
});
