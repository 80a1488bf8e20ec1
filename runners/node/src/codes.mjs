// SQLite's result codes by name. `result-codes.json` is the protocol's table, copied so that this package stands alone.

import { readFileSync } from 'node:fs';

/** @type {Record<string, number>} */
const BY_NAME = JSON.parse(readFileSync(new URL('result-codes.json', import.meta.url), 'utf8'));
const BY_CODE = new Map(Object.entries(BY_NAME).map(([name, code]) => [code, name]));

/** The extended name of a code; of an unknown extended one that of its primary code, the low byte. */
export const nameOf = (code) => BY_CODE.get(code) ?? BY_CODE.get(code & 0xff) ?? 'SQLITE_UNKNOWN';

/** The code of a name, or undefined. */
export const codeOf = (name) => BY_NAME[name];

/** All that `nameOf` gives. */
export const NAMES = [...Object.keys(BY_NAME), 'SQLITE_UNKNOWN'];
