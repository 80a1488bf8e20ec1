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
        return receiveMessageOnPort(this.port).message;
    }

    #do(...call) {
        const { fault } = this.#ask(...call);
        if (fault !== undefined) throw new Fault(fault.message, fault.code);
    }

    begin(begin) {
        this.#do('begin', begin);
    }

    commit() {
        this.#do('commit');
    }

    rollback() {
        this.#do('rollback');
    }

    statement(transaction, at) {
        return (args, effect) => {
            const { rows, left, fault } = this.#ask('execute', transaction, at, args, effect.timed);
            effect.verified += left.verified;
            effect.mismatches += left.mismatches;
            if (fault !== undefined) throw new Fault(fault.message, fault.code);
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
    // Rows that were checked before an error are sent with it.
    const execute = async (answer, transaction, at, args, timed) => {
        const left = { timed, query: null, firstRow: null, first: null, verified: 0, mismatches: 0 };
        answer.left = left;
        left.clock = since ??= clock();
        try {
            answer.rows = await session.statement(transaction, at)(args, left);
        } finally {
            delete left.clock;
        }
    };
    port.on('message', async ([method, ...args]) => {
        const answer = {};
        try {
            await (method === 'execute' ? execute(answer, ...args) : session[method](...args));
        } catch (error) {
            const { message, code } = Fault.from(error);
            answer.fault = { message, code };
        }
        port.postMessage(answer);
        Atomics.store(answered, 0, 1);
        Atomics.notify(answered, 0);
    });
}
