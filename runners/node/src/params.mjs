// Drawing the values of one operation into the arrays that its statements are bound from. A test compares the values
// with the vectors of the protocol.

import { hash } from 'node:crypto';

import { Fault } from './driver.mjs';
import { Stream } from './generator.mjs';

const ALPHABET = Buffer.from('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_ ');
const CHARS_PER_WORD = 10;

/** A number written as a real one; otherwise `2.0` would become the integer 2. */
export class Real {
    constructor(value) {
        this.value = value;
    }
}

/** Parses JSON and keeps the types of parameter values. */
export function parse(text) {
    return JSON.parse(text, (key, value, { source }) => {
        const scalar = typeof value === 'number' && (key === 'value' || /^\d+$/.test(key));
        if (!scalar) return value;
        if (/[.eE]/.test(source)) return new Real(value);
        const exact = BigInt(source);
        return exact === BigInt(value) ? value : exact;
    });
}

/** Returns the converter of constant and yielded integers for a driver; drawn integers are numbers, see `typed`. */
export const binder = (integers) => (integers === 'bigint' ? BigInt : Number);

/** Converts a JSON scalar, or a column that was read, to the value to bind. */
export function scalar(value, integer) {
    if (value instanceof Real) return value.value;
    if (typeof value === 'boolean') return integer(value ? 1 : 0);
    if (typeof value === 'bigint' && integer === Number) {
        throw new Fault(`${value}: this driver binds no integer beyond 2^53`);
    }
    // A number that was written without a point is whole. Beyond 2^53 it is kept as a number if it is exact.
    return Number.isInteger(value) ? integer(value) : value;
}

/** Draws the values of one transaction for one worker. */
export class Params {
    /**
     * @param {'bigint' | 'number'} integers
     * @param {(name: string) => number} place returns the index of a yielded name in the worker's yielded values
     */
    constructor(seed, transaction, worker, integers, place) {
        const integer = binder(integers);
        this.readsClock = transaction.params.some(({ source }) => source.kind === 'now');
        this.wall = { ms: 0, us: 0 };
        this.sources = [];
        for (const { name, source } of transaction.params) {
            const stream = new Stream(seed, `${transaction.name}.${name}`);
            this.sources.push({ source, stream, draw: this.#draw(source, stream, worker, integer) });
        }
        this.statements = transaction.statements.map((spec) => {
            const sources = spec.bind.map((at) => this.sources[at]);
            if (sources.includes(undefined)) {
                throw new Fault(`transaction \`${transaction.name}\` binds a parameter that it does not have`);
            }
            const slots = sources.length * spec.tuples;
            return {
                draws: sources.map(({ draw }) => draw),
                tuples: spec.tuples,
                repeat: spec.repeat,
                /** One array of arguments per execution, refilled for each operation. */
                args: Array.from({ length: spec.repeat }, () => new Array(slots).fill(null)),
                /** Positions of yielded values, `[position, place]`. */
                yielded: positions(sources, spec.tuples, place),
            };
        });
    }

    /** Draws all values of an operation. The wall clock is read once for all of them. */
    draw(operation) {
        if (this.readsClock) {
            this.wall.ms = Date.now();
            this.wall.us = Math.floor((performance.timeOrigin + performance.now()) * 1000);
        }
        for (const { draws, tuples, repeat, args } of this.statements) {
            let row = operation * repeat * tuples;
            for (let execution = 0; execution < repeat; execution++) {
                const values = args[execution];
                let slot = 0;
                for (let tuple = 0; tuple < tuples; tuple++, row++) {
                    for (let at = 0; at < draws.length; at++) values[slot++] = draws[at](row);
                }
            }
        }
    }

    /** Returns the arguments of one execution of a statement, with the values yielded so far. */
    args(statement, execution, yields) {
        const { args, yielded } = this.statements[statement];
        const values = args[execution];
        for (let at = 0; at < yielded.length; at++) values[yielded[at][0]] = yields[yielded[at][1]];
        return values;
    }

    /** Returns the function from a row to its value. */
    #draw(source, stream, worker, integer) {
        switch (source.kind) {
            case 'value': {
                const value = scalar(source.value, integer);
                return () => value;
            }
            case 'choice': {
                const values = source.values.map((value) => scalar(value, integer));
                return (row) => {
                    stream.word(row);
                    return values[stream.below(values.length)] ?? null;
                };
            }
            case 'uniform': {
                const width = source.high - source.low + 1;
                return (row) => {
                    stream.word(row);
                    return source.low + stream.below(width);
                };
            }
            case 'table':
                return (row) => fromTable(source, stream, row);
            case 'sequence':
                return (row) => {
                    const value = source.start + source.step * row;
                    if (Number.isSafeInteger(value)) return value;
                    const wrapped = BigInt.asIntN(64, BigInt(source.start) + BigInt(source.step) * BigInt(row));
                    const near = Number(wrapped);
                    return Number.isSafeInteger(near) ? integer(near) : scalar(wrapped, integer);
                };
            case 'hex': {
                const bytes = Buffer.alloc(Math.ceil(source.bytes / 8) * 8);
                return (row) => randomBytes(stream, row, bytes).toString('hex', 0, source.bytes);
            }
            case 'text': {
                const chars = Buffer.alloc(source.chars);
                return (row) => randomText(stream, row, chars).toString('latin1');
            }
            case 'sha256-of': {
                const own = this.sources.length;
                return (row) => this.#digest(source.param, own, row);
            }
            case 'now':
                return () => {
                    const { ms, us } = this.wall;
                    if (source.unit === 'iso') return new Date(ms).toISOString();
                    return source.unit === 's' ? Math.floor(ms / 1000) : source.unit === 'ms' ? ms : us;
                };
            case 'worker': {
                const value = integer(worker);
                return () => value;
            }
            case 'format': {
                const pieces = source.template.replaceAll('{worker}', String(worker)).split('{row}');
                return (row) => pieces.join(String(row));
            }
            case 'yielded':
                return () => null;
            default:
                throw new Fault(`source \`${source.kind}\` is not known`);
        }
    }

    /**
     * Hashes the raw bytes of a `hex` source, or the text of any other. A parameter that refers to itself or to a later
     * one hashes no bytes.
     */
    #digest(param, own, row) {
        const other = this.sources[param];
        if (other?.source.kind === 'hex') {
            const bytes = Buffer.alloc(Math.ceil(other.source.bytes / 8) * 8);
            return hash('sha256', randomBytes(other.stream, row, bytes).subarray(0, other.source.bytes), 'hex');
        }
        const value = param < own ? other?.draw(row) : null;
        return hash('sha256', value === null || value === undefined ? '' : String(value), 'hex');
    }
}

