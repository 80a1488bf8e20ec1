// The verb `run`: opens everything, prints `ready`, waits for `go`, ticks while the workers run, prints `result`.

import { check } from './check.mjs';
import { Clock, End } from './clock.mjs';
import { drained } from './drain.mjs';
import { Fault, load } from './driver.mjs';
import { Loop } from './loop.mjs';
import { parse } from './params.mjs';
import { Probe } from './probe.mjs';
import { Progress } from './progress.mjs';
import { Board, encoded } from './record.mjs';
import { Schedule } from './schedule.mjs';
import { stage } from './stage.mjs';
import { Threads } from './threads.mjs';
import { seats } from './worker.mjs';

/**
 * Runs the trial on the first line. If the input ends before `go`, it runs nothing and throws no error.
 *
 * @param {AsyncIterator<string>} lines
 * @param {(message: object) => void} say writes one line
 * @returns {Promise<boolean>} whether a transaction is still running
 */
export async function run(lines, say) {
    const first = await lines.next();
    if (first.done) return false;
    const trial = read(first.value);
    // libuv reads it when the first job is submitted, and not again.
    if (trial.runtime_threads !== null) process.env.UV_THREADPOOL_SIZE = String(trial.runtime_threads);
    const driver = await load(trial.driver);
    check(trial, driver);
    const shared = stage(trial);
    const all = seats(trial);
    const crews = ['threads', 'processes'].includes(trial.executor) ? Threads : Loop;
    const crew = await crews.open(trial, driver, shared, all, first.value);
    const deflates = trial.connection.options.deflate === true;
    const probe = trial.probe_ms > 0 ? await Probe.open(trial.probe_ms, trial.warmup_ms * 1e6, deflates) : null;
    say({ type: 'ready', connections: crew.connections });
    if (!(await told(lines))) return false;

    const go = process.hrtime.bigint();
    const clock = new Clock(go);
    const warm = trial.warmup_ms * 1e6;
    const end = all.map(({ role }) => End.of(trial, trial.roles[role], shared));
    const progress = all.map((seat, at) => new Progress(seat.progress, warm, end[at]));
    const board = new Board(trial, all);
    probe?.start(go);
    const tick = () => say(board.tick(Math.floor(clock.now() / 1e6), probe));
    const stop = every(trial.tick_ms, clock, tick);
    await drained(trial, all, progress, crew.run(go), shared, clock);
    stop();
    // The last tick, so that all ticks add up to the result.
    tick();
    const elapsed = Math.max(0, ...progress.map(({ ended }) => ended));
    const result = outcome(trial, shared, all, board, progress, elapsed, await probe?.stop(elapsed));
    const unfinished = progress.some(({ unfinished }) => unfinished !== null);
    if (!unfinished) result.connections = await crew.close();
    say(result);
    return unfinished;
}

function read(text) {
    try {
        return parse(text);
    } catch (error) {
        throw new Fault(`not a trial: ${error.message}`);
    }
}

/** Returns whether the next line is `go`; false at the end of the input. */
async function told(lines) {
    const line = await lines.next();
    if (line.done) return false;
    let message = null;
    try {
        message = JSON.parse(line.value);
    } catch {
        // Text that is not JSON is not `go` either.
    }
    if (message?.type !== 'go') throw new Fault(`\`${line.value}\` is not go`);
    return true;
}

/** Calls `call` at the multiples of `ms` since `go`, if the loop is free then. Returns a function that ends it. */
function every(ms, clock, call) {
    const period = Math.max(1, ms);
    let timer;
    const wait = () => {
        const now = clock.now() / 1e6;
        timer = setTimeout(ring, (Math.floor(now / period) + 1) * period - now);
    };
    const ring = () => {
        call();
        wait();
    };
    wait();
    return () => clearTimeout(timer);
}

/** Returns the last message. */
function outcome(trial, shared, seats, board, progress, elapsed, probe) {
    const operations = board.operations(progress);
    trial.roles.forEach((role, at) => {
        if (role.load.kind !== 'open' || role.until.kind === 'count') return;
        const end = End.of(trial, role, shared).clip(Infinity);
        const left = progress.filter((worker, of) => seats[of].role === at && worker.leftUnstarted(end)).length;
        // Arrivals belong to the role, not to a step: they count for its first step.
        const whole = operations.find((operation) => operation.role === role.name);
        whole.unserved = left + Schedule.of(trial.seed, role, shared.schedules[at]).rest(end);
    });
    return {
        type: 'result',
        elapsed_ns: Math.round(elapsed),
        measured_ns: Math.max(0, Math.round(elapsed - trial.warmup_ms * 1e6)),
        operations: operations.map(encoded),
        workers: seats.map(({ role, worker, database }, at) => ({
            role: trial.roles[role].name,
            worker,
            database,
            ...board.ofWorker(at),
            ...progress[at].times(),
        })),
        ...probe,
    };
}
