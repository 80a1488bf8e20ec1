// Connections of an application in Node to SQLite, with better-sqlite3.
//
// Checked by:
//     litelab doctor app.db --driver better-sqlite3 --dsn app.db --option timeout=5000 --pragma journal_mode=WAL
//         --pragma synchronous=FULL --pragma foreign_keys=1

import Database from "better-sqlite3";

function connect(path) {
    // Milliseconds. The driver is synchronous: while it waits for a lock, the process serves no other request.
    const db = new Database(path, { timeout: 5000 });
    db.pragma("journal_mode = WAL");
    // In WAL mode this driver's own default is NORMAL.
    db.pragma("synchronous = FULL");
    db.pragma("foreign_keys = 1");
    return db;
}

const db = connect(process.argv[2]);
db.exec("CREATE TABLE IF NOT EXISTS note(id INTEGER PRIMARY KEY, text TEXT NOT NULL)");
// Compiled once: the driver has no cache of statements.
const insert = db.prepare("INSERT INTO note(text) VALUES (?)");
const add = db.transaction((text) => insert.run(text));
// `add(…)` would begin deferred, and fail at once if it read before it wrote while another connection wrote.
add.immediate("a");
for (const name of ["journal_mode", "synchronous", "busy_timeout", "foreign_keys"]) {
    console.log(name, db.pragma(name, { simple: true }));
}
console.log("ready");
process.stdin.resume().on("end", () => db.close());
