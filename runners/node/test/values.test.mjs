// The generator, the parameters and the histogram compared with the vectors of the protocol.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import hdr from 'hdr-histogram-js';

import { codeOf, nameOf } from '../src/codes.mjs';
import { Stream, fnv1a64 } from '../src/generator.mjs';
import { Histogram } from '../src/histogram.mjs';
import { Params, Real, parse, scalar } from '../src/params.mjs';
import { of32Bits, ofDoubles, positional, typed } from '../src/placeholders.mjs';
import { agree } from '../src/work.mjs';
import { statement, transaction } from './runs.mjs';

const protocol = (name) => readFileSync(new URL(`../../../crates/protocol/${name}`, import.meta.url), 'utf8');
const vectors = parse(protocol('vectors/generator.json'));

test('streams and words are those of the vectors', () => {
    for (const { name, fnv1a64: hash } of vectors.streams)
        assert.equal(fnv1a64(name).toString(16).padStart(16, '0'), hash);
    const hex = (half) => (half >>> 0).toString(16).padStart(8, '0');
    for (const { seed, stream: name, row, words } of vectors.words) {
        const stream = new Stream(seed, name);
        const drawn = words.map((_, at) => {
            stream.wordAt(row, at);
            return hex(stream.hi) + hex(stream.lo);
        });
        assert.deepEqual(drawn, words, `seed ${seed}, row ${row}`);
    }
    assert.ok(vectors.words.some(({ row }) => row > 2 ** 32));
});

test('values are those of the vectors', () => {
    const all = { params: vectors.params, name: vectors.transaction, statements: [] };
    const bound = (value) => (value instanceof Real ? value.value : value);
    for (const integers of ['number', 'bigint']) {
        for (const { seed, row, worker, values } of vectors.draws) {
            const params = new Params(seed, all, worker, integers, () => 0);
            const drawn = params.sources.map(({ draw }) => draw(row));
            assert.deepEqual(
                drawn.map((value) => (typeof value === 'bigint' ? Number(value) : value)),
                values.map(bound),
                `seed ${seed}, row ${row}`,
            );
        }
    }
});

test('an operation draws its own rows, by repetition and tuple', () => {
    const spec = transaction('t', { n: { kind: 'sequence', start: 0, step: 1 }, y: { kind: 'yielded', name: 'id' } }, [
        statement('', [0, 1], { repeat: 2, tuples: 3 }),
    ]);
    const params = new Params(1, spec, 0, 'number', () => 1);
    params.draw(5);
    assert.deepEqual(params.args(0, 0, [null, 'x']), [30, 'x', 31, 'x', 32, 'x']);
    assert.deepEqual(params.args(0, 1, [null, null]), [33, null, 34, null, 35, null]);
});

test('a sequence beyond 2^53 wraps as a 64-bit integer', () => {
    const spec = transaction('t', { n: { kind: 'sequence', start: 7, step: 2 ** 52 } }, [statement('', [0])]);
    const [{ draw }] = new Params(1, spec, 0, 'bigint', () => 0).sources;
    assert.equal(draw(2), BigInt.asIntN(64, 7n + 2n ** 53n));
    assert.equal(draw(2 ** 12), 7n);
});

test('a number keeps the type in which it was written', () => {
    const { source } = parse('{"source":{"kind":"choice","values":[2.0, 2, 1e3, "2.0"]}}');
    assert.deepEqual(source.values, [new Real(2), 2, new Real(1000), '2.0']);
    // A whole one is an integer beyond 2^53, too.
    const large = parse('{"kind":"choice","values":[1000000000000000000, -9223372036854775808, 1e18]}');
    assert.deepEqual(
        large.values.map((value) => scalar(value, BigInt)),
        [10n ** 18n, -(2n ** 63n), 1e18],
    );
});

test('a histogram is that of the vectors', () => {
    const { values, quantiles, encoded } = JSON.parse(protocol('vectors/histogram.json'));
    const histogram = new Histogram();
    values.forEach((value) => histogram.record(value));
    const read = hdr.decodeFromCompressedBase64(histogram.encode());
    const theirs = hdr.decodeFromCompressedBase64(encoded);
    assert.equal(read.totalCount, values.length);
    for (const [q, value] of quantiles) {
        assert.equal(read.getValueAtPercentile(q * 100), value, `quantile ${q}`);
        assert.equal(theirs.getValueAtPercentile(q * 100), value);
    }
});

test('a histogram counts where the library does, over its whole range', () => {
    const library = hdr.build({
        lowestDiscernibleValue: 1,
        highestTrackableValue: 3_600_000_000_000,
        numberOfSignificantValueDigits: 3,
    });
    const ours = new Histogram();
    for (let value = 0; value < 3.6e12; value = Math.ceil(value * 1.037 + 1)) {
        library.recordValue(value);
        ours.record(value + 0.9);
    }
    ours.counts.forEach((count, at) => assert.equal(count, library.getCountAtIndex(at), `index ${at}`));
});

test('a histogram takes what is too long, and adds up', () => {
    const one = new Histogram();
    const other = new Histogram();
    one.record(-1);
    other.record(1e15);
    other.record(3);
    one.merge(other);
    assert.equal(one.count, 3);
    const read = hdr.decodeFromCompressedBase64(one.encode());
    assert.deepEqual([read.totalCount, read.getValueAtPercentile(50)], [3, 3]);
    assert.ok(read.maxValue >= 3.6e12);
});

test("the table of result codes is the protocol's", () => {
    const table = JSON.parse(protocol('result-codes.json'));
    assert.deepEqual(JSON.parse(readFileSync(new URL('../src/result-codes.json', import.meta.url), 'utf8')), table);
    assert.deepEqual(
        [nameOf(517), nameOf(5 | (99 << 8)), nameOf(200)],
        ['SQLITE_BUSY_SNAPSHOT', 'SQLITE_BUSY', 'SQLITE_UNKNOWN'],
    );
    assert.equal(codeOf('SQLITE_FULL'), 13);
});

test('placeholders are found outside of text, names and comments only', () => {
    const sql = `SELECT '?1', "?1", ?2 /* ?1 */, ?1 -- ?1\n, ?2`;
    assert.deepEqual(positional(sql), { text: `SELECT '?1', "?1", ? /* ?1 */, ? -- ?1\n, ?`, order: [1, 0, 1] });
    assert.equal(positional('VALUES (?1, ?2)').order, null);
    const params = [{ source: { kind: 'uniform', low: 1, high: 9 } }, { source: { kind: 'hex', bytes: 1 } }];
    const two = { sql: 'VALUES (?1, ?2), (?3, ?4)', bind: [0, 1] };
    assert.equal(typed(two, params, ofDoubles), 'VALUES (+CAST(?1 AS INTEGER), ?2), (+CAST(?3 AS INTEGER), ?4)');
    assert.equal(typed(two, params, of32Bits), two.sql);
});

test('only the right hash agrees', () => {
    // SHA-256 of no bytes, and of "abc" (FIPS 180-4 examples).
    const abc = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';
    assert.ok(agree('', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'));
    assert.ok(agree('616263', abc.toUpperCase()));
    for (const [digits, hash] of [
        ['616262', abc],
        ['61626', abc],
        ['61626g', abc],
        ['616263', abc.slice(1)],
        [null, abc],
        ['616263', null],
    ]) {
        assert.ok(!agree(digits, hash), `${digits} ${hash}`);
    }
});
