// The mistakes of one plan concern no other one in its commit.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { codeOf, create, DRIVERS } from './databases.mjs';

const JOURNALLESS = [
    'CREATE TABLE typed(a INTEGER) STRICT',
    'CREATE TABLE note(tags)',
    "INSERT INTO note VALUES ('[1]'), ('[')",
    'CREATE TABLE tag(name)',
];

const SCHEMA = [
    'CREATE TABLE t(id INTEGER PRIMARY KEY, a UNIQUE, n CHECK (n >= 0))',
    "INSERT INTO t VALUES (1, 'taken', 1), (2, 'two', 2)",
    'CREATE TABLE child(t REFERENCES t(id) DEFERRABLE INITIALLY DEFERRED)',
    'CREATE TABLE log(x)',
    ...JOURNALLESS,
    'CREATE TABLE first(a UNIQUE ON CONFLICT FAIL)',
    `CREATE TRIGGER "raise" BEFORE INSERT ON t WHEN new.n > 100 BEGIN
        INSERT INTO log VALUES (new.n);
        SELECT CASE new.n
            WHEN 101 THEN raise(ROLLBACK, 'r') WHEN 102 THEN raise(ABORT, 'a') WHEN 103 THEN raise(FAIL, 'f') END;
    END`,
    'CREATE VIEW v AS SELECT a FROM t',
    'CREATE TRIGGER instead INSTEAD OF UPDATE ON v BEGIN INSERT INTO log VALUES (new.a); END',
];

/** Plans that fail, by the code of their error. */
const FAILING = {
    SQLITE_CONSTRAINT_UNIQUE: [
        "INSERT INTO t(a) VALUES ('taken')",
        "INSERT INTO t(a) VALUES ('other'), ('taken')",
        "INSERT OR ROLLBACK INTO t(a) VALUES ('other'), ('taken')",
        "INSERT OR FAIL INTO t(a) VALUES ('other'), ('taken')",
        'INSERT INTO first VALUES (1), (1)',
    ],
    SQLITE_CONSTRAINT_CHECK: ['UPDATE t SET n = n - 2 WHERE id IN (1, 2)'],
    SQLITE_CONSTRAINT_TRIGGER: [101, 102, 103].map((n) => `INSERT INTO t(n) VALUES (${n})`),
    // Without a statement journal: the rows before the error stay in the transaction.
    SQLITE_CONSTRAINT_DATATYPE: ["INSERT INTO typed VALUES (1), ('x')"],
    SQLITE_CONSTRAINT_FOREIGNKEY: ['INSERT INTO child VALUES (99)'],
    SQLITE_ERROR: [
        'SELECT FROM WHERE',
        'INSERT INTO nowhere VALUES (1)',
        "UPDATE t SET n = json(CASE id WHEN 1 THEN '1' ELSE '{' END)",
        'SELECT abs(-9223372036854775807 - 1)',
        'CREATE TABLE t(again)',
        'INSERT INTO tag SELECT j.value FROM note, json_each(note.tags) AS j',
    ],
    SQLITE_MISMATCH: ["INSERT INTO t(id) VALUES (50), ('text')"],
    ERR_EXPECT: [
        ['DELETE FROM t', 1],
        ['UPDATE v SET a = 5', 1],
    ],
    ERR_STATEMENT: [
        'INSERT INTO log VALUES (1); COMMIT',
        `INSERT INTO log VALUES (1);${'--'.repeat(500)}\n${'/* -- */'.repeat(500)}COMMIT`,
    ],
    ERR_NOT_ALLOWED: [
        '',
        '-- nothing',
        'SELEC 1',
        'BEGIN',
        'COMMIT',
        'commit;',
        'END',
        'ROLLBACK',
        'ROLLBACK TO plan',
        'SAVEPOINT plan',
        'RELEASE plan',
        '/* a comment */ COMMIT',
        '-- a comment\n\tCOMMIT',
        '/* open',
        ';COMMIT',
        '\ufeffCOMMIT',
        "ATTACH ':memory:' AS other",
        'DETACH main',
        'VACUUM',
        'PRAGMA synchronous = OFF',
        'PRAGMA wal_autocheckpoint',
        'PRAGMA user_version',
        'PRAGMA user_version = 1 + 1',
        'EXPLAIN COMMIT',
        'CREATE TEMP TABLE mine(x)',
        'CREATE TABLE temp.mine(x)',
        'CREATE TABLE "temp" . mine(x)',
        'CREATE TEMPORARY VIEW mine AS SELECT 1',
    ],
};

/** The rows that no failing plan may change. */
const state = async (db) => ({
    t: await db.read('SELECT * FROM t ORDER BY id'),
    child: await db.read('SELECT * FROM child'),
    first: await db.read('SELECT * FROM first'),
    typed: await db.read('SELECT * FROM typed'),
    tag: await db.read('SELECT * FROM tag'),
    header: await db.read('SELECT user_version, application_id FROM pragma_user_version, pragma_application_id'),
});

