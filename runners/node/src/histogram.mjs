// HdrHistograms of nanoseconds with the protocol's bounds, and their wire form V2:
// https://github.com/HdrHistogram/HdrHistogram
//
// Not those of hdr-histogram-js, which is here to test them: they cannot be in memory that threads share, and their
// header has an index offset of 1 and a ratio that is no double, which other libraries refuse.

import { deflateSync } from 'node:zlib';

const LOWEST = 1;
const HIGHEST = 3_600_000_000_000;
const DIGITS = 3;

const COOKIE = 0x1c849313;
const COMPRESSED_COOKIE = 0x1c849314;

// Three digits need 2048 values told apart from 0 on; from there each power of two has 1024 of its own.
const LINEAR = 2048;
const HALF = 1024;
const BUCKETS = Math.floor(Math.log2(HIGHEST)) - 9;

/** Where HdrHistogram counts a whole number. */
function indexOf(value) {
    if (value < LINEAR) return value;
    if (value < 2 ** 32) {
        const bucket = 21 - Math.clz32(value);
        return bucket * HALF + (value >>> bucket);
    }
    const bucket = 53 - Math.clz32(value / 2 ** 32);
    return bucket * HALF + Math.floor(value / 2 ** bucket);
}

/** 33,792 counts, 132 KiB. */
export class Histogram {
    /** Counts that threads share. */
    static memory() {
        return new Uint32Array(new SharedArrayBuffer(4 * (BUCKETS + 1) * HALF));
    }

    /** @param {Uint32Array} [counts] of another one, taken over */
    constructor(counts = new Uint32Array((BUCKETS + 1) * HALF)) {
        this.counts = counts;
    }

    /** Counts nanoseconds; below 0 as 0, above the highest as that. */
    record(nanos) {
        this.counts[nanos < 0 ? 0 : indexOf(nanos < HIGHEST ? Math.floor(nanos) : HIGHEST)]++;
    }

    /** Adds all counts of another one. */
    merge(other) {
        other.counts.forEach((count, at) => {
            if (count > 0) this.counts[at] += count;
        });
    }

    /** Number of values. */
    get count() {
        return this.counts.reduce((sum, count) => sum + count, 0);
    }

    /** The wire form: base64 of the V2 compressed encoding. */
    encode() {
        const payload = [];
        let zeros = 0;
        for (const count of this.counts) {
            if (count === 0) {
                zeros++;
                continue;
            }
            // A negative number stands for that many zeros; those after the last count are left out.
            if (zeros > 0) push(payload, 2 * zeros - 1);
            push(payload, 2 * count);
            zeros = 0;
        }
        const header = Buffer.alloc(40);
        header.writeInt32BE(COOKIE, 0);
        header.writeInt32BE(payload.length, 4);
        header.writeInt32BE(DIGITS, 12);
        header.writeBigInt64BE(BigInt(LOWEST), 16);
        header.writeBigInt64BE(BigInt(HIGHEST), 24);
        header.writeDoubleBE(1, 32);
        const compressed = deflateSync(Buffer.concat([header, Buffer.from(payload)]));
        const outer = Buffer.alloc(8);
        outer.writeInt32BE(COMPRESSED_COOKIE, 0);
        outer.writeInt32BE(compressed.length, 4);
        return Buffer.concat([outer, compressed]).toString('base64');
    }
}

/** Appends a number that is zigzag-encoded already, seven bits to a byte, the lowest first. */
function push(bytes, number) {
    while (number >= 128) {
        bytes.push((number % 128) | 128);
        number = Math.floor(number / 128);
    }
    bytes.push(number);
}

/** Counts how long it took until something that may not have happened. */
export function note(histogram, moment, start) {
    if (moment !== null) histogram.record(moment - start);
}
