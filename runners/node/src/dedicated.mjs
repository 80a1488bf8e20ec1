// The executor `dedicated`: callers are tasks on the main event loop, and each connection has its own thread, to which
// they send their calls. SQLite blocks neither the loop nor libuv's pool; the cost for the loop is one message in each
// direction, with the rows in it.

import { Worker as Thread } from 'node:worker_threads';

import { Fault } from './driver.mjs';
import { job, next } from './work.mjs';

/**
 * The callers' end of a connection. The port is a queue, so calls of several callers may be outstanding; they are
 * answered in order.
 *
 * @implements {import('./driver.mjs').Session}
 */
export class Dedicated {
    #waiting = [];

    /** @returns {Promise<{ session: Dedicated, settings: object }>} like `openConnection` */
    static async open(trial, text, database, at) {
        const thread = new Thread(new URL('owner.mjs', import.meta.url), { workerData: { text, database, at } });
        const session = new Dedicated(trial, thread);
        return { session, settings: await session.#answer() };
    }

    constructor(trial, thread) {
        this.trial = trial;
        this.thread = thread;
        thread.on('message', ({ value, fault }) => {
            const { resolve, reject } = this.#waiting.shift();
            if (fault === undefined) resolve(value);
            else reject(new Fault(fault.message, fault.code));
        });
        thread.on('error', (error) => this.#waiting.splice(0).forEach(({ reject }) => reject(error)));
    }

    #answer() {
        return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
    }

    #ask(...call) {
        this.thread.postMessage(call);
        return this.#answer();
    }

    rows(sql) {
        return this.#ask('rows', sql);
    }

    begin(begin) {
        return this.#ask('begin', begin);
    }

    commit() {
        return this.#ask('commit');
    }

    rollback() {
        return this.#ask('rollback');
    }

    statement(transaction, at) {
        const { work } = this.trial.transactions[transaction].statements[at];
        const task = { job: job(work, null), yields: 0 };
        return async (args, effect) => {
            const { count, rows, first, fault } = await this.#ask('execute', transaction, at, args);
            if (effect.timed) effect.query = effect.clock.now();
            for (let row = 0; row < rows.length; row++) next(task, rows[row], row, effect);
            if (fault !== undefined) throw new Fault(fault.message, fault.code);
            if (first !== null) effect.first = first;
            return count;
        };
    }

    /** Returns this session: the thread runs calls one by one, so callers can share its statements. */
    another() {
        return this;
    }

    async close() {
        await this.#ask('close');
        await this.thread.terminate();
    }
}

/**
 * The thread's end of a connection, for a driver with blocking calls.
 *
 * @param {import('node:worker_threads').MessagePort} port
 * @param {import('./driver.mjs').Session} session prepared for a trial that hands its rows over
 */
export function answer(port, session) {
    const execute = (transaction, at, args) => {
        const left = { timed: false, first: null, rows: [] };
        try {
            const count = session.statement(transaction, at)(args, left);
            return { count, rows: left.rows, first: left.first };
        } catch (error) {
            // The caller checks the rows that came before the error.
            const { message, code } = Fault.from(error);
            return { rows: left.rows, first: null, fault: { message, code } };
        }
    };
    port.on('message', ([method, ...args]) => {
        try {
            port.postMessage({ value: method === 'execute' ? execute(...args) : session[method](...args) });
        } catch (error) {
            const { message, code } = Fault.from(error);
            port.postMessage({ fault: { message, code } });
        }
    });
}
