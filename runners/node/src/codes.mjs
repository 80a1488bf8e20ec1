// SQLite's result codes by name. `result-codes.json` is a copy of the protocol's table, so that this package is
// self-contained.

import { readFileSync } from 'node:fs';

/** @type {Record<string, number>} */
const BY_NAME = JSON.parse(readFileSync(new URL('result-codes.json', import.meta.url), 'utf8'));
const BY_CODE = new Map(Object.entries(BY_NAME).map(([name, code]) => [code, name]));

/** Returns the name of an extended code. An unknown one has the name of its primary code, the low byte. */
export const nameOf = (code) => BY_CODE.get(code) ?? BY_CODE.get(code & 0xff) ?? 'SQLITE_UNKNOWN';

/** Returns the code of a name, or undefined. */
export const codeOf = (name) => BY_NAME[name];

/** All results of `nameOf`. */
export const NAMES = [...Object.keys(BY_NAME), 'SQLITE_UNKNOWN'];