function positions(sources, tuples, place) {
    const found = [];
    for (let slot = 0; slot < sources.length * tuples; slot++) {
        const { source } = sources[slot % sources.length];
        if (source.kind === 'yielded') found.push([slot, place(source.name)]);
    }
    return found;
}

function fromTable({ cut, low, width }, stream, row) {
    stream.word(row);
    const upper = stream.upper();
    let from = 0;
    let to = cut.length;
    while (from < to) {
        const middle = (from + to) >>> 1;
        if (upper < cut[middle]) to = middle;
        else from = middle + 1;
    }
    stream.wordAt(row, 1);
    return (low[from] ?? 0) + stream.below(width[from] ?? 1);
}

/** Fills the buffer, whose length is a multiple of eight, with the words of the row in big-endian order. */
function randomBytes(stream, row, bytes) {
    stream.word(row);
    const { hi, lo } = stream;
    for (let at = 0; at < bytes.length; at += 8) {
        if (at > 0) stream.mixed(hi, lo, at / 8);
        bytes.writeInt32BE(stream.hi, at);
        bytes.writeInt32BE(stream.lo, at + 4);
    }
    return bytes;
}

function randomText(stream, row, chars) {
    stream.word(row);
    const first = { hi: stream.hi, lo: stream.lo };
    let { hi, lo } = first;
    for (let at = 0; at < chars.length; at++) {
        if (at > 0 && at % CHARS_PER_WORD === 0) {
            stream.mixed(first.hi, first.lo, at / CHARS_PER_WORD);
            ({ hi, lo } = stream);
        }
        chars[at] = ALPHABET[lo & 63];
        lo = (lo >>> 6) | (hi << 26);
        hi >>>= 6;
    }
    return chars;
}
