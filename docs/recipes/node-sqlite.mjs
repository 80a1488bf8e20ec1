// Connections of an application in Node to SQLite, with node:sqlite (Node 22.16, or 24.0 and later).
//
// Checked by:
//     litelab doctor app.db --driver node:sqlite --dsn app.db --option timeout=5000 --pragma journal_mode=WAL
//         --pragma synchronous=FULL --pragma foreign_keys=1

import { DatabaseSync } from "node:sqlite";

function connect(path) {
    // Milliseconds, 0 by default. While it waits for a lock, the process serves no other request.
    const db = new DatabaseSync(path, { timeout: 5000 });
    db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = 1");
    return db;
}

/** A transaction that writes. It waits for the write lock at its begin, never in its middle. */
function transaction(db, work) {
    db.exec("BEGIN IMMEDIATE");
    try {
        const result = work();
        // It would go on after the commit.
        if (typeof result?.then === "function") throw new TypeError("a transaction must not be async");
        db.exec("COMMIT");
        return result;
    } catch (error) {
        if (db.isTransaction) db.exec("ROLLBACK");
        throw error;
    }
}

const db = connect(process.argv[2]);
db.exec("CREATE TABLE IF NOT EXISTS note(id INTEGER PRIMARY KEY, text TEXT NOT NULL)");
transaction(db, () => db.prepare("INSERT INTO note(text) VALUES (?)").run("a"));
for (const name of ["journal_mode", "synchronous", "busy_timeout", "foreign_keys"]) {
    console.log(name, Object.values(db.prepare(`PRAGMA ${name}`).get())[0]);
}
console.log("ready");
process.stdin.resume().on("end", () => db.close());
