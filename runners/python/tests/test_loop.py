"""Workers as tasks on an event loop: counts agree with the file, and stalls are reported in the right histogram."""

import tempfile
import unittest

from hdrh.histogram import HdrHistogram

from . import runs
from .runs import INSERT, READ, Outcome, made, param, query, role, seen, statement, transaction, trial, tried

WAYS = {
    "sqlite3": ("inline", "offload", "dedicated"),
    "apsw": ("inline", "offload", "dedicated"),
    "aiosqlite": ("dedicated",),
}
# By kind: options of the sharing, and the connections of three writers and two readers.
SHARINGS = {
    "own-connection": ({}, 5),
    "one-connection": ({}, 1),
    "pool": ({"connections": 2}, 2),
    "app-lock": ({}, 5),
    "writer-readers": ({"readers": 2}, 3),
}
EACH = [(driver, executor) for driver, executors in WAYS.items() for executor in executors]
BUSY = [*runs.WAL, runs.pragma("busy_timeout", "5000")]
HOLD = 400_000_000


def connection(settings: list[dict]) -> dict:
    return {"settings": settings, "read_back": ["journal_mode", "busy_timeout"], "options": {}}


def histogram(encoded: str) -> HdrHistogram:
    return HdrHistogram.decode(encoded)


class Loops(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name


class Counts(Loops):
    def test_counts_are_the_rows_in_the_file(self):
        for driver, executor in EACH:
            with self.subTest(driver=driver, executor=executor):
                for kind in SHARINGS:
                    with self.subTest(sharing=kind):
                        self.one(driver, executor, kind)

    def one(self, driver: str, executor: str, kind: str):
        path = made(self.directory)
        given, connections = SHARINGS[kind]
        roles = [
            role("writers", [0], 3, {"transactions": 100}),
            role("readers", [1], 2, {"name": "writers"}, first_worker=3),
        ]
        writing = dict(INSERT, begin="immediate")
        # Tasks that share a connection or a lock never wait for SQLite's own lock.
        settings = BUSY if kind in ("own-connection", "pool") else runs.WAL + [runs.pragma("busy_timeout", "0")]
        outcome = Outcome(
            trial(driver, path, [writing, READ], roles, executor=executor, sharing={"kind": kind, **given},
                  connection=connection(settings))
        )  # fmt: skip
        expected = {"journal_mode": "wal", "busy_timeout": int(settings[-1]["sql"].split()[-1])}
        self.assertEqual([c["settings"] for c in outcome.ready["connections"]], [expected] * connections)
        insert, read = outcome.operation("writers", "insert"), outcome.operation("readers", "read")
        self.assertEqual((insert["committed"], insert["rows"], insert["errors"]), (100, 100, {}))
        self.assertEqual(read["errors"], {})
        self.assertEqual(histogram(insert["service"]).get_total_count(), 100)
        self.assertEqual("wait" in insert["timers"], kind != "own-connection")
        self.assertEqual("wait" in read["timers"], kind not in ("own-connection", "app-lock"))
        for key in ("committed", "failed", "errors"):
            self.assertEqual(outcome.ticked(key), insert.get(key, 0) + read.get(key, 0) if key != "errors" else 0)
        shares = [w["committed"] for w in outcome.result["workers"] if w["role"] == "writers"]
        self.assertEqual(shares, [34, 33, 33])
        self.assertEqual(query(path, "SELECT id, k, v FROM kv ORDER BY id"), runs.drawn(INSERT, 100))
        self.assertFalse(path.with_name("test.db-wal").exists(), "a connection is still open")

    def test_noop(self):
        for executor in WAYS["sqlite3"]:
            roles = [role("all", [0, 1], 2, {"transactions": 100})]
            outcome = Outcome(trial("noop", "/nowhere", [INSERT, READ], roles, executor=executor))
            self.assertEqual(outcome.operation("all", "read")["committed"], 50)

    def test_two_databases_and_weights(self):
        for driver, executor in EACH:
            with self.subTest(driver=driver, executor=executor):
                paths = [made(self.directory), made(self.directory)]
                databases = [{"kind": "file", "path": str(path)} for path in paths]
                roles = [role("all", [0, 1], 2, {"transactions": 40}, order="weighted")]
                outcome = Outcome(
                    trial(driver, "", [INSERT, READ], roles, databases=databases, executor=executor,
                          connection=connection(BUSY))
                )  # fmt: skip
                inserted = outcome.operation("all", "insert")["committed"]
                self.assertEqual(inserted + outcome.operation("all", "read")["committed"], 80)
                self.assertEqual(sum(query(path, "SELECT count(*) FROM kv")[0][0] for path in paths), inserted)
                self.assertEqual([w["database"] for w in outcome.result["workers"]], [0, 0, 1, 1])

    def test_who_waits_for_the_only_connection_gets_it(self):
        """The reader must not take the connection again first, or the waiting writer would starve."""
        for driver, executor in EACH:
            with self.subTest(driver=driver, executor=executor):
                roles = [role("w", [0], 1, {"transactions": 20}), role("r", [1], 1, {"name": "w"}, first_worker=1)]
                sharing = {"kind": "pool", "connections": 1}
                outcome = Outcome(
                    trial(driver, made(self.directory), [INSERT, READ], roles, executor=executor, sharing=sharing)
                )
                self.assertLess(outcome.operation("r", "read")["committed"], 25)

    def test_errors_are_counted_and_undone(self):
        ids = [param("id", "choice", values=[1])]
        batch = transaction("t", ids, statement("INSERT INTO kv VALUES (?1, 1, 'x')", [0], repeat=3), begin="immediate")
        for driver, executor in EACH:
            with self.subTest(driver=driver, executor=executor):
                path = made(self.directory)
                outcome = Outcome(
                    trial(driver, path, [batch], [role("r", [0], 1, {"transactions": 4})], executor=executor)
                )
                operation = outcome.operation("r", "t")
                self.assertEqual((operation["committed"], operation["failed"]), (0, 4))
                self.assertEqual(seen(operation), {"SQLITE_CONSTRAINT_PRIMARYKEY": (4, 0)})
                self.assertEqual((outcome.ticked("errors"), outcome.ticked("failed")), (4, 4))
                self.assertEqual(query(path, "SELECT count(*) FROM kv"), [(0,)])

    def test_a_retry_cures(self):
        """Two tasks read, pause and write in deferred transactions; their calls overlap, except with `inline`."""
        read = statement("SELECT k FROM kv WHERE id = 1", [], fetch="first", hold_us=20_000)
        write = statement("UPDATE kv SET k = k + 1 WHERE id = 1", [])
        upgrade = transaction("t", [], read, write, begin="deferred")
        retry = {"backoff_us": 1_000, "multiplier": 2.0, "max_backoff_us": 50_000, "attempts": 10_000}
        for driver, executor in EACH:
            with self.subTest(driver=driver, executor=executor):
                # On a busy machine one may end before the other begins, but not in every attempt.
                for _ in range(5):
                    path = made(self.directory, 1)
                    outcome = Outcome(
                        trial(driver, path, [upgrade], [role("r", [0], 2, {"transactions": 10})], executor=executor,
                              retry={**retry, "on": ["SQLITE_BUSY"]}, connection=connection(BUSY))
                    )  # fmt: skip
                    operation = outcome.operation("r", "t")
                    self.assertEqual((operation["committed"], query(path, "SELECT k FROM kv")), (10, [(10,)]))
                    for errors in operation["errors"].values():
                        self.assertEqual(errors["seen"], errors["cured"])
                    met = "SQLITE_BUSY_SNAPSHOT" in operation["errors"]
                    if met or executor == "inline":
                        break
                # In the thread of the loop, one transaction ends before the next begins.
                self.assertEqual(met, executor != "inline")

    @tried
    def test_an_open_load_and_think_time(self):
        for driver, executor in EACH:
            path = made(self.directory)
            load = {"kind": "open", "rate": 100.0, "arrivals": "constant"}
            roles = [
                role("open", [0], 2, {"ms": 500}, load=load),
                role("closed", [1], 1, {"name": "open"}, first_worker=2, load={"kind": "closed", "think_us": 20_000}),
            ]
            outcome = Outcome(
                trial(driver, path, [INSERT, READ], roles, executor=executor, connection=connection(BUSY),
                      warmup_ms=100)
            )  # fmt: skip
            operation = outcome.operation("open", "insert")
            self.assertEqual(operation["committed"] + operation["unserved"], 50)
            self.assertGreaterEqual(operation["committed"], 45)
            self.assertEqual(histogram(operation["timers"]["lag"]).get_total_count(), operation["measured"])
            self.assertTrue(0 < operation["measured"] < operation["committed"], operation["measured"])
            self.assertEqual(query(path, "SELECT count(*) FROM kv"), [(operation["committed"],)])
            self.assertGreaterEqual(outcome.result["elapsed_ns"], 500_000_000)
            self.assertTrue(5 <= outcome.operation("closed", "read")["committed"] <= 25)
            # About 100 short calls in half a second.
            self.assertLess(outcome.result["gauges"]["utilization"], 0.7)

    def test_an_error_that_is_not_sqlites_ends_the_trial(self):
        wrong = transaction(
            "t", [param("v", "value", value="\ud800")], statement("INSERT INTO kv(k, v) VALUES (1, ?1)", [0])
        )
        for driver, executor in EACH:
            with self.subTest(driver=driver, executor=executor):
                path = made(self.directory)
                roles = [role("r", [0], 2, {"transactions": 3})]
                said, code = runs.lines(trial(driver, path, [wrong], roles, executor=executor))
                self.assertEqual((said[-1]["type"], code), ("failed", 1))
                self.assertIn("Unicode", said[-1]["reason"])


class Stalls(Loops):
    """One worker holds each of its transactions for `HOLD`."""

    def held(self, driver: str, executor: str, **given) -> tuple[int, HdrHistogram, HdrHistogram, dict]:
        """Returns the time of the longest transaction, and the results of the probe."""
        slow = dict(INSERT, hold_us=HOLD // 1000, begin="immediate")
        roles = [role("r", [0], 1, {"transactions": 3})]
        outcome = Outcome(trial(driver, made(self.directory), [slow], roles, executor=executor, probe_ms=2, **given))
        longest = histogram(outcome.operation("r", "insert")["service"]).get_max_value()
        self.assertGreaterEqual(longest, HOLD)
        timers, gauges = outcome.result["timers"], outcome.result["gauges"]
        self.assertGreaterEqual(len(outcome.ticks), 6, "ticks are said while the loop hangs")
        return longest, histogram(timers["probe"]), histogram(timers["pool_wait"]), gauges

    def is_stall(self, seen: HdrHistogram, stall: int):
        self.assertAlmostEqual(seen.get_max_value(), stall, delta=stall / 10)

    def is_free(self, seen: HdrHistogram, stall: int):
        self.assertGreater(seen.get_total_count(), 0)
        self.assertLess(seen.get_value_at_percentile(75), stall / 5)

    @tried
    def test_a_stalled_loop_is_late(self):
        for driver in ("sqlite3", "apsw"):
            stall, lateness, pool_wait, gauges = self.held(driver, "inline")
            self.is_stall(lateness, stall)
            # A timer every 2 ms: the median is half of the stall.
            self.assertAlmostEqual(lateness.get_value_at_percentile(50), HOLD / 2, delta=HOLD / 5)
            self.is_free(pool_wait, stall)
            self.assertGreater(gauges["utilization"], 0.9)

    @tried
    def test_a_stalled_pool_lets_jobs_wait(self):
        for driver in ("sqlite3", "apsw"):
            stall, lateness, pool_wait, gauges = self.held(driver, "offload", runtime_threads=1)
            self.is_stall(pool_wait, stall)
            self.is_free(lateness, stall)
            self.assertLess(gauges["utilization"], 0.5)

    @tried
    def test_a_pool_of_two_lets_nobody_wait(self):
        stall, lateness, pool_wait, _ = self.held("sqlite3", "offload", runtime_threads=2)
        self.is_free(lateness, stall)
        self.is_free(pool_wait, stall)

    @tried
    def test_a_thread_of_its_own_lets_nobody_wait(self):
        for driver in WAYS:
            stall, lateness, pool_wait, _ = self.held(driver, "dedicated", runtime_threads=1)
            self.is_free(lateness, stall)
            self.is_free(pool_wait, stall)
