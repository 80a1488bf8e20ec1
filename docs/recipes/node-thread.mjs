// SQLite beside Node's event loop: better-sqlite3 in two worker threads. One owns the connection that writes, the other
// one that reads.
//
// Checked by:
//     litelab doctor app.db --driver better-sqlite3 --dsn app.db --option timeout=5000 --pragma journal_mode=WAL
//         --pragma synchronous=FULL --pragma foreign_keys=1

import { fileURLToPath } from "node:url";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import Database from "better-sqlite3";

// The transactions of the application. Each runs whole, in its thread: no other call comes between its statements, and
// these are compiled once.
function writes(db) {
    db.exec("CREATE TABLE IF NOT EXISTS note(id INTEGER PRIMARY KEY, text TEXT NOT NULL)");
    const add = db.prepare("INSERT INTO note(text) VALUES (?)");
    return { add: (text) => add.run(text).lastInsertRowid, setting: (name) => db.pragma(name, { simple: true }) };
}

function reads(db) {
    db.pragma("query_only = 1");
    return { setting: (name) => db.pragma(name, { simple: true }) };
}

function serve({ path, write }) {
    const db = new Database(path, { timeout: 5000 });
    for (const setting of ["journal_mode = WAL", "synchronous = FULL", "foreign_keys = 1"]) db.pragma(setting);
    const calls = write ? writes(db) : reads(db);
    const begin = write ? "immediate" : "deferred";
    parentPort.on("message", ({ id, name, args }) => {
        if (name === "close") {
            db.close();
            return parentPort.close();
        }
        let done = "";
        try {
            const value = db.transaction(() => calls[name](...args))[begin]();
            done = "committed, but the result is no plain data: ";
            parentPort.postMessage({ id, value });
        } catch ({ message, code, stack }) {
            // An error loses its code on its way to another thread.
            parentPort.postMessage({ id, error: { message: done + message, code, stack } });
        }
    });
}

class DatabaseThread {
    #worker;
    #waiting = new Map();
    #next = 0;
    #ended = null;
    #exit;

    constructor(path, { write }) {
        this.#worker = new Worker(fileURLToPath(import.meta.url), { workerData: { path, write } });
        this.#worker.on("message", ({ id, value, error }) => {
            const { resolve, reject } = this.#waiting.get(id);
            this.#waiting.delete(id);
            error ? reject(Object.assign(new Error(error.message), error)) : resolve(value);
        });
        // Callers that wait get the error; otherwise they would wait for ever.
        const end = (error) => {
            this.#ended ??= error;
            for (const { reject } of this.#waiting.values()) reject(this.#ended);
            this.#waiting.clear();
        };
        this.#worker.on("error", end);
        this.#exit = new Promise((resolve) => {
            this.#worker.on("exit", () => {
                end(new Error("the database thread has ended"));
                resolve();
            });
        });
    }

    call(name, ...args) {
        return new Promise((resolve, reject) => {
            if (this.#ended) return reject(this.#ended);
            const id = this.#next++;
            this.#waiting.set(id, { resolve, reject });
            this.#worker.postMessage({ id, name, args });
        });
    }

    /** Waits for the calls before it, and until the connection is closed. */
    close() {
        this.#worker.postMessage({ name: "close" });
        return this.#exit;
    }
}

if (!isMainThread) {
    serve(workerData);
} else {
    const writer = new DatabaseThread(process.argv[2], { write: true });
    await writer.call("add", "a");
    // After an answer of the writer: of two threads that switch a new file to WAL at the same moment one fails.
    const reader = new DatabaseThread(process.argv[2], { write: false });
    for (const name of ["journal_mode", "synchronous", "busy_timeout", "foreign_keys"]) {
        console.log(name, ...new Set([await writer.call("setting", name), await reader.call("setting", name)]));
    }
    console.log("ready");
    process.stdin.resume().on("end", async () => {
        await reader.close();
        await writer.close();
    });
}
