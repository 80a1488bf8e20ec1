// Random plans of many callers against a model: model_run.mjs SOURCE DRIVER SEED PLANS. `SOURCE` is the folder of the
// layer. Exits with 1 after the first difference, which it prints.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [source, driver, seed, plans] = process.argv.slice(2);
const { open, result } = await import(pathToFileURL(join(source, 'index.mjs')).href);

// Park and Miller's generator (https://doi.org/10.1145/63039.63042).
let state = Number(seed);
const random = (below) => (state = (state * 48_271) % 2_147_483_647) % below;
const pick = (values) => values[random(values.length)];

const SCHEMA = [
    'CREATE TABLE t(k INTEGER PRIMARY KEY, v INTEGER NOT NULL CHECK (v >= 0), u TEXT UNIQUE)',
    'CREATE TABLE parent(id INTEGER PRIMARY KEY)',
    'INSERT INTO parent VALUES (1)',
    'CREATE TABLE child(p REFERENCES parent(id) DEFERRABLE INITIALLY DEFERRED)',
    `CREATE TRIGGER thirteen BEFORE INSERT ON t WHEN new.v = 13 BEGIN
        INSERT INTO child VALUES (1);
        SELECT raise(FAIL, 'thirteen');
    END`,
];

/** The database, as plain values. A failing step throws; its plan is taken back by its caller. */
class Model {
    t = new Map();
    children = 0;

    copy() {
        return Object.assign(new Model(), { t: new Map(this.t), children: this.children });
    }

    insert(k, v, u) {
        const isTaken = (row) => u !== null && row.u === u;
        if (v === 13 || v < 0 || this.t.has(k) || [...this.t.values()].some(isTaken)) throw new Error('constraint');
        this.t.set(k, { v, u });
    }

    subtract(matches, d) {
        let count = 0;
        for (const [k, row] of this.t) {
            if (!matches(k)) continue;
            if (row.v < d) throw new Error('constraint');
            this.t.set(k, { ...row, v: row.v - d });
            count++;
        }
        return count;
    }
}

const key = () => random(12);
const fail = () => {
    throw new Error('refused');
};

/** Makes a statement and its effect on a model, which returns the count or the rows. */
const STEPS = [
    () => {
        const [k, v, u] = [key(), random(16) - 2, pick([null, null, 'a', 'b', 'c'])];
        const verb = pick(['INSERT', 'INSERT', 'INSERT OR FAIL', 'INSERT OR ROLLBACK', 'INSERT OR ABORT']);
        const sql = `${verb} INTO t VALUES (?, ?, ?)`;
        return { sql, params: [k, v, u], run: (model) => (model.insert(k, v, u), 1) };
    },
    () => {
        const rows = [key(), key(), key()].map((k) => [k, random(14)]);
        const sql = `${pick(['INSERT', 'INSERT OR FAIL'])} INTO t(k, v) VALUES (?, ?), (?, ?), (?, ?) RETURNING k`;
        const run = (model) => rows.map(([k, v]) => (model.insert(k, v, null), { k }));
        return { sql, params: rows.flat(), run };
    },
    () => {
        const [k, d] = [key(), random(5)];
        const sql = 'UPDATE t SET v = v - :d WHERE k = :k';
        return { sql, params: { k, d }, run: (model) => model.subtract((other) => other === k, d) };
    },
    () => ({ sql: 'UPDATE t SET v = v - 1', run: (model) => model.subtract(() => true, 1) }),
    () => {
        const [from, to] = [key(), key()];
        const run = (model) => [...model.t.keys()].filter((k) => k >= from && k <= to && model.t.delete(k)).length;
        return { sql: 'DELETE FROM t WHERE k BETWEEN ? AND ?', params: [from, to], run };
    },
    () => {
        const run = ({ t }) => [...t].sort(([a], [b]) => a - b).map(([k, { v }]) => ({ k, v }));
        return { sql: 'SELECT k, v FROM t ORDER BY k', run };
    },
    () => ({ sql: 'INSERT INTO child VALUES (1)', run: (model) => (model.children++, 1) }),
    // Violates the foreign key at the commit.
    () => ({ sql: 'INSERT INTO child VALUES (2)', run: fail }),
    () => ({
        sql: pick(['COMMIT', 'ROLLBACK', 'SAVEPOINT plan', 'RELEASE plan', 'PRAGMA foreign_keys = OFF']),
        run: fail,
    }),
    () => ({ sql: pick(['CREATE TEMP TABLE t(x)', 'SELECT no FROM t', "SELECT json('{')"]), run: fail }),
];

/** Makes a plan. Returns it with its effect on a model: the results, or null if it fails. */
function randomPlan() {
    const steps = Array.from({ length: 1 + random(4) }, () => {
        const step = pick(STEPS)();
        if (random(6) === 0) step.expect = random(3);
        return step;
    });
    if (random(5) === 0) {
        const at = random(steps.length);
        const run = (model, earlier) => {
            const { k } = earlier[at].rows[0] ?? fail();
            return model.subtract((other) => other === k, 0);
        };
        steps.push({ sql: 'UPDATE t SET v = v WHERE k = ?', params: [result(at, 'k')], run });
    }
    const apply = (model) => {
        const results = [];
        try {
            for (const { run, expect } of steps) {
                const answer = run(model, results);
                const rows = Array.isArray(answer) ? answer : [];
                const count = Array.isArray(answer) ? answer.length : answer;
                if (expect !== undefined && count !== expect) throw new Error('expect');
                results.push({ count, rows });
            }
            return results;
        } catch {
            return null;
        }
    };
    return { statements: steps.map(({ sql, params, expect }) => ({ sql, params, expect })), apply };
}

const folder = mkdtempSync(join(tmpdir(), 'onewriter-'));
try {
    const db = await open(join(folder, 'model.db'), { driver, synchronous: 'NORMAL' });
    await db.write(SCHEMA.map((sql) => ({ sql })));
    let model = new Model();
    let left = Number(plans);
    const counts = { ok: 0, failed: 0 };
    async function caller() {
        while (left-- > 0) {
            const { statements, apply } = randomPlan();
            const tried = model.copy();
            const expected = apply(tried);
            if (expected !== null) model = tried;
            const call = db.write(statements);
            const found = await call.catch(() => null);
            assert.deepEqual(found, expected, JSON.stringify(statements));
            counts[found === null ? 'failed' : 'ok']++;
            if (random(3) === 0) await new Promise((resolve) => setImmediate(resolve));
        }
    }
    await Promise.all(Array.from({ length: 30 }, caller));
    const rows = await db.read('SELECT k, v, u FROM t ORDER BY k');
    assert.deepEqual(
        rows,
        [...model.t].sort(([a], [b]) => a - b).map(([k, row]) => ({ k, ...row })),
    );
    assert.deepEqual(await db.read('SELECT p, count(*) AS n FROM child GROUP BY p'), [{ p: 1, n: model.children }]);
    assert.ok(counts.ok > plans / 10 && counts.failed > plans / 10, JSON.stringify(counts));
    await db.close();
} catch (error) {
    console.error(`seed ${seed}: ${error.message}`);
    process.exitCode = 1;
} finally {
    rmSync(folder, { recursive: true });
}
process.exit();
