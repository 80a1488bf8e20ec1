// A connection in another thread, which is how threads of Node.js share one: each call is one message in each
// direction.

import { receiveMessageOnPort } from 'node:worker_threads';

import { Fault } from './driver.mjs';

/**
 * The worker's end. It blocks until the answer arrives, even if the driver is asynchronous in its own thread.
 *
 * @implements {import('./driver.mjs').Session}
 */
export class Remote {
    constructor({ port, answered }) {
        this.port = port;
        this.answered = answered;
    }

    #ask(...call) {
        Atomics.store(this.answered, 0, 0);
        this.port.postMessage(call);
        // The notification of the previous answer may arrive now, and wake this wait.
        while (Atomics.load(this.answered, 0) === 0) Atomics.wait(this.answered, 0, 0);
        const { value, fault } = receiveMessageOnPort(this.port).message;
        if (fault !== undefined) throw new Fault(fault.message, fault.code);
        return value;
    }

    begin(begin) {
        this.#ask('begin', begin);
    }

    commit() {
        this.#ask('commit');
    }

    rollback() {
        this.#ask('rollback');
    }

    statement(transaction, at) {
        return (args, effect) => {
            const { rows, left } = this.#ask('execute', transaction, at, args, effect.timed);
            effect.verified += left.verified;
            effect.mismatches += left.mismatches;
            effect.query ??= left.query;
            effect.firstRow ??= left.firstRow;
            effect.first = left.first;
            return rows;
        };
    }
}

/**
 * The connection's end.
 *
 * @param {import('./driver.mjs').Session} session
 * @param {() => object} clock returns the clock for timed statements; callable after `go` only
 */
export function serve({ port, answered }, session, clock) {
    let since = null;
    const execute = async (transaction, at, args, timed) => {
        const left = { timed, query: null, firstRow: null, first: null, verified: 0, mismatches: 0 };
        left.clock = since ??= clock();
        const rows = await session.statement(transaction, at)(args, left);
        delete left.clock;
        return { rows, left };
    };
    port.on('message', async ([method, ...args]) => {
        let answer;
        try {
            answer = { value: await (method === 'execute' ? execute(...args) : session[method](...args)) };
        } catch (error) {
            const { message, code } = Fault.from(error);
            answer = { fault: { message, code } };
        }
        port.postMessage(answer);
        Atomics.store(answered, 0, 1);
        Atomics.notify(answered, 0);
    });
}
