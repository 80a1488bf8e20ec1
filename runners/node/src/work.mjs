// Work of the client on each fetched row.

import { hash } from 'node:crypto';

import { Fault } from './driver.mjs';

/** Destination of columns that were read, so that reading them is not optimised away. */
export let kept;

/**
 * Returns the work of one statement on a row object, or null if columns are not read.
 *
 * @param {object} work of the statement
 * @param {string[] | null} columns their names; null if the driver reports them with a row only
 * @returns {((row: object, effect: import('./driver.mjs').Effect) => void) | null}
 */
export function job(work, columns) {
    if (work.kind === 'none') return null;
    if (work.kind === 'hand-over') return handOver;
    const read = columns === null ? readAll : reading(columns);
    if (work.kind === 'read') return read;
    for (const name of columns === null ? [] : [work.value, work.hash]) {
        if (!columns.includes(name)) throw new Fault(`no column \`${name}\` to verify among ${columns.join(', ')}`);
    }
    return (row, effect) => {
        read(row);
        effect.verified++;
        if (!agree(row[work.value], row[work.hash])) effect.mismatches++;
    };
}

/**
 * The work in the thread of a connection: it returns the row, and the caller in another thread does the actual work.
 */
const handOver = (row, effect) => effect.rows.push(row);

/** Returns the trial with all work on fetched rows replaced by handing them over. */
export function handingOver(trial) {
    const statement = (spec) => (spec.fetch === 'none' ? spec : { ...spec, work: { kind: 'hand-over' } });
    const transaction = (spec) => ({ ...spec, statements: spec.statements.map(statement) });
    return { ...trial, transactions: trial.transactions.map(transaction) };
}

/** Reads columns by name: finding the names takes 0.1 µs per column of a node:sqlite row. */
function reading(names) {
    return (row) => {
        for (let at = 0; at < names.length; at++) kept = row[names[at]];
    };
}

function readAll(row) {
    for (const name in row) kept = row[name];
}

/**
 * Whether `digest` is the hexadecimal SHA-256 of the bytes that `digits` encodes. False for values that are not
 * hexadecimal text.
 */
export function agree(digits, digest) {
    if (typeof digits !== 'string' || typeof digest !== 'string' || digits.length % 2 !== 0) return false;
    // Decoding ends at the first character that is not a digit.
    const bytes = Buffer.from(digits, 'hex');
    if (bytes.length * 2 !== digits.length) return false;
    return hash('sha256', bytes, 'hex') === digest.toLowerCase();
}

/**
 * The work on the rows of a statement.
 *
 * @typedef {object} Task
 * @property {((row: object, effect: import('./driver.mjs').Effect) => void) | null} job
 * @property {number} yields Number of columns of the first row that are yielded.
 * @property {number} [columns] Number of columns, where their names are known from a row only.
 * @property {boolean} counts Whether the statement counts changes.
 */

/** Does the work on a row after `before` others. */
export function next(task, row, before, effect) {
    if (before > 0) {
        if (task.job !== null) task.job(row, effect);
        return;
    }
    take(task, row, effect);
    if (effect.timed) effect.firstRow = effect.clock.now();
}

/** Does the work on a first row. */
export function take(task, row, effect) {
    if (task.job !== null) task.job(row, effect);
    keep(task, row, effect);
}

/** Keeps the yielded columns of a first row. */
export function keep(task, row, effect) {
    if (task.yields === 0) return;
    if (task.columns !== undefined) {
        checkNames(row, task.columns);
        // All its rows have the same names.
        task.columns = undefined;
    }
    effect.first = yielded(row, task.yields);
}

/** Rejects a row whose object has its columns in another order, or not all of them. */
function checkNames(row, columns) {
    const names = Object.keys(row);
    if (names.length === columns && !names.some((name) => /^\d+$/.test(name))) return;
    throw new Fault('its rows are objects, so columns need distinct names that are no numbers');
}

/** Returns the yielded columns of a row, which must not be BLOBs. */
export function yielded(row, count) {
    const values = Object.values(row).slice(0, count);
    for (const value of values) {
        if (value instanceof Uint8Array) throw new Fault('a BLOB cannot be yielded or reported');
    }
    return values;
}
