// The parameters `?1`, `?2`, … in SQL, as a driver needs them.

/** Text, quoted names and comments, which stay as they are, or a parameter. */
const TOKENS = /'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|--[^\n]*|\/\*[\s\S]*?\*\/|\?(\d+)/g;

function replace(sql, parameter) {
    return sql.replace(TOKENS, (token, number) =>
        number === undefined ? token : parameter(Number(number) - 1, token),
    );
}

/**
 * With `?` in place of each parameter.
 *
 * @returns {{ text: string, order: number[] | null }} `order`: the parameter at each position; null where these are the
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
 * The SQL of a statement with a cast around each parameter that its driver would bind in another type than the protocol
 * has: JavaScript's numbers say nothing of theirs. The plus keeps SQLite from giving the parameter the type's affinity,
 * which decides how it is compared (https://sqlite.org/datatype3.html#determination_of_expression_affinity). A cast
 * costs nothing that can be measured, a BigInt some 5 % of a point read.
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

/** For drivers to which every number is a double: integers that are drawn. Constants are BigInts there. */
export const ofDoubles = ({ kind, unit }) =>
    ['uniform', 'sequence', 'table'].includes(kind) || (kind === 'now' && unit !== 'iso') ? 'INTEGER' : null;

/** For drivers to which a number is an integer where it is whole and fits 32 bits, a double elsewhere. */
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
