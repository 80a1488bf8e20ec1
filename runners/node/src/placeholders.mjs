// The parameters `?1`, `?2`, … of SQL in the syntax of a driver.

/** Matches text, quoted names and comments, which remain unchanged, or a parameter. */
const TOKENS = /'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|--[^\n]*|\/\*[\s\S]*?\*\/|\?(\d+)/g;

function replace(sql, parameter) {
    return sql.replace(TOKENS, (token, number) =>
        number === undefined ? token : parameter(Number(number) - 1, token),
    );
}

/**
 * Replaces each parameter by `?`.
 *
 * @returns {{ text: string, order: number[] | null }} `order`: the parameter at each position; null if these are the
 *   same
 */
export function positional(sql) {
    const order = [];
    const text = replace(sql, (at) => {
        order.push(at);
        return '?';
    });
    return { text, order: order.every((place, at) => place === at) ? null : order };
}

/**
 * Adds a cast to each parameter that the driver would bind in another type than that of the protocol.
 *
 * JavaScript numbers do not carry a type. The plus prevents the cast from giving the parameter an affinity, which
 * decides how it is compared (https://sqlite.org/datatype3.html#determination_of_expression_affinity). A cast has no
 * measurable cost, a BigInt costs about 5 % of a point read.
 *
 * @param {(source: object) => 'INTEGER' | 'REAL' | null} cast
 */
export function typed({ sql, bind }, params, cast) {
    return replace(sql, (at, token) => {
        const param = params[bind[at % bind.length]];
        const type = param === undefined ? null : cast(param.source);
        return type === null ? token : `+CAST(${token} AS ${type})`;
    });
}

/** For drivers that bind every number as a double: the cast of drawn integers. Constants are BigInts there. */
export const ofDoubles = ({ kind, unit }) =>
    ['uniform', 'sequence', 'table'].includes(kind) || (kind === 'now' && unit !== 'iso') ? 'INTEGER' : null;

/** For drivers that bind a number as an integer if it is whole and fits 32 bits, and as a double otherwise. */
export function of32Bits(source) {
    const wide = (n) => n !== (n | 0);
    switch (source.kind) {
        case 'uniform':
            return wide(source.low) || wide(source.high) ? 'INTEGER' : null;
        case 'table':
            return source.low.some((low, at) => wide(low) || wide(low + source.width[at])) ? 'INTEGER' : null;
        case 'value':
        case 'choice': {
            const values = (source.kind === 'value' ? [source.value] : source.values).filter((value) => value !== null);
            if (values.length > 0 && values.every((value) => typeof value === 'object')) return 'REAL';
            return values.every(Number.isInteger) && values.some(wide) ? 'INTEGER' : null;
        }
        default:
            return ofDoubles(source);
    }
}
