import { Channel } from './channel.mjs';
import { OnewriterError } from './error.mjs';
import { copy, copyRead } from './plan.mjs';

const WRITE = new URL('thread/write.mjs', import.meta.url);
const READ = new URL('thread/read.mjs', import.meta.url);

/** A statement without columns answers with the number of rows that it has changed. */
const outcome = (answer) =>
    typeof answer === 'number' ? { count: answer, rows: [] } : { count: answer.length, rows: answer };

/** A database with one connection that writes and some that read, each in a thread of its own. */
export class Database {
    #options;
    #writer;
    #readers = [];
    #closing;

    constructor(options) {
        this.#options = options;
        this.#writer = new Channel(WRITE, options, true);
    }

    /** @param {object} options complete and checked */
    static async open(options) {
        const database = new Database(options);
        await database.#writer.ready;
        return database;
    }

    /** Number of writes that are not answered. */
    get pending() {
        return this.#writer.pending;
    }

    /** Commits so far, and answered writes. */
    get counts() {
        const { messages, requests } = this.#writer.counts;
        return { commits: messages, writes: requests };
    }

    write(statements) {
        return this.#write(statements, (answers) => answers.map(outcome));
    }

    execute(sql, params) {
        return this.#write([{ sql, params }], ([answer]) => outcome(answer));
    }

    /** One promise for each call: its errors are rejections, too. */
    #write(statements, value) {
        try {
            this.#check(this.pending);
            return this.#writer.ask(copy(statements), value);
        } catch (error) {
            return Promise.reject(error);
        }
    }

    async read(sql, params) {
        this.#check(this.#readers.reduce((sum, { pending }) => sum + pending, 0));
        const request = copyRead(sql, params);
        return this.#reader().ask(request, (rows) => rows);
    }

    async room() {
        return this.#writer.room(this.#options.queue >> 1);
    }

    close() {
        this.#closing ??= this.#close();
        return this.#closing;
    }

    [Symbol.asyncDispose]() {
        return this.close();
    }

    #check(pending) {
        if (this.#closing) throw new OnewriterError('ERR_CLOSED', 'the database is closed');
        if (pending >= this.#options.queue) throw new OnewriterError('ERR_QUEUE_FULL', `${pending} calls are waiting`);
    }

    /** Returns the reader with the fewest pending reads. Starts another one if all are busy and there may be more. */
    #reader() {
        this.#readers = this.#readers.filter(({ isEnded }) => !isEnded);
        const least = this.#readers.reduce((a, b) => (b.pending < a.pending ? b : a), this.#readers[0]);
        if (least && (least.pending === 0 || this.#readers.length >= this.#options.readers)) return least;
        const reader = new Channel(READ, this.#options, false);
        this.#readers.push(reader);
        return reader;
    }

    /** The writer is the last one: only a connection that may write checkpoints and removes the log. */
    async #close() {
        await Promise.all(this.#readers.map((reader) => reader.close()));
        await this.#writer.close();
    }
}
