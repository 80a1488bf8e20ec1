// What the client does with each row it fetches.

import { hash } from 'node:crypto';

import { Fault } from './driver.mjs';

/** Where a column that was read goes, so that reading it is not optimised away. */
export let kept;

/**
 * The work of one statement on a row object, or null where columns are not read.
 *
 * @param {object} work of the statement
 * @param {string[] | null} columns their names; null where the driver only knows them from a row
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

/** What a connection's own thread does with a row: its caller is elsewhere, and the work is done there. */
const handOver = (row, effect) => effect.rows.push(row);

/** The trial with this in the place of all work on rows that are fetched. */
export function handingOver(trial) {
    const statement = (spec) => (spec.fetch === 'none' ? spec : { ...spec, work: { kind: 'hand-over' } });
    const transaction = (spec) => ({ ...spec, statements: spec.statements.map(statement) });
    return { ...trial, transactions: trial.transactions.map(transaction) };
}

/** Reads columns by their names: of a row of node:sqlite it takes 0.1 µs each to find them. */
function reading(names) {
    return (row) => {
        for (let at = 0; at < names.length; at++) kept = row[names[at]];
    };
}

function readAll(row) {
    for (const name in row) kept = row[name];
}

/** Whether `digest` is the SHA-256 of the bytes that `digits` spells. What is no text or no hex agrees with nothing. */
export function agree(digits, digest) {
    if (typeof digits !== 'string' || typeof digest !== 'string' || digits.length % 2 !== 0) return false;
    // Decoding ends at the first character that is no digit.
    const bytes = Buffer.from(digits, 'hex');
    if (bytes.length * 2 !== digits.length) return false;
    return hash('sha256', bytes, 'hex') === digest.toLowerCase();
}

/**
 * What is done with the rows of a statement.
 *
 * @typedef {object} Task
 * @property {((row: object, effect: import('./driver.mjs').Effect) => void) | null} job
 * @property {number} yields How many columns of the first row are yielded.
 * @property {boolean} counts Whether the statement counts changes.
 */

/** The work on a row that has so many before it. */
export function next(task, row, before, effect) {
    if (before > 0) {
        if (task.job !== null) task.job(row, effect);
        return;
    }
    take(task, row, effect);
    if (effect.timed) effect.firstRow = effect.clock.now();
}

/** The work on a first row. */
export function take(task, row, effect) {
    if (task.job !== null) task.job(row, effect);
    if (task.yields > 0) effect.first = yielded(row, task.yields);
}

/** The columns of a row that are yielded, which cannot be BLOBs. */
export function yielded(row, count) {
    const values = Object.values(row).slice(0, count);
    for (const value of values) {
        if (value instanceof Uint8Array) throw new Fault('a BLOB cannot be yielded or reported');
    }
    return values;
}
