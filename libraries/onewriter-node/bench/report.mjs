// Tables of trials. `node bench/report.mjs FILE` prints those of a file that run.mjs has written.

import { readFileSync } from 'node:fs';

const SUBJECT = 'onewriter, node:sqlite';
const BASELINES = ['better-sqlite3 in a worker', 'node:sqlite'];

function median(values) {
    const sorted = values.toSorted((a, b) => a - b);
    const middle = sorted.length >> 1;
    return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Median and its 95 % interval, by the percentile bootstrap with a fixed seed. */
function estimate(values, resamples = 2_000) {
    let state = 1;
    // Park and Miller's generator (https://doi.org/10.1145/63039.63042).
    const draw = () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
    const resample = () => values.map(() => values[Math.floor(draw() * values.length)]);
    const medians = Array.from({ length: resamples }, () => median(resample())).sort((a, b) => a - b);
    const at = (share) => medians[Math.floor(share * (resamples - 1))];
    return { value: median(values), low: at(0.025), high: at(0.975) };
}

const number = (value) =>
    value >= 10 ? Math.round(value).toLocaleString('en') : Number(value.toPrecision(2)).toString();

/** Ratio of the subject's rate to the best of other layers, in each round. */
function ratio(trials, others) {
    const ratios = [...Map.groupBy(trials, ({ round }) => round).values()].map((round) => {
        const rate = (layer) => round.find((trial) => trial.layer === layer).rate;
        return rate(SUBJECT) / Math.max(...others.map(rate));
    });
    const { value, low, high } = estimate(ratios);
    return `${number(value)} [${number(low)}, ${number(high)}]`;
}

/** Columns of a table, by their heading. */
const COLUMNS = {
    'transactions/s': 'rate',
    'p50 ms': 'p50',
    'p99 ms': 'p99',
    'loop delay p99 ms': 'loop99',
    'loop delay max ms': 'loopMax',
    fairness: 'fairness',
    'CPU µs': 'cpu',
    'per commit': 'perCommit',
};

/** @returns {string} Markdown: medians of the rounds, and ratios with their 95 % interval */
export function report(trials) {
    const lines = [];
    const row = (cells) => lines.push(`| ${cells.join(' | ')} |`);
    const scenario = ({ synchronous, workload, clients }) => `${synchronous}, ${workload}, ${clients} clients`;
    for (const [name, group] of Map.groupBy(trials, scenario)) {
        const rounds = new Set(group.map(({ round }) => round)).size;
        lines.push('', `${name}, ${rounds} rounds`, '');
        row(['layer', ...Object.keys(COLUMNS), `${SUBJECT} ÷ this`]);
        row(['---', ...Object.keys(COLUMNS).map(() => '--:'), '--:']);
        for (const [layer, own] of [...Map.groupBy(group, ({ layer }) => layer)].sort()) {
            const medians = Object.values(COLUMNS).map((key) => number(median(own.map((trial) => trial[key]))));
            row([layer, ...medians, layer === SUBJECT ? '' : ratio(group, [layer])]);
        }
        lines.push('', `${SUBJECT} ÷ the better of ${BASELINES.join(' and ')}: ${ratio(group, BASELINES)}`);
    }
    return lines.join('\n');
}

if (process.argv[1] === import.meta.filename) {
    const text = readFileSync(process.argv[2], 'utf8').trim();
    console.log(report(text.split('\n').map((line) => JSON.parse(line))));
}
