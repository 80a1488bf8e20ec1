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

function read(row) {
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

/** The columns of a row that are yielded, which cannot be BLOBs. */
export function yielded(row, count) {
    const values = Object.values(row).slice(0, count);
    for (const value of values) {
        if (value instanceof Uint8Array) throw new Fault('a BLOB cannot be yielded or reported');
    }
    return values;
}
