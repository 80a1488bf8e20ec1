// HdrHistograms of nanoseconds with the protocol's bounds, and their wire form V2:
// https://github.com/HdrHistogram/HdrHistogram
//
// hdr-histogram-js is used in tests only: its histograms cannot be in memory shared by threads, and its header has an
// index offset of 1 and a ratio that is not a double, which other libraries reject.

import { deflateSync } from 'node:zlib';

const LOWEST = 1;
const HIGHEST = 3_600_000_000_000;
const DIGITS = 3;

const COOKIE = 0x1c849313;
const COMPRESSED_COOKIE = 0x1c849314;

// Three digits need 2048 distinct values from 0 on; above that each power of two has 1024.
const LINEAR = 2048;
const HALF = 1024;
const BUCKETS = Math.floor(Math.log2(HIGHEST)) - 9;

/** Returns the index at which HdrHistogram counts an integer. */
function indexOf(value) {
    if (value < LINEAR) return value;
    if (value < 2 ** 32) {
        const bucket = 21 - Math.clz32(value);
        return bucket * HALF + (value >>> bucket);
    }
    const bucket = 53 - Math.clz32(value / 2 ** 32);
    return bucket * HALF + Math.floor(value / 2 ** bucket);
}

/** A histogram of 33,792 counts, 132 KiB. */
export class Histogram {
    /** Allocates counts that threads can share. */
    static memory() {
        return new Uint32Array(new SharedArrayBuffer(4 * (BUCKETS + 1) * HALF));
    }

    /** @param {Uint32Array} [counts] existing counts to use */
    constructor(counts = new Uint32Array((BUCKETS + 1) * HALF)) {
        this.counts = counts;
    }

    /** Records nanoseconds. Values below 0 count as 0, values above the highest as the highest. */
    record(nanos) {
        this.counts[nanos < 0 ? 0 : indexOf(nanos < HIGHEST ? Math.floor(nanos) : HIGHEST)]++;
    }

    /** Adds all counts of another histogram. */
    merge(other) {
        other.counts.forEach((count, at) => {
            if (count > 0) this.counts[at] += count;
        });
    }

    /** Number of values. */
    get count() {
        return this.counts.reduce((sum, count) => sum + count, 0);
    }

    /** Returns the wire form: base64 of the V2 compressed encoding. */
    encode() {
        const payload = [];
        let zeros = 0;
        for (const count of this.counts) {
            if (count === 0) {
                zeros++;
                continue;
            }
            // A negative number encodes that many zeros; those after the last count are omitted.
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

/** Appends a zigzag-encoded number, seven bits per byte, the lowest first. */
function push(bytes, number) {
    while (number >= 128) {
        bytes.push((number % 128) | 128);
        number = Math.floor(number / 128);
    }
    bytes.push(number);
}

/** Records the time from `start` to `moment`, unless `moment` is null. */
export function note(histogram, moment, start) {
    if (moment !== null) histogram.record(moment - start);
}
