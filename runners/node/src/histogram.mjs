// HdrHistograms of nanoseconds with the protocol's bounds. hdr-histogram-js writes the wire form; counting is done here,
// for its `recordValue` costs as much as a tenth of a point read.

import hdr from 'hdr-histogram-js';

const BOUNDS = { lowestDiscernibleValue: 1, highestTrackableValue: 3_600_000_000_000, numberOfSignificantValueDigits: 3 };
const HIGHEST = BOUNDS.highestTrackableValue;

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

/** The lowest value counted there. */
function valueAt(index) {
    if (index < LINEAR) return index;
    const bucket = Math.floor(index / HALF) - 1;
    return (index - bucket * HALF) * 2 ** bucket;
}

/** 33,792 counts, 132 KiB; only the pages that are written to take memory. */
export class Histogram {
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
        const wire = hdr.build({ ...BOUNDS, bitBucketSize: 32, autoResize: false });
        this.counts.forEach((count, at) => {
            if (count > 0) wire.recordValueWithCount(valueAt(at), count);
        });
        return hdr.encodeIntoCompressedBase64(wire);
    }
}

/** Counts in a histogram that there may not be a time that there may not be. */
export function note(histogram, nanos) {
    if (histogram !== null && nanos !== null) histogram.record(nanos);
}
