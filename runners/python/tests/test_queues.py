"""Task queues: each task is enqueued, claimed once, and completed or failed, in the tables of the library."""

import tempfile
import unittest
from pathlib import Path

from . import runs
from .runs import Outcome, param, query, role, statement, transaction, trial

# Driver, its kinds of sharing, and SQL for the number of tasks that are not completed.
QUEUES = {
    "litequeue": (["own-connection", "one-connection"], "SELECT count(*) FROM Queue WHERE status <> 2"),
    "persist-queue": (["one-connection"], "SELECT count(*) FROM ack_queue_default WHERE status <> 5"),
    "huey": (["own-connection", "one-connection"], "SELECT count(*) FROM task"),
}

ENQUEUE = transaction(
    "enqueue",
    [param("payload", "hex", bytes=8), param("priority", "value", value=0)],
    statement("CALL queue.enqueue(?1, ?2)", [0, 1]),
)
CLAIM = transaction(
    "claim", [], statement("CALL queue.claim()", [], fetch="first", yields=["id", "payload"], required=True)
)
COMPLETE = transaction("complete", [param("id", "yielded", name="id")], statement("CALL queue.complete(?1)", [0]))
FAIL = transaction("fail", [param("id", "yielded", name="id")], statement("CALL queue.fail(?1)", [0]))
ALL = [ENQUEUE, CLAIM, COMPLETE, FAIL]


