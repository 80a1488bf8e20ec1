// Holds locks of a database for known times: see holder.py beside this file. Needs Node 22.5 or later.

import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";

const db = new DatabaseSync(process.argv[2]);
const now = () => console.log(((performance.timeOrigin + performance.now()) / 1000).toFixed(6));
const sleep = (seconds) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, seconds * 1000);

db.prepare("SELECT count(*) FROM t").all();
console.log("ready");
for await (const line of createInterface({ input: process.stdin })) {
  const [what, seconds] = line.split(" ");
  if (what === "checkpoint") {
    db.exec(`PRAGMA busy_timeout = ${Math.round(seconds * 1000)}`);
    now();
    db.prepare("PRAGMA wal_checkpoint(FULL)").all();
    now();
    continue;
  }
  db.exec(what === "write" ? "BEGIN IMMEDIATE" : "BEGIN");
  db.prepare(what === "write" ? "INSERT INTO t VALUES (1)" : "SELECT count(*) FROM t").all();
  now();
  sleep(seconds);
  now();
  db.exec("COMMIT");
}
