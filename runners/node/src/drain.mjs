// The end of all roles. A transaction running at the end of its role is awaited for at most the drain.

import { setTimeout } from 'node:timers/promises';

import { End } from './clock.mjs';
import { leave } from './stage.mjs';

/**
 * Milliseconds between two checks of workers that were between transactions at the end of the drain. A call that
 * blocked the loop completes its remaining steps before a timer fires.
 */
const AGAIN_MS = 10;

/**
 * Resolves when every worker has ended or is abandoned, and rejects when one fails.
 *
 * @param {import('./worker.mjs').Seat[]} seats
 * @param {import('./progress.mjs').Progress[]} progress of each worker
 * @param {Promise<void>[]} running the end of each worker
 * @param {import('./clock.mjs').Clock} clock
 */
export async function drained(trial, seats, progress, running, stage, clock) {
    const workers = seats.map(({ role }, at) => {
        const worker = { role, progress: progress[at], over: false };
        worker.ended = running[at].then(() => (worker.over = true));
        return worker;
    });
    const waits = [];
    const ended = (role) => (waits[role] ??= wait(role));

    async function wait(at) {
        const { until } = trial.roles[at];
        if (until.kind === 'role') await ended(trial.roles.findIndex(({ name }) => name === until.name));
        const mine = workers.filter(({ role }) => role === at);
        const all = Promise.all(mine.map(({ ended }) => ended));
        if (until.kind === 'count') return all;
        const late = End.of(trial, trial.roles[at], stage).clip(Infinity) + trial.drain_ms * 1e6;
        while (mine.some(({ over }) => !over)) {
            await Promise.race([all, setTimeout(Math.max(AGAIN_MS, (late - clock.now()) / 1e6))]);
            for (const worker of clock.now() < late ? [] : mine) {
                if (worker.over || !worker.progress.abandon(clock.now())) continue;
                worker.over = true;
                leave(stage, at, clock);
            }
        }
    }

    const all = Promise.all(workers.map(({ ended }) => ended));
    await Promise.race([all, Promise.all(trial.roles.map((_, at) => ended(at)))]);
}