class Queues(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def made(self) -> Path:
        """Returns the path of a database that does not exist yet."""
        return Path(tempfile.mkdtemp(dir=self.folder)) / "queue.db"

    def queue_trial(self, driver: str, path: Path, roles: list[dict], **given) -> dict:
        """A trial with the library's default settings."""
        connection = {"settings": [], "read_back": ["journal_mode", "synchronous", "busy_timeout"], "options": {}}
        given = {"sharing": {"kind": QUEUES[driver][0][0]}, "connection": connection} | given
        return trial(driver, path, ALL, roles, **given)

    def fill(self, driver: str, tasks: int) -> Path:
        path = self.made()
        outcome = Outcome(self.queue_trial(driver, path, [role("p", [0], 1, {"transactions": tasks})]))
        self.assertEqual(outcome.operation("p", "enqueue")["committed"], tasks)
        return path

    def refused(self, request: dict) -> dict:
        said, code = runs.lines(request, go=False)
        self.assertEqual(([line["type"] for line in said], code), (["failed"], 1))
        return said[0]

    def test_every_task_is_claimed_and_completed_and_then_there_is_none(self):
        for driver, (sharings, left) in QUEUES.items():
            for sharing in sharings:
                with self.subTest(driver=driver, sharing=sharing):
                    path = self.fill(driver, 40)
                    self.assertEqual(query(path, left), [(40,)])
                    sharing = {"kind": sharing}
                    roles = [role("c", [1, 2], 2, {"transactions": 80})]
                    outcome = Outcome(self.queue_trial(driver, path, roles, sharing=sharing))
                    claimed, completed = outcome.operation("c", "claim"), outcome.operation("c", "complete")
                    self.assertEqual((claimed["committed"], claimed["empty"]), (40, 0))
                    self.assertEqual((claimed["rows"], completed["committed"]), (40, 40))
                    self.assertEqual(query(path, left), [(0,)])
                    roles = [role("c", [1, 2], 2, {"transactions": 6})]
                    outcome = Outcome(self.queue_trial(driver, path, roles, sharing=sharing))
                    self.assertEqual(outcome.operation("c", "claim")["empty"], 6)

    def test_a_task_given_back_is_claimed_again(self):
        for driver, (_, left) in QUEUES.items():
            with self.subTest(driver=driver):
                path = self.fill(driver, 1)
                roles = [role("c", [1, 3, 1, 2], 1, {"transactions": 5})]
                outcome = Outcome(self.queue_trial(driver, path, roles))
                counts = [outcome.operation("c", name)["committed"] for name in ("claim", "fail", "complete")]
                self.assertEqual((counts, outcome.operation("c", "claim")["empty"]), ([2, 1, 1], 1))
                self.assertEqual(query(path, left), [(0,)])

    def test_settings_are_those_of_the_library_and_then_those_of_the_profile(self):
        own = {
            "litequeue": {"journal_mode": "wal", "synchronous": 1, "busy_timeout": 5000},
            "persist-queue": {"journal_mode": "wal", "synchronous": 2, "busy_timeout": 10000},
            "huey": {"journal_mode": "wal", "synchronous": 2, "busy_timeout": 5000},
        }
        for driver, expected in own.items():
            for settings, changed in (([], {}), ([runs.pragma("synchronous", "EXTRA")], {"synchronous": 3})):
                connection = {"settings": settings, "read_back": list(expected), "options": {}}
                request = self.queue_trial(
                    driver, self.made(), [role("p", [0], 1, {"transactions": 1})], connection=connection
                )
                said, _ = runs.lines(request, go=False)
                [settings] = [connection["settings"] for connection in said[0]["connections"]]
                self.assertEqual(settings, expected | changed, driver)

    def test_options_are_the_librarys_own(self):
        connection = {"settings": [], "read_back": ["synchronous"], "options": {"fsync": False}}
        roles = [role("p", [0], 1, {"transactions": 1})]
        said, _ = runs.lines(self.queue_trial("huey", self.made(), roles, connection=connection), go=False)
        self.assertEqual(said[0]["connections"][0]["settings"], {"synchronous": 0})
        for driver in QUEUES:
            connection["options"] = {"no_such_option": 1}
            refused = self.refused(self.queue_trial(driver, self.made(), roles, connection=connection))
            self.assertIn("no_such_option", refused["reason"])

    def test_what_is_no_operation_is_refused(self):
        wrong = {
            "SELECT 1": "takes no SQL",
            "CALL queue.steal()": "no operation",
            "CALL cache.claim()": "no operation",
            "CALL queue.claim": "takes no SQL",
            "CALL queue.complete(?2)": "takes 1 arguments",
            "CALL queue.enqueue(?1)": "takes 2 arguments",
        }
        for driver in QUEUES:
            for sql, words in wrong.items():
                bad = transaction("t", [param("a", "value", value="x")], statement(sql, [0] if "(?" in sql else []))
                request = self.queue_trial(driver, self.made(), [role("r", [0], 1, {"transactions": 1})])
                self.assertIn(words, self.refused({**request, "transactions": [bad]})["reason"], sql)
        memory = {"databases": [{"kind": "memory", "name": "m", "shared": False, "setup": [], "teardown": []}]}
        request = self.queue_trial("litequeue", self.made(), [role("r", [0], 1, {"transactions": 1})], **memory)
        self.assertIn("a database in a file", self.refused(request)["reason"])

    def test_a_sharing_that_a_library_does_not_bear_is_refused(self):
        """Two objects of persist-queue give one task to two workers; and no queue has reads to split off."""
        roles = [role("r", [0], 1, {"transactions": 1})]
        for driver, sharing in (("persist-queue", "own-connection"), ("litequeue", "writer-readers"), ("huey", "pool")):
            request = self.queue_trial(driver, self.made(), roles, sharing={"kind": sharing, "readers": 1})
            self.assertIn(f"sharing {sharing} is not supported", self.refused(request)["reason"])
        refused = self.refused(self.queue_trial("persist-queue", self.made(), roles, executor="processes"))
        self.assertIn("executor processes is not supported", refused["reason"])

    def test_a_locked_database_is_counted_and_retried(self):
        given = {"backoff_us": 10_000, "multiplier": 1.0, "max_backoff_us": 10_000, "on": ["SQLITE_BUSY"]}
        connection = {"settings": [runs.pragma("busy_timeout", "0")], "read_back": [], "options": {}}
        roles = [role("c", [1], 1, {"transactions": 1})]
        for driver in QUEUES:
            for attempts, committed in ((1, 0), (1000, 1)):
                with self.subTest(driver=driver, attempts=attempts):
                    path, retry = self.fill(driver, 1), {**given, "attempts": attempts}
                    request = self.queue_trial(driver, path, roles, connection=connection, retry=retry)
                    [claim] = [o for o in runs.locked(request, path)["operations"] if o["transaction"] == "claim"]
                    self.assertEqual((claim["committed"], claim["failed"]), (committed, 1 - committed))
                    [(name, errors)] = claim["errors"].items()
                    self.assertEqual((name, errors["cured"]), ("SQLITE_BUSY", errors["seen"] * committed))
                    self.assertGreater(errors["seen"], 0)


if __name__ == "__main__":
    unittest.main()
