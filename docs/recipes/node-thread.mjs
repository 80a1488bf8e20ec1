// SQLite beside Node's event loop: better-sqlite3 in a worker thread, which owns the connection.
//
// Checked by:
//     litelab doctor app.db --driver better-sqlite3 --dsn app.db --option timeout=5000 --pragma journal_mode=WAL
//         --pragma synchronous=FULL --pragma foreign_keys=1

import { fileURLToPath } from "node:url";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import Database from "better-sqlite3";

// The transactions of the application. Each runs whole, in the thread: no other call comes between its statements.
const transactions = {
    create: (db) => void db.exec("CREATE TABLE IF NOT EXISTS note(id INTEGER PRIMARY KEY, text TEXT NOT NULL)"),
    add: (db, text) => db.prepare("INSERT INTO note(text) VALUES (?)").run(text).lastInsertRowid,
    setting: (db, name) => db.pragma(name, { simple: true }),
};

function serve(path) {
    const db = new Database(path, { timeout: 5000 });
    for (const setting of ["journal_mode = WAL", "synchronous = FULL", "foreign_keys = 1"]) db.pragma(setting);
    parentPort.on("message", ({ id, name, args }) => {
        if (name === "close") {
            db.close();
            return parentPort.close();
        }
        try {
            const value = db.transaction(() => transactions[name](db, ...args)).immediate();
            parentPort.postMessage({ id, value });
        } catch (error) {
            parentPort.postMessage({ id, error });
        }
    });
}

class DatabaseThread {
    #worker;
    #waiting = new Map();
    #next = 0;
    #ended = null;

    constructor(path) {
        this.#worker = new Worker(fileURLToPath(import.meta.url), { workerData: path });
        this.#worker.on("message", ({ id, value, error }) => {
            const { resolve, reject } = this.#waiting.get(id);
            this.#waiting.delete(id);
            error ? reject(error) : resolve(value);
        });
        // Callers that wait get the error; otherwise they would wait for ever.
        const end = (error) => {
            this.#ended ??= error;
            for (const { reject } of this.#waiting.values()) reject(this.#ended);
            this.#waiting.clear();
        };
        this.#worker.on("error", end);
        this.#worker.on("exit", () => end(new Error("the database thread has ended")));
    }

    call(name, ...args) {
        return new Promise((resolve, reject) => {
            if (this.#ended) return reject(this.#ended);
            const id = this.#next++;
            this.#waiting.set(id, { resolve, reject });
            this.#worker.postMessage({ id, name, args });
        });
    }

    close() {
        this.#worker.postMessage({ name: "close" });
    }
}

if (!isMainThread) {
    serve(workerData);
} else {
    const db = new DatabaseThread(process.argv[2]);
    await db.call("create");
    await db.call("add", "a");
    for (const name of ["journal_mode", "synchronous", "busy_timeout", "foreign_keys"]) {
        console.log(name, await db.call("setting", name));
    }
    console.log("ready");
    process.stdin.resume().on("end", () => db.close());
}
