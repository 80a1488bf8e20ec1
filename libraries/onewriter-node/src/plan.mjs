// Plans: lists of statements with parameters, checked and copied when the caller hands them over.

/** Value that refers to a result of an earlier statement of the same plan. */
class Reference {
    constructor(statement, column) {
        this.statement = statement;
        this.column = column;
    }
}

/**
 * Returns a parameter with the value of a column of the first row that an earlier statement of the same plan returns.
 *
 * @param {number} statement index of the statement in the plan
 * @param {string} column name of the column
 */
export function result(statement, column) {
    if (!Number.isInteger(statement) || statement < 0) throw new TypeError(`no index of a statement: ${statement}`);
    return new Reference(statement, String(column));
}

/**
 * Checks and copies statements, so that later changes of the caller's objects have no effect, and one plan cannot make
 * the message of others impossible to send.
 *
 * @returns {{ content: [string, unknown[] | object | undefined, number | undefined, boolean][], size: number }} as
 *     the thread expects it: text, parameters, expected count, whether there are references; `size` in bytes, about
 * @throws {TypeError}
 */
export function copy(statements) {
    if (!Array.isArray(statements) || statements.length === 0) throw new TypeError('a plan is an array of statements');
    let size = 0;
    // Unlike `map`, it does not skip what an array lacks.
    const content = Array.from(statements, (statement, at) => {
        const { sql, params, expect } = statement ?? {};
        if (typeof sql !== 'string') throw new TypeError(`statement ${at}: sql is no string`);
        if (expect !== undefined && !(Number.isInteger(expect) && expect >= 0)) {
            throw new TypeError(`statement ${at}: expect is no count of rows: ${expect}`);
        }
        const copied = parameters(params, at, true);
        size += sql.length + copied.size;
        return [sql, copied.params, expect, copied.refers];
    });
    return { content, size };
}

/** Like `copy`, for one statement that reads. */
export function copyRead(sql, params) {
    if (typeof sql !== 'string') throw new TypeError('sql is no string');
    const copied = parameters(params, 0, false);
    return { content: [sql, copied.params], size: sql.length + copied.size };
}

function parameters(params, at, mayRefer) {
    if (params === undefined) return { params, size: 0, refers: false };
    let size = 0;
    let refers = false;
    const value = (given, name) => {
        switch (typeof given) {
            case 'number':
            case 'bigint':
                size += 8;
                return given;
            case 'string':
                size += given.length;
                return given;
            case 'object':
                if (given === null) return null;
                if (given instanceof Uint8Array) {
                    size += given.byteLength;
                    // Without the rest of a larger buffer that it may be a part of.
                    return new Uint8Array(given);
                }
                if (mayRefer && given instanceof Reference && given.statement < at) {
                    refers = true;
                    return { ...given };
                }
        }
        const kinds = 'null, number, bigint, string, Uint8Array or a reference to an earlier statement';
        throw new TypeError(`statement ${at}: parameter ${name} is none of ${kinds}`);
    };
    if (Array.isArray(params)) {
        const list = Array.from(params, value);
        return { params: list, size, refers };
    }
    if (typeof params !== 'object' || params === null || ArrayBuffer.isView(params)) {
        throw new TypeError(`statement ${at}: params is neither an array nor an object`);
    }
    const named = Object.fromEntries(Object.entries(params).map(([name, given]) => [name, value(given, name)]));
    return { params: named, size, refers };
}
