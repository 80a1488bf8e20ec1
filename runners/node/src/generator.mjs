// The counter-based generator of the protocol: SplitMix64 with random access, in two signed 32-bit halves, because a
// BigInt would allocate at every step. A test compares it with the vectors of the protocol.
//
// Rows, seeds and indices are plain numbers, exact up to 2^53.

const GAMMA_HI = 0x9e3779b9 | 0;
const GAMMA_LO = 0x7f4a7c15 | 0;
const TWO32 = 2 ** 32;

/** Returns the upper 32 bits of the product of two unsigned 32-bit integers, computed from their 16-bit digits. */
function high(a, b) {
    const aLo = a & 0xffff;
    const aHi = a >>> 16;
    const bLo = b & 0xffff;
    const bHi = b >>> 16;
    const first = Math.imul(aHi, bLo);
    const second = Math.imul(aLo, bHi);
    const carry = ((first & 0xffff) + (second & 0xffff) + (Math.imul(aLo, bLo) >>> 16)) >>> 16;
    return (Math.imul(aHi, bHi) + (first >>> 16) + (second >>> 16) + carry) | 0;
}

/** The last word, set by every function below: returning a pair would allocate. */
export class Word {
    hi = 0;
    lo = 0;

    /** Computes `mix64(key + n * GAMMA)`; `n` is a number up to 2^53. */
    mixed(keyHi, keyLo, n) {
        const nLo = n | 0;
        const nHi = (n / TWO32) | 0;
        let lo = Math.imul(nLo, GAMMA_LO);
        // `| 0` gives the compiler a range that it does not infer through the call. Otherwise it speculates that the
        // sum stays in that range, which nearly always holds for small `n`, and deoptimises when it does not.
        let hi = ((high(nLo, GAMMA_LO) | 0) + Math.imul(nLo, GAMMA_HI) + Math.imul(nHi, GAMMA_LO)) | 0;
        const sum = (lo + keyLo) | 0;
        hi = (hi + keyHi + (sum >>> 0 < lo >>> 0 ? 1 : 0)) | 0;
        lo = sum;
        lo ^= (lo >>> 30) | (hi << 2);
        hi ^= hi >>> 30;
        hi = (high(lo, 0x1ce4e5b9) + Math.imul(lo, 0xbf58476d) + Math.imul(hi, 0x1ce4e5b9)) | 0;
        lo = Math.imul(lo, 0x1ce4e5b9);
        lo ^= (lo >>> 27) | (hi << 5);
        hi ^= hi >>> 27;
        hi = (high(lo, 0x133111eb) + Math.imul(lo, 0x94d049bb) + Math.imul(hi, 0x133111eb)) | 0;
        lo = Math.imul(lo, 0x133111eb);
        this.lo = lo ^ ((lo >>> 31) | (hi << 1));
        this.hi = hi ^ (hi >>> 31);
    }

    /** The upper 53 bits as an integer. */
    upper() {
        return (this.hi >>> 0) * 2097152 + (this.lo >>> 11);
    }

    /** The upper 53 bits as a fraction in [0, 1). */
    unit() {
        return this.upper() / 2 ** 53;
    }

    /** An integer in [0, width). */
    below(width) {
        return Math.floor(this.unit() * width);
    }
}

/** Returns the 64-bit FNV-1a hash of the text's UTF-8 bytes. */
export function fnv1a64(text) {
    let hash = 0xcbf29ce484222325n;
    for (const byte of Buffer.from(text)) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
    return hash;
}

/** A sequence of words for one seed and one name. */
export class Stream extends Word {
    /**
     * @param {number} seed below 2^53
     * @param {string} name `transaction.param`
     */
    constructor(seed, name) {
        super();
        const gammas = BigInt.asUintN(64, fnv1a64(name) * 0x9e3779b97f4a7c15n);
        const state = BigInt.asUintN(64, BigInt(seed) + gammas);
        this.mixed(Number(state >> 32n) | 0, Number(state & 0xffffffffn) | 0, 0);
        this.keyHi = this.hi;
        this.keyLo = this.lo;
    }

    /** Computes word 0 of a row. */
    word(row) {
        // Row 2^53 - 1 has the factor 2^53, still exact.
        this.mixed(this.keyHi, this.keyLo, row + 1);
    }

    /** Computes word `index` of a row. */
    wordAt(row, index) {
        this.word(row);
        if (index > 0) this.mixed(this.hi, this.lo, index);
    }
}
