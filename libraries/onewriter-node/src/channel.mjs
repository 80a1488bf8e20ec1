// The callers' end of a thread: requests wait in a queue, are sent in batches, and are answered in order.

import { Worker } from 'node:worker_threads';

import { OnewriterError } from './error.mjs';

/** Limits of one batch, which is copied as one message. A larger request is sent by itself. */
const REQUESTS = 256;
const BYTES = 16 << 20;

/**
 * One batch is on its way at a time. Requests that arrive meanwhile make up the next one: the longer a commit takes,
 * the more of them share the next.
 */
export class Channel {
    #thread;
    #uncertain;
    /** Requests that are not sent yet, and those that are, in the order of arrival. */
    #queue = [];
    #sent = [];
    #scheduled = false;
    #closing = false;
    #cause;
    #waiting = [];
    #onReady;
    /** Resolves when the thread has opened its connection; rejects if it could not. */
    ready;
    /** Resolves when the thread has ended, after all requests were answered. */
    ended;
    /** Messages so far in which some request succeeded, and requests answered. */
    counts = { messages: 0, requests: 0 };

    /**
     * @param {URL} program of the thread
     * @param {object} options for the thread
     * @param {boolean} uncertain whether a request that is sent and not answered may have had an effect
     */
    constructor(program, options, uncertain) {
        this.#uncertain = uncertain;
        const thread = (this.#thread = new Worker(program, {
            workerData: options,
            name: 'onewriter',
            // Options of the process may be for its main program only, such as `--input-type`.
            execArgv: [],
        }));
        this.ready = new Promise((resolve, reject) => {
            this.#onReady = { resolve, reject };
        });
        this.ready.catch(() => {});
        thread.on('message', (answers) => this.#receive(answers));
        // The connection could not be opened, or memory ran out.
        thread.on('error', (error) => (this.#cause = error));
        thread.on('messageerror', () => thread.terminate());
        this.ended = new Promise((resolve) => thread.on('exit', () => resolve(this.#end())));
    }

    get isEnded() {
        return this.#thread === null;
    }

    /** Number of requests without an answer. */
    get pending() {
        return this.#queue.length + this.#sent.length;
    }

    /**
     * @param {{ content: unknown, size: number }} request as `copy` returns it
     * @param {(answer: unknown[]) => unknown} value of its answer
     * @returns {Promise<unknown>} the value; rejects with an OnewriterError
     */
    ask({ content, size }, value) {
        return new Promise((resolve, reject) => {
            if (this.isEnded) return reject(this.#error(false));
            if (this.pending === 0) this.#thread.ref();
            this.#queue.push({ content, size, value, resolve, reject });
            this.#schedule();
        });
    }

    /** Resolves when at most `most` requests are pending, or the thread has ended. */
    room(most) {
        if (this.isEnded || this.pending <= most) return Promise.resolve();
        return new Promise((resolve) => this.#waiting.push({ most, resolve }));
    }

    /** Ends the thread after all requests so far. The caller sends none after that. */
    close() {
        if (!this.isEnded) {
            this.#closing = true;
            this.#thread.ref();
            this.#schedule();
        }
        return this.ended;
    }

    /** Callers that were answered together run before the next batch is sent: it contains their next requests. */
    #schedule() {
        if (this.#scheduled || this.#sent.length > 0) return;
        this.#scheduled = true;
        setImmediate(() => {
            this.#scheduled = false;
            if (!this.isEnded) this.#send();
        });
    }

    #send() {
        if (this.#queue.length === 0) {
            if (this.#closing) this.#thread.postMessage(null);
            // Nothing is sent after that.
            this.#scheduled = this.#closing;
            return;
        }
        let count = 0;
        for (let bytes = 0; count < Math.min(REQUESTS, this.#queue.length); count++) {
            bytes += this.#queue[count].size;
            if (count > 0 && bytes > BYTES) break;
        }
        const batch = this.#queue.splice(0, count);
        try {
            this.#thread.postMessage(batch.map(({ content }) => content));
            this.#sent = batch;
        } catch (error) {
            // Too large, or no memory for the copy.
            for (const { reject } of batch) reject(new OnewriterError('ERR_STATEMENT', error.message));
            this.#next();
        }
    }

    #receive(answers) {
        // The first message is empty.
        this.#onReady.resolve();
        if (answers.some(Array.isArray)) this.counts.messages++;
        this.counts.requests += answers.length;
        for (const answer of answers) {
            const { value, resolve, reject } = this.#sent.shift();
            if (Array.isArray(answer)) resolve(value(answer));
            else reject(new OnewriterError(answer.code, answer.message, answer));
        }
        this.#next();
    }

    /** Sends what is left, or lets the process end. */
    #next() {
        this.#release();
        if (this.pending > 0 || this.#closing) this.#schedule();
        else this.#thread.unref();
    }

    #release() {
        const { pending } = this;
        this.#waiting = this.#waiting.filter(({ most, resolve }) => {
            if (pending > most && !this.isEnded) return true;
            resolve();
            return false;
        });
    }

    #end() {
        this.#thread = null;
        this.#onReady.reject(this.#error(false));
        for (const { reject } of this.#sent.splice(0)) reject(this.#error(this.#uncertain));
        for (const { reject } of this.#queue.splice(0)) reject(this.#error(false));
        this.#release();
    }

    #error(uncertain) {
        if (this.#cause instanceof Error) {
            const { code, message } = this.#cause;
            return new OnewriterError(/^SQLITE_|^ERR_OPEN$/.test(code) ? code : 'ERR_THREAD', message, { uncertain });
        }
        if (this.#closing && !uncertain) return new OnewriterError('ERR_CLOSED', 'the database is closed');
        return new OnewriterError('ERR_THREAD', 'the thread of the connection has ended', { uncertain });
    }
}
