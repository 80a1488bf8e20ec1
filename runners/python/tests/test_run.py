"""Whole trials: counts agree with the file."""

import json
import sqlite3
import tempfile
import time
import unittest

import apsw
from hdrh.histogram import HdrHistogram

from . import runs
from .runs import INSERT, READ, Outcome, made, param, query, role, seen, statement, transaction, trial, tried

DRIVERS = ("sqlite3", "apsw", "aiosqlite")
SHARINGS = [
    {"kind": "own-connection"}, {"kind": "one-connection"}, {"kind": "pool", "connections": 2}, {"kind": "app-lock"},
    {"kind": "writer-readers", "readers": 2},
]  # fmt: skip
BUSY = [*runs.WAL, runs.pragma("busy_timeout", "5000")]


def connection(**given) -> dict:
    return {"settings": BUSY, "read_back": [], "options": {}, **given}


def count(encoded: str | None) -> int | None:
    return encoded and HdrHistogram.decode(encoded).get_total_count()


class Runs(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def made(self, rows: int = 0, **given):
        return made(self.directory, rows, **given)

    def failed(self, trial: dict) -> dict:
        said, code = runs.lines(trial)
        self.assertEqual((said[-1]["type"], code), ("failed", 1), said[-1])
        return said[-1]


class Sharings(Runs):
    def test_counts_are_the_rows_in_the_file(self):
        for driver in DRIVERS:
            for sharing in SHARINGS:
                with self.subTest(driver=driver, sharing=sharing["kind"]):
                    self.one(driver, sharing)

    def one(self, driver: str, sharing: dict):
        path = self.made()
        roles = [
            role("writers", [0], 3, {"transactions": 100}),
            role("readers", [1], 2, {"name": "writers"}, first_worker=3),
        ]
        given = {"sharing": sharing, "connection": connection(read_back=["journal_mode", "busy_timeout"])}
        outcome = Outcome(trial(driver, path, [INSERT, READ], roles, **given))
        connections = outcome.ready["connections"]
        self.assertEqual(
            len(connections), {"own-connection": 5, "one-connection": 1, "pool": 2, "app-lock": 5, "writer-readers": 3}[sharing["kind"]]
        )
        for settings in connections:
            self.assertEqual(settings["settings"], {"journal_mode": "wal", "busy_timeout": 5000})
        insert, read = outcome.operation("writers", "insert"), outcome.operation("readers", "read")
        self.assertEqual((insert["committed"], insert["measured"], insert["rows"]), (100, 100, 100))
        self.assertEqual(insert["errors"], {})
        self.assertEqual(count(insert["service"]), 100)
        waits = sharing["kind"] != "own-connection"
        self.assertEqual(count(insert["timers"].get("wait")), 100 if waits else None)
        self.assertEqual("wait" in read["timers"], waits and sharing["kind"] != "app-lock")
        self.assertEqual(count(read["timers"]["query"]), read["committed"])
        self.assertEqual(count(read["timers"]["first_row"]), read["rows"])
        self.assertEqual(outcome.ticked("committed"), insert["committed"] + read["committed"])
        # Three workers share a hundred: 34, 33 and 33.
        shares = [w["committed"] for w in outcome.result["workers"] if w["role"] == "writers"]
        self.assertEqual(shares, [34, 33, 33])
        self.assertEqual([w["worker"] for w in outcome.result["workers"]], [0, 1, 2, 3, 4])
        self.assertEqual(query(path, "SELECT id, k, v FROM kv ORDER BY id"), runs.drawn(INSERT, 100))
        self.assertFalse(path.with_name("test.db-wal").exists(), "a connection is still open")
        self.assertGreater(count(outcome.result["timers"]["probe"]) + 1, 0)

    def test_two_databases_with_all_roles(self):
        for driver in DRIVERS:
            paths = [self.made(), self.made()]
            databases = [{"kind": "file", "path": str(path)} for path in paths]
            roles = [role("writers", [0], 2, {"transactions": 11})]
            outcome = Outcome(trial(driver, "", [INSERT], roles, databases=databases, connection=connection()))
            self.assertEqual([query(path, "SELECT count(*) FROM kv") for path in paths], [[(11,)], [(11,)]])
            self.assertEqual(outcome.operation("writers", "insert")["committed"], 22)
            self.assertEqual([w["database"] for w in outcome.result["workers"]], [0, 0, 1, 1])

    def test_a_part_of_the_workers_does_its_part(self):
        path = self.made()
        part = role("writers", [0], 1, {"transactions": 10}, first_worker=6, first_in_role=2, workers_in_role=4)
        part["steps"][0]["stride"] = 4
        outcome = Outcome(trial("sqlite3", path, [INSERT], [part], executor="processes"))
        self.assertEqual(query(path, "SELECT id FROM kv"), [(3,), (7,)])
        self.assertEqual(outcome.result["workers"][0]["worker"], 6)

    def test_noop_does_everything_but_the_database(self):
        roles = [role("all", [0, 1], 2, {"transactions": 500})]
        outcome = Outcome(trial("noop", "/nowhere", [INSERT, READ], roles))
        self.assertEqual(outcome.operation("all", "insert")["committed"], 250)
        self.assertEqual(count(outcome.operation("all", "read")["timers"]["first_row"]), 250)

    def test_memory(self):
        for driver in DRIVERS:
            # apsw's SQLite is built without the shared cache; see the next test.
            for shared in (False,) if driver == "apsw" else (True, False):
                with self.subTest(driver=driver, shared=shared):
                    copy = self.made().with_name(f"{driver}{shared}.db")
                    memory = {"kind": "memory", "shared": shared, "name": "one"}
                    setup = {"setup": [runs.SCHEMA], "teardown": [f"VACUUM INTO '{copy}'"]}
                    sharing = {"kind": "writer-readers", "readers": 1} if shared else {"kind": "one-connection"}
                    retry = {"attempts": 100_000, "backoff_us": 50, "multiplier": 1.0, "max_backoff_us": 50}
                    given = {
                        "databases": [{**memory, **setup}], "sharing": sharing,
                        "retry": {**retry, "on": ["SQLITE_LOCKED"]}, "connection": connection(settings=[]),
                    }  # fmt: skip
                    roles = [role("w", [0], 2, {"transactions": 50}), role("r", [1], 2, {"transactions": 50})]
                    outcome = Outcome(trial(driver, "", [INSERT, READ], roles, **given))
                    self.assertEqual(query(copy, "SELECT count(*) FROM kv"), [(50,)])
                    self.assertEqual(outcome.operation("w", "insert")["committed"], 50)

    def test_a_shared_memory_database_that_would_not_be_shared(self):
        memory = {"kind": "memory", "shared": True, "name": "one", "setup": [runs.SCHEMA], "teardown": []}
        said = self.failed(trial("apsw", "", [INSERT], [role("w", [0], 1, {"transactions": 1})], databases=[memory]))
        self.assertIn("OMIT_SHARED_CACHE", said["reason"])

    def test_a_private_memory_database_has_one_connection(self):
        memory = {"kind": "memory", "shared": False, "name": "one", "setup": [runs.SCHEMA], "teardown": []}
        said = self.failed(trial("sqlite3", "", [INSERT], [role("w", [0], 2, {"transactions": 1})], databases=[memory]))
        self.assertIn("private", said["reason"])


class Statements(Runs):
    def run_one(self, driver: str, rows: int, *transactions: dict, n: int = 10, **given) -> tuple[Outcome, object]:
        path = self.made(rows)
        roles = [role("r", list(range(len(transactions))), 1, {"transactions": n})]
        return Outcome(trial(driver, path, list(transactions), roles, **given)), path

    def test_batches_and_tuples(self):
        sql = "INSERT INTO kv(id, k, v) VALUES (?1, 0, 'x'), (?2, 0, 'x')"
        for driver in DRIVERS:
            for repeat in (1, 5):
                ids = [param("id", "sequence", start=1, step=1)]
                batch = transaction("b", ids, statement(sql, [0], tuples=2, repeat=repeat), begin="immediate")
                outcome, path = self.run_one(driver, 0, batch)
                self.assertEqual(
                    query(path, "SELECT count(*), min(id), max(id) FROM kv"), [(20 * repeat, 1, 20 * repeat)]
                )
                self.assertEqual(outcome.operation("r", "b")["rows"], 20 * repeat)

    def test_rows_changed(self):
        cases = {
            "UPDATE kv SET k = k + 1 WHERE id <= 3": 3,
            "WITH few AS (SELECT 1 AS i) DELETE FROM kv WHERE id = 1000 + (SELECT i FROM few)": 0,
            "WITH few AS (SELECT 1 AS i) UPDATE kv SET k = 2 WHERE id = (SELECT i FROM few)": 1,
            "-- why\n /* not */ REPLACE INTO kv VALUES (1, 2, 'x')": 1,
            "CREATE TABLE IF NOT EXISTS other(x)": 0,
            "UPDATE kv SET k = 0 WHERE id IN (1, 2) RETURNING id": 2,
        }
        for driver in DRIVERS:
            for sql, rows in cases.items():
                with self.subTest(driver=driver, sql=sql):
                    outcome, _ = self.run_one(driver, 10, transaction("t", [], statement(sql, [])))
                    self.assertEqual(outcome.operation("r", "t")["rows"], 10 * rows)

    def test_prepare_once_and_each(self):
        for driver in DRIVERS:
            for prepare in ("once", "each"):
                outcome, path = self.run_one(driver, 0, INSERT, prepare=prepare)
                self.assertEqual(query(path, "SELECT count(*) FROM kv"), [(10,)])

    def test_each_fetch(self):
        for driver in DRIVERS:
            for fetch, rows in (("none", 20), ("first", 1), ("all", 20), ("buffer", 20)):
                with self.subTest(driver=driver, fetch=fetch):
                    select = statement("SELECT id, k FROM kv ORDER BY id", [], fetch=fetch)
                    outcome, _ = self.run_one(driver, 20, transaction("t", [], select, writes=False))
                    operation = outcome.operation("r", "t")
                    self.assertEqual(operation["rows"], 10 * rows)
                    timed = 10 if fetch in ("all", "buffer") else None
                    self.assertEqual([count(operation["timers"].get(key)) for key in ("query", "first_row")], [timed, timed])

    def test_verifying(self):
        hashed = [
            param("v", "hex", bytes=40),
            param("hash", "sha256-of", param=0),
            param("id", "sequence", start=1, step=1),
        ]
        schema = "CREATE TABLE kv(id INTEGER PRIMARY KEY, k TEXT, v TEXT)"
        insert = transaction("i", hashed, statement("INSERT INTO kv VALUES (?1, ?2, ?3)", [2, 1, 0]))
        work = {"kind": "verify", "value": "v", "hash": "k"}
        for driver in DRIVERS:
            for fetch in ("all", "buffer"):
                path = self.made(schema=schema)
                Outcome(trial(driver, path, [insert], [role("r", [0], 1, {"transactions": 30})]))
                spoiler = sqlite3.connect(path)
                spoiler.execute("UPDATE kv SET v = 'x' || substr(v, 2) WHERE id = 4")
                spoiler.execute("UPDATE kv SET k = NULL WHERE id = 9")
                spoiler.commit()
                spoiler.close()
                scan = transaction("s", [], statement("SELECT * FROM kv", [], fetch=fetch, work=work), writes=False)
                outcome = Outcome(trial(driver, path, [scan], [role("r", [0], 1, {"transactions": 2})]))
                operation = outcome.operation("r", "s")
                self.assertEqual(operation["counters"], {"verified": 60, "mismatches": 4})

    def test_yields_required_and_empty(self):
        """A queue: claim the lowest, mark it done; after the last one the claim is empty and repeats."""
        claim = statement(
            "UPDATE kv SET k = -1 WHERE id = (SELECT min(id) FROM kv WHERE k >= 0) RETURNING id, v", [],
            fetch="first", yields=["id", "v"], required=True,
        )  # fmt: skip
        done = [param("id", "yielded", name="id"), param("v", "yielded", name="v")]
        finish = statement("UPDATE kv SET v = 'done ' || ?2 WHERE id = ?1", [0, 1])
        for driver in DRIVERS:
            for begin in ("none", "immediate"):
                with self.subTest(driver=driver, begin=begin):
                    claims = transaction("claim", [], claim, begin=begin)
                    outcome, path = self.run_one(driver, 5, claims, transaction("finish", done, finish), n=20)
                    claimed, finished = outcome.operation("r", "claim"), outcome.operation("r", "finish")
                    self.assertEqual((claimed["committed"], claimed["empty"], finished["committed"]), (5, 10, 5))
                    self.assertEqual(query(path, "SELECT DISTINCT k, v FROM kv"), [(-1, "done v")])

    def test_a_value_is_bound_in_a_later_statement(self):
        read = statement("SELECT max(id) AS top FROM kv", [], fetch="first", yields=["top"])
        write = statement("UPDATE kv SET k = 77 WHERE id = ?1", [0])
        both = transaction("t", [param("top", "yielded", name="top")], read, write, begin="immediate")
        for driver in DRIVERS:
            outcome, path = self.run_one(driver, 8, both, n=1)
            self.assertEqual(query(path, "SELECT id FROM kv WHERE k = 77"), [(8,)])

    def test_a_transaction_that_is_rolled_back_yields_nothing(self):
        """A later one binds what the last commit has yielded."""
        take = transaction("take", [], statement("SELECT 8 AS top", [], fetch="first", yields=["top"]))
        spoiled = statement("SELECT 5 AS top", [], fetch="first", yields=["top"])
        spoil = transaction("spoil", [], spoiled, statement("INSERT INTO kv(id) VALUES (1)", []), begin="immediate")
        write = statement("UPDATE kv SET k = 77 WHERE id = ?1", [0])
        use = transaction("use", [param("top", "yielded", name="top")], write)
        for driver in DRIVERS:
            with self.subTest(driver=driver):
                path = self.made(8)
                once = role("r", [0, 1, 2], 1, {"transactions": 3})
                outcome = Outcome(trial(driver, path, [take, spoil, use], [once]))
                self.assertEqual(outcome.operation("r", "spoil")["failed"], 1)
                self.assertEqual(query(path, "SELECT id FROM kv WHERE k = 77"), [(8,)])

    def test_a_wrong_statement_fails_before_ready(self):
        cases = {
            "SELECT nothing FROM kv": "SQLITE_ERROR",
            "INSERT INTO kv VALUES (?1, ?2, ?3)": None,
            "SELECT id FROM kv WHERE id = ?1 AND 1 = 'x": "SQLITE_ERROR",
        }
        for driver in DRIVERS:
            for sql, code in cases.items():
                path = self.made()
                wrong = transaction("t", [param("w", "worker")], statement(sql, [0]))
                said, _ = runs.lines(trial(driver, path, [wrong], [role("r", [0], 1, {"transactions": 1})]))
                self.assertEqual([line["type"] for line in said], ["failed"])
                self.assertEqual(said[0]["code"], code, said)
                self.assertNotIn("\n", said[0]["reason"])

    def test_weights(self):
        path = self.made()
        weighted = role("r", [0, 1], 1, {"transactions": 400}, order="weighted")
        weighted["steps"][1]["weight"] = 3
        outcome = Outcome(trial("sqlite3", path, [INSERT, READ], [weighted]))
        # 400 draws with probability 1/4: mean 100, standard deviation 8.7.
        self.assertTrue(60 < outcome.operation("r", "insert")["committed"] < 140)
        self.assertEqual(outcome.ticked("committed"), 400)


class Errors(Runs):
    def test_a_constraint_by_its_extended_name(self):
        for driver in DRIVERS:
            path = self.made(schema="CREATE TABLE kv(id INTEGER, k INTEGER, v TEXT UNIQUE)")
            same = transaction("t", [], statement("INSERT INTO kv VALUES (1, 1, 'same')", []), begin="immediate")
            roles = [role("r", [0], 1, {"transactions": 5})]
            outcome = Outcome(trial(driver, path, [same], roles))
            operation = outcome.operation("r", "t")
            self.assertEqual((operation["committed"], operation["failed"]), (1, 4))
            self.assertEqual(seen(operation), {"SQLITE_CONSTRAINT_UNIQUE": (4, 0)})
            message = operation["errors"]["SQLITE_CONSTRAINT_UNIQUE"]["message"]
            self.assertIn("UNIQUE constraint failed: kv.v", message)
            self.assertEqual((outcome.ticked("errors"), outcome.ticked("failed")), (4, 4))
            self.assertEqual(query(path, "SELECT count(*) FROM kv"), [(1,)])

    def test_an_error_within_a_batch_undoes_it(self):
        ids = [param("id", "choice", values=[1])]
        batch = transaction("t", ids, statement("INSERT INTO kv VALUES (?1, 1, 'x')", [0], repeat=3), begin="immediate")
        for driver in DRIVERS:
            path = self.made()
            outcome = Outcome(trial(driver, path, [batch], [role("r", [0], 1, {"transactions": 2})]))
            operation = outcome.operation("r", "t")
            self.assertEqual(seen(operation), {"SQLITE_CONSTRAINT_PRIMARYKEY": (2, 0)})
            self.assertEqual(query(path, "SELECT count(*) FROM kv"), [(0,)])

    def test_rows_before_an_error_are_not_counted(self):
        """The second row raises an error: reading one row succeeds, reading three fails after the first."""
        sql = "SELECT iif(id = 2, abs(-9223372036854775807 - 1), id) FROM kv WHERE id <= ?1 ORDER BY id"
        fetch = statement(sql, [0], fetch="all", work={"kind": "read"})
        read = transaction("read", [param("n", "choice", values=[1, 3])], fetch, writes=False)
        for driver in DRIVERS:
            for timed, attempts in ((False, 1), (False, 2), (True, 2)):
                path = self.made(rows=3)
                retry = {"attempts": attempts, "backoff_us": 0, "multiplier": 1.0, "max_backoff_us": 0, "on": ["SQLITE_ERROR"]}
                reads = [{**read, "timed_rows": timed}]
                roles = [role("r", [0], 1, {"transactions": 200})]
                operation = Outcome(trial(driver, path, reads, roles, retry=retry)).operation("r", "read")
                failed = operation["failed"]
                self.assertTrue(50 < failed < 150, failed)
                self.assertEqual((operation["committed"], operation["rows"]), (200 - failed, 200 - failed))
                self.assertEqual(seen(operation), {"SQLITE_ERROR": (attempts * failed, 0)})
                self.assertEqual(count(operation["service"]), 200 - failed)

    def test_busy_and_retries(self):
        """Another connection holds the write lock at first: enough attempts cure all errors, too few fail."""
        given = {"backoff_us": 20_000, "multiplier": 1.0, "max_backoff_us": 20_000, "on": ["SQLITE_BUSY"]}
        settings = [runs.pragma("busy_timeout", "0")]
        for driver in DRIVERS:
            for attempts, cured in ((1, False), (500, True)):
                path = self.made()
                writing = dict(INSERT, begin="immediate")
                roles = [role("r", [0], 1, {"transactions": 1})]
                retry = {**given, "attempts": attempts}
                request = trial(driver, path, [writing], roles, retry=retry, connection=connection(settings=settings))
                [operation] = runs.locked(request, path)["operations"]
                [(name, errors)] = operation["errors"].items()
                self.assertEqual(name, "SQLITE_BUSY")
                self.assertEqual(operation["committed"], int(cured))
                self.assertEqual(errors["cured"], errors["seen"] if cured else 0)
                self.assertGreaterEqual(errors["seen"], 1)

    def test_a_stale_snapshot(self):
        """Two workers read, pause, and write in a deferred transaction: the second to write is too late."""
        read = statement("SELECT k FROM kv WHERE id = 1", [], fetch="first", hold_us=20_000)
        write = statement("UPDATE kv SET k = k + 1 WHERE id = 1", [])
        upgrade = transaction("t", [], read, write, begin="deferred")
        given = {"backoff_us": 1_000, "multiplier": 2.0, "max_backoff_us": 50_000, "attempts": 10_000}
        for driver in DRIVERS:
            roles = [role("r", [0], 2, {"transactions": 10})]
            retry = {**given, "on": ["SQLITE_BUSY"]}
            # On a busy machine one may end before the other begins, but not in every attempt.
            for _ in range(5):
                path = self.made(1)
                outcome = Outcome(trial(driver, path, [upgrade], roles, retry=retry, connection=connection()))
                operation = outcome.operation("r", "t")
                self.assertEqual(operation["committed"], 10)
                self.assertEqual(query(path, "SELECT k FROM kv"), [(10,)])
                if "SQLITE_BUSY_SNAPSHOT" in operation["errors"]:
                    break
            self.assertIn("SQLITE_BUSY_SNAPSHOT", operation["errors"])


class Loads(Runs):
    @tried
    def test_an_open_load_keeps_its_schedule(self):
        for driver in DRIVERS:
            path = self.made()
            load = {"kind": "open", "rate": 100.0, "arrivals": "constant"}
            roles = [role("r", [0], 2, {"ms": 500}, load=load)]
            outcome = Outcome(trial(driver, path, [INSERT], roles, connection=connection()))
            operation = outcome.operation("r", "insert")
            self.assertEqual(operation["committed"] + operation["unserved"], 50)
            self.assertGreaterEqual(operation["committed"], 45)
            self.assertEqual([count(operation["timers"][key]) for key in ("response", "lag")], [operation["committed"]] * 2)
            self.assertEqual(query(path, "SELECT count(*) FROM kv"), [(operation["committed"],)])
            self.assertGreaterEqual(outcome.result["elapsed_ns"], 500_000_000)

    @tried
    def test_an_overload_is_late_and_unserved(self):
        path = self.made()
        load = {"kind": "open", "rate": 200.0, "arrivals": "poisson"}
        slow = dict(INSERT, hold_us=20_000, begin="immediate")
        outcome = Outcome(trial("sqlite3", path, [slow], [role("r", [0], 1, {"ms": 400}, load=load)]))
        operation = outcome.operation("r", "insert")
        self.assertLess(operation["committed"], 21)
        self.assertGreater(operation["unserved"], 20)
        late = HdrHistogram.decode(operation["timers"]["lag"]).get_max_value()
        self.assertGreater(late, 100_000_000)

    @tried
    def test_the_warm_up_counts_and_is_not_measured(self):
        path = self.made()
        roles = [role("r", [0], 1, {"ms": 300}, load={"kind": "closed", "think_us": 1000})]
        outcome = Outcome(trial("apsw", path, [INSERT], roles, warmup_ms=150))
        operation, [worker] = outcome.operation("r", "insert"), outcome.result["workers"]
        self.assertEqual(query(path, "SELECT count(*) FROM kv"), [(operation["committed"],)])
        self.assertTrue(0 < operation["measured"] < operation["committed"] * 0.9, operation["measured"])
        measured = outcome.result["measured_ns"]
        self.assertEqual(outcome.result["elapsed_ns"] - 150_000_000, measured)
        self.assertAlmostEqual(worker["inside_ns"] + worker["outside_ns"], measured, delta=1_000_000)

    @tried
    def test_silence_is_broken_by_ticks(self):
        path = self.made()
        slow = dict(INSERT, hold_us=300_000, begin="immediate")
        outcome = Outcome(trial("sqlite3", path, [slow], [role("r", [0], 1, {"transactions": 1})]))
        self.assertGreaterEqual(len(outcome.ticks), 5)

    @tried
    def test_ticks_keep_count_of_what_fails(self):
        """About half of these rows exist already."""
        path = self.made()
        insert = runs.statement("INSERT INTO kv(id, k, v) VALUES (?1, 1, 'x')", [0])
        some = runs.transaction("some", [runs.param("id", "uniform", low=1, high=3_000)], insert)
        outcome = Outcome(trial("sqlite3", path, [some], [role("r", [0], 1, {"transactions": 3_000})], tick_ms=1))
        operation = outcome.operation("r", "some")
        self.assertEqual(query(path, "SELECT count(*) FROM kv"), [(operation["committed"],)])
        self.assertEqual(operation["committed"] + operation["failed"], 3_000)
        self.assertGreater(min(operation["committed"], operation["failed"]), 500)
        self.assertGreater(len(outcome.ticks), 5)
        for key in ("committed", "failed"):
            self.assertEqual(outcome.ticked(key), operation[key])
            self.assertGreaterEqual(min(count[key] for tick in outcome.ticks for count in tick["counts"]), 0)


class Protocol(Runs):
    def test_the_end_of_input_before_go_runs_nothing(self):
        path = self.made()
        said, code = runs.lines(trial("sqlite3", path, [INSERT], [role("r", [0], 1, {"transactions": 5})]), go=False)
        self.assertEqual(([line["type"] for line in said], code), (["ready"], 0))
        self.assertEqual(query(path, "SELECT count(*) FROM kv"), [(0,)])
        with runs.start() as process:
            self.assertEqual(process.communicate("", timeout=300), ("", ""))
        self.assertEqual(process.returncode, 0)

    def test_ready_comes_before_go(self):
        path = self.made()
        request = trial("sqlite3", path, [INSERT], [role("r", [0], 1, {"transactions": 5})])
        with runs.start() as process:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            self.assertEqual(json.loads(process.stdout.readline())["type"], "ready")
            time.sleep(0.1)
            self.assertEqual(query(path, "SELECT count(*) FROM kv"), [(0,)])
            process.communicate('{"type":"go"}\n', timeout=300)

    def test_what_is_not_supported_is_said(self):
        path = self.made()
        good = trial("sqlite3", path, [INSERT], [role("r", [0], 1, {"transactions": 5})])
        wrong = [
            {"protocol": 99}, {"driver": "mysql"}, {"executor": "fibers"},
            {"driver": "aiosqlite", "executor": "threads"}, {"driver": "litequeue", "executor": "inline"},
            {"sharing": {"kind": "group-commit", "readers": 1}},
            {"connection": connection(options={"tiemout": 1})}, {"roles": [role("r", [0], 1, {"name": "r"})]},
            {"roles": [role("r", [0], 1, {"name": "nobody"})]}, {"roles": [role("r", [7], 1, {"transactions": 1})]},
        ]  # fmt: skip
        for change in wrong:
            with self.subTest(change=change):
                self.assertTrue(self.failed({**good, **change})["reason"])

    def test_a_database_that_cannot_be_opened(self):
        for driver in DRIVERS:
            said = self.failed(trial(driver, "/nowhere/x.db", [INSERT], [role("r", [0], 1, {"transactions": 1})]))
            self.assertEqual(said["code"], "SQLITE_CANTOPEN")

    def test_an_error_that_is_not_sqlites_ends_the_trial(self):
        """Text of half a surrogate pair cannot be bound."""
        path = self.made()
        params = [param("v", "value", value="\ud800")]
        wrong = transaction("t", params, statement("INSERT INTO kv(k, v) VALUES (1, ?1)", [0]))
        for driver in DRIVERS:
            said = self.failed(trial(driver, path, [wrong], [role("r", [0], 2, {"transactions": 3})]))
            self.assertIsNone(said["code"])
            self.assertIn("Unicode", said["reason"])

    def verb(self, verb: str, request: dict | None = None) -> dict:
        with runs.start(verb) as process:
            out, err = process.communicate(json.dumps(request) + "\n" if request else "", timeout=300)
        self.assertEqual((process.returncode, err), (0, ""))
        return json.loads(out)

    def test_describe(self):
        described = self.verb("describe")
        interfaces = {driver["name"]: driver.get("interface", {}).get("name") for driver in described["drivers"]}
        queues = dict.fromkeys(["litequeue", "persist-queue", "huey"], "queue")
        self.assertEqual(
            interfaces, {"sqlite3": None, "apsw": None, "aiosqlite": None, **queues, "psycopg": None, "noop": None}
        )
        self.assertEqual(described["drivers"][0]["sqlite"]["version"], sqlite3.sqlite_version)
        self.assertIn("THREADSAFE=1", described["drivers"][1]["sqlite"]["compile_options"])

    def test_inspect(self):
        for driver, timeout in (("sqlite3", 5000), ("apsw", 0), ("aiosqlite", 5000)):
            request = {
                "protocol": 3, "driver": driver, "database": str(self.made()), "connections": 2, "options": {},
                "settings": [runs.pragma("cache_size", "-4000")],
                "read_back": ["cache_size", "busy_timeout", "nonsense"],
            }  # fmt: skip
            settings = {"cache_size": -4000, "busy_timeout": timeout, "nonsense": None}
            [one, other] = self.verb("inspect", request)["connections"]
            self.assertEqual(one, {"database": 0, "label": "connection", "settings": settings})
            self.assertEqual(other, one)
        request["driver"], request["options"] = "sqlite3", {"timeout": 1.5}
        self.assertEqual(self.verb("inspect", request)["connections"][0]["settings"]["busy_timeout"], 1500)

    def by_dsn(self, driver: str, dsn: str, options: dict, wal: bool = False) -> tuple:
        """Inspects a new database by a data source name. Returns the busy timeout and the outcome of the upgrade."""
        path = str(self.made())
        if wal:
            query(path, "PRAGMA journal_mode = WAL")
        request = {
            "protocol": 3, "driver": driver, "database": path, "connections": 3, "options": options, "settings": [],
            "read_back": ["busy_timeout"], "dsn": dsn.replace("FILE", path),
        }  # fmt: skip
        answer = self.verb("inspect", request)
        [timeout] = {connection["settings"]["busy_timeout"] for connection in answer["connections"]}
        self.assertEqual(len(answer["connections"]), 3)
        self.assertEqual(query(path, "SELECT name FROM sqlite_schema WHERE name LIKE 'litelab%'"), [])
        return timeout, answer.get("upgrade")

    def test_a_data_source_name_has_the_effect_of_the_driver(self):
        uri = apsw.SQLITE_OPEN_URI | apsw.SQLITE_OPEN_READWRITE
        read_only = apsw.SQLITE_OPEN_READONLY
        for wal in (False, True):
            for driver, dsn, options, *found in [
                # A read in the module's own way is in no transaction, and a key of SQLite's that does not exist is
                # ignored without an error.
                ("sqlite3", "FILE", {}, 5000, "succeeds"),
                ("sqlite3", "FILE", {"timeout": 0.5, "isolation_level": "IMMEDIATE"}, 500, "succeeds"),
                ("sqlite3", "file:FILE?busy_timeout=77", {"uri": True}, 5000, "succeeds"),
                ("sqlite3", "file:FILE?mode=ro", {"uri": True}, 5000, None),
                ("sqlite3", ":memory:", {}, 5000, None),
                ("aiosqlite", "FILE", {"timeout": 0.5}, 500, "succeeds"),
                ("aiosqlite", "file:FILE?busy_timeout=77", {"uri": True}, 5000, "succeeds"),
                ("apsw", "FILE", {}, 0, "fails"),
                ("apsw", "file:FILE?busy_timeout=77", {"flags": uri}, 0, "fails"),
                ("apsw", "FILE", {"flags": read_only}, 0, None),
            ]:
                with self.subTest(driver=driver, dsn=dsn, options=options, wal=wal):
                    self.assertEqual(self.by_dsn(driver, dsn, options, wal), tuple(found))

    def test_without_autocommit_the_read_is_part_of_the_transaction(self):
        for driver in ("sqlite3", "aiosqlite"):
            for wal in (False, True):
                # Python has this argument from 3.12 on, and refuses it before.
                if hasattr(sqlite3.Connection, "autocommit"):
                    self.assertEqual(self.by_dsn(driver, "FILE", {"autocommit": False}, wal), (5000, "fails"))
                else:
                    with self.assertRaisesRegex(AssertionError, "autocommit"):
                        self.by_dsn(driver, "FILE", {"autocommit": False}, wal)

    def test_what_a_constructor_refuses_is_its_own_error(self):
        refused = {"sqlite3": "'turbo'", "apsw": "'turbo'", "noop": "`dsn`", "huey": "`dsn`", "psycopg": "no file"}
        for driver, said in refused.items():
            request = {
                "protocol": 3, "driver": driver, "database": "x", "connections": 2, "options": {"turbo": 1},
                "settings": [], "read_back": [], "dsn": ":memory:",
            }  # fmt: skip
            with runs.start("inspect") as process:
                _, err = process.communicate(json.dumps(request) + "\n", timeout=300)
            self.assertEqual(process.returncode, 1)
            self.assertIn(said, err)
