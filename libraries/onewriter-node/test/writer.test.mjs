// The statements that a commit of several plans executes.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { connect } from '../src/thread/connection.mjs';
import { Writer } from '../src/thread/writer.mjs';
import { file } from './databases.mjs';

const name = ({ code, uncertain }) => `${code}${uncertain ? ' uncertain' : ''}`;

/** Opens a writer whose executed statements are recorded. Statements of plans are recorded as their value. */
async function recorded(t, time = Infinity) {
    const options = {
        driver: 'node:sqlite',
        path: file(t),
        pragmas: {},
        synchronous: 'NORMAL',
        timeout: 0,
        bigint: false,
    };
    const connection = await connect(options, false);
    t.after(() => connection.close());
    connection.prepare('CREATE TABLE t(a UNIQUE)').execute();
    const executed = [];
    const broken = new Map();
    const prepare = (sql) => {
        const { execute } = connection.prepare(sql);
        return {
            execute(params) {
                executed.push(params === undefined ? sql : params[0]);
                if (broken.has(sql)) throw broken.get(sql);
                return execute(params);
            },
        };
    };
    const writer = new Writer({ ...connection, prepare }, time);
    /** Executes plans, each a list of values to insert. Returns what was executed, and the answers by commit. */
    const run = (...plans) => {
        executed.length = 0;
        const commits = [];
        const insert = (value) => ['INSERT INTO t VALUES (?)', [value]];
        writer.execute(
            plans.map((values) => values.map(insert)),
            (answers) => {
                commits.push(answers.map((answer) => (Array.isArray(answer) ? 'ok' : name(answer))));
            },
        );
        return { executed: executed.join(' '), commits };
    };
    return {
        run,
        broken,
        rows: () =>
            connection
                .prepare('SELECT a FROM t')
                .execute()
                .map(({ a }) => a)
                .join(''),
    };
}

const UNIQUE = 'SQLITE_CONSTRAINT_UNIQUE';
const SCHEMA = "SELECT 1 FROM sqlite_schema WHERE instr(lower(sql), 'fail') > 0 LIMIT 1";

test('plans share a transaction, without savepoints', async (t) => {
    const { run } = await recorded(t);
    const { executed, commits } = run(['a'], ['b', 'c'], ['d']);
    assert.equal(executed, 'BEGIN IMMEDIATE a b c d COMMIT');
    assert.deepEqual(commits, [['ok', 'ok', 'ok']]);
});

test('a failed statement that is the first of its plan was taken back by SQLite', async (t) => {
    const { run, rows } = await recorded(t);
    const { executed, commits } = run(['a'], ['a'], ['b']);
    assert.equal(executed, `BEGIN IMMEDIATE a a ${SCHEMA} b COMMIT`);
    assert.deepEqual(commits, [['ok', UNIQUE, 'ok']]);
    assert.equal(rows(), 'ab');
});

test('after a half plan the others are executed again, and the statement gets a savepoint from then on', async (t) => {
    const { run, rows } = await recorded(t);
    const saved = (text) => `SAVEPOINT plan ${text} RELEASE plan`;
    const first = run(['a'], ['b', 'a'], ['c']);
    const again = `BEGIN IMMEDIATE ${saved('a')} ${saved('c')} COMMIT`;
    assert.equal(first.executed, `BEGIN IMMEDIATE a b a ROLLBACK ${again}`);
    assert.deepEqual(first.commits, [['ok', UNIQUE, 'ok']]);
    const second = run(['d'], ['e', 'a'], ['f']);
    assert.equal(
        second.executed,
        `BEGIN IMMEDIATE ${saved('d')} ${saved('e a ROLLBACK TO plan')} ${saved('f')} COMMIT`,
    );
    assert.deepEqual(second.commits, [['ok', UNIQUE, 'ok']]);
    assert.equal(rows(), 'acdf');
});

test('a commit ends when its time is over', async (t) => {
    const { run } = await recorded(t, 0);
    const { executed, commits } = run(['a'], ['b'], ['b', 'c']);
    const own = (text) => `BEGIN IMMEDIATE ${text} COMMIT`;
    assert.equal(executed, `${own('a')} ${own('b')} ${own(`b ${SCHEMA}`)}`);
    assert.deepEqual(commits, [['ok'], ['ok'], [UNIQUE]]);
});

test('a commit that fails is rolled back, and its plans may be there after a crash', async (t) => {
    const { run, broken, rows } = await recorded(t);
    broken.set('COMMIT', Object.assign(new Error('disk I/O error'), { errcode: 10 | (4 << 8) }));
    const { executed, commits } = run(['a'], ['b']);
    assert.equal(executed, 'BEGIN IMMEDIATE a b COMMIT ROLLBACK');
    assert.deepEqual(commits, [Array(2).fill('SQLITE_IOERR uncertain')]);
    broken.clear();
    assert.deepEqual(run(['b']).commits, [['ok']]);
    assert.equal(rows(), 'b');
});

test('a transaction that cannot begin is an error for each plan', async (t) => {
    const { run, broken, rows } = await recorded(t);
    broken.set('BEGIN IMMEDIATE', Object.assign(new Error('database is locked'), { errcode: 5 }));
    const { executed, commits } = run(['a'], ['b']);
    assert.equal(executed, 'BEGIN IMMEDIATE');
    assert.deepEqual(commits, [Array(2).fill('SQLITE_BUSY')]);
    assert.equal(rows(), '');
});