for (const driver of DRIVERS) {
    for (const isFirst of [true, false]) {
        const place = isFirst ? 'alone in its plan' : 'after a change';
        test(`${driver}: a statement that fails ${place} leaves nothing, and its neighbours are kept`, async (t) => {
            const db = await create(t, SCHEMA, { driver });
            const before = await state(db);
            const change = { sql: "INSERT INTO log VALUES ('half')" };
            const good = (name) => db.execute('INSERT INTO log VALUES (?)', [name]);
            const names = [];
            // The second time each has a savepoint, if it needs one.
            for (const repeated of [1, 2]) {
                for (const [code, statements] of Object.entries(FAILING)) {
                    for (const [sql, expect] of statements.map((statement) => [statement].flat())) {
                        const plan = isFirst ? [{ sql, expect }] : [change, { sql, expect }];
                        const name = `${repeated} ${sql}`;
                        const calls = [good(`a ${name}`), codeOf(db.write(plan)), good(`b ${name}`)];
                        const [a, failed, b] = await Promise.all(calls);
                        assert.deepEqual([a.count, failed, b.count], [1, code, 1], name);
                        names.push(`a ${name}`, `b ${name}`);
                    }
                }
            }
            const log = await db.read('SELECT x FROM log');
            assert.deepEqual(
                log.map(({ x }) => x),
                names,
            );
            assert.deepEqual(await state(db), before);
        });
    }

    // In SCHEMA the conflict resolution FAIL occurs, so that no statement of it is trusted to be taken back.
    test(`${driver}: nothing stays of a statement that SQLite keeps no journal for`, async (t) => {
        const db = await create(t, JOURNALLESS, { driver });
        assert.equal(await codeOf(db.execute("INSERT INTO typed VALUES (1), ('x')")), 'SQLITE_CONSTRAINT_DATATYPE');
        const malformed = 'INSERT INTO tag SELECT j.value FROM note, json_each(note.tags) AS j';
        assert.equal(await codeOf(db.execute(malformed)), 'SQLITE_ERROR');
        for (const table of ['typed', 'tag']) assert.deepEqual(await db.read(`SELECT * FROM ${table}`), []);
    });

    test(`${driver}: many that fail in one commit, each in another way`, async (t) => {
        const db = await create(t, SCHEMA, { driver });
        const calls = [];
        for (const [code, statements] of Object.entries(FAILING)) {
            for (const [sql, expect] of statements.map((statement) => [statement].flat())) {
                calls.push(db.execute("INSERT INTO log VALUES ('good')").then(({ count }) => assert.equal(count, 1)));
                const half = { sql: "INSERT INTO log VALUES ('half')" };
                calls.push(codeOf(db.write([half, { sql, expect }])).then((found) => assert.equal(found, code, sql)));
            }
        }
        await Promise.all(calls);
        const log = await db.read('SELECT x, count(*) AS n FROM log GROUP BY x');
        assert.deepEqual(log, [{ x: 'good', n: calls.length / 2 }]);
    });

    test(`${driver}: a failed change of the schema is rolled back, and the next plan sees another one`, async (t) => {
        const db = await create(t, [], { driver });
        const outcomes = await Promise.allSettled([
            db.write([{ sql: 'CREATE TABLE a(x)' }, { sql: 'PRAGMA user_version = 7' }, { sql: 'SELECT no' }]),
            db.write([{ sql: 'CREATE TABLE a(y)' }, { sql: 'PRAGMA application_id = -5;' }]),
            db.execute('INSERT INTO a(y) VALUES (1)'),
            db.execute('ALTER TABLE a ADD COLUMN z'),
            db.execute('UPDATE a SET z = 2'),
        ]);
        assert.deepEqual(
            outcomes.map(({ status }) => status),
            ['rejected', ...Array(4).fill('fulfilled')],
        );
        assert.deepEqual(await db.read('SELECT y, z FROM a'), [{ y: 1, z: 2 }]);
        const header = 'SELECT user_version, application_id FROM pragma_user_version, pragma_application_id';
        assert.deepEqual(await db.read(header), [{ user_version: 0, application_id: -5 }]);
    });
}

test('a result that the driver cannot convert takes its plan back', async (t) => {
    const db = await create(t, ['CREATE TABLE t(a)'], { driver: 'node:sqlite' });
    for (const repeated of [1, 2]) {
        const good = () => db.execute("INSERT INTO t VALUES ('good')");
        const bad = db.execute("INSERT INTO t VALUES ('bad') RETURNING 9007199254740993 AS large");
        const [, code] = await Promise.all([good(), codeOf(bad), good()]);
        assert.equal(code, 'ERR_STATEMENT');
        assert.deepEqual(await db.read('SELECT a, count(*) AS n FROM t GROUP BY a'), [{ a: 'good', n: 2 * repeated }]);
    }
});

for (const driver of DRIVERS) {
    test(`${driver}: where the disk is full, what was refused is absent, and what was answered is there`, async (t) => {
        const options = { driver, pragmas: { max_page_count: 40, page_size: 4096 } };
        const db = await create(t, ['CREATE TABLE t(a, data)'], options);
        const insert = (at) => ({ sql: 'INSERT INTO t VALUES (?, zeroblob(1500))', params: [at] });
        const plan = (at) => (at % 3 === 0 ? [insert(at), insert(at)] : [insert(at)]);
        const codes = await Promise.all(Array.from({ length: 120 }, (_, at) => codeOf(db.write(plan(at)))));
        assert.deepEqual(new Set(codes), new Set([undefined, 'SQLITE_FULL']));
        const expected = codes.flatMap((code, a) => (code === undefined ? [{ a, n: plan(a).length }] : []));
        assert.deepEqual(await db.read('SELECT a, count(*) AS n FROM t GROUP BY a ORDER BY a'), expected);
        assert.equal((await db.execute('DELETE FROM t')).count > 0, true, 'it goes on');
        assert.equal((await db.write([insert(1)]))[0].count, 1);
    });
}
