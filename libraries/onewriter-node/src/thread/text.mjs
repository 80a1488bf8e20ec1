// Space and comments of SQL.

/** What may stand before a statement, and what may follow it. */
export const BEFORE = /\s+|--[^\n]*|\/\*[^]*?(?:\*\/|$)/y;
export const AFTER = /[\s;]+|--[^\n]*|\/\*[^]*?(?:\*\/|$)/y;

/**
 * Returns the first position from `at` on that a sticky pattern does not match. One pattern for all of it would try the
 * comments of a hostile text in exponentially many ways.
 */
export function skip(pattern, sql, at) {
    let end = at;
    for (pattern.lastIndex = at; pattern.test(sql); end = pattern.lastIndex);
    return end;
}
