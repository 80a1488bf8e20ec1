"""Latencies equal the shared histogram vector; schedules, pauses and the probe keep their times."""

import json
import math
import unittest
from collections import Counter
from time import perf_counter_ns, sleep

from hdrh.histogram import HdrHistogram

from litelab_runner import codes
from litelab_runner.driver import Fault
from litelab_runner.probe import Probe
from litelab_runner.record import HIGHEST, Record, encoded, histogram
from litelab_runner.schedule import Schedule
from litelab_runner.transaction import Retry

from . import runs

VECTOR = json.loads((runs.PROTOCOL / "vectors" / "histogram.json").read_text())


class Histograms(unittest.TestCase):
    def test_the_vector(self):
        decoded, ours = HdrHistogram.decode(VECTOR["encoded"]), Counter(VECTOR["values"])
        for made in (histogram(ours), HdrHistogram.decode(encoded(ours))):
            self.assertEqual(made.get_total_count(), decoded.get_total_count())
            self.assertEqual(list(made.counts), list(decoded.counts))
        for quantile, value in VECTOR["quantiles"]:
            self.assertEqual(HdrHistogram.decode(encoded(ours)).get_value_at_percentile(100 * quantile), value)

    def test_what_is_out_of_bounds_counts_at_the_bound(self):
        made = histogram({-1: 2, 10 * HIGHEST: 3})
        self.assertEqual((made.get_total_count(), made.get_min_value()), (5, 0))
        self.assertGreaterEqual(made.get_max_value(), HIGHEST * 0.999)

    def test_adding(self):
        one, other = Record(waits=True), Record(waits=True, timed=True)
        one.wait[5] += 1
        one.committed, other.committed, other.ended = 1, 1, 2
        other.service[7] += 1
        other.unfinished.append({"service_ns": 8, "response_ns": None})
        for code in ("SQLITE_BUSY_SNAPSHOT", "SQLITE_BUSY"):
            other.count_error(code, f"of {code},\n at last")
            other.cured[code] += 1
        one.count_error("SQLITE_BUSY", "the first")
        one.add(other)
        operation = one.operation()
        self.assertEqual([operation[name] for name in ("committed", "measured", "ended")], [2, 1, 2])
        self.assertEqual(operation["errors"]["SQLITE_BUSY"], {"seen": 2, "cured": 1, "message": "the first"})
        snapshot = {"seen": 1, "cured": 1, "message": "of SQLITE_BUSY_SNAPSHOT, at last"}
        self.assertEqual(operation["errors"]["SQLITE_BUSY_SNAPSHOT"], snapshot)
        self.assertEqual(operation["unfinished"], [{"service_ns": 8, "response_ns": None}])
        self.assertNotIn("lag", operation["timers"])
        self.assertEqual(HdrHistogram.decode(operation["service"]).get_total_count(), 1)
        self.assertEqual(HdrHistogram.decode(operation["timers"]["query"]).get_total_count(), 0)


class Codes(unittest.TestCase):
    def test_names(self):
        names = [codes.name(code) for code in (517, 5 | 99 << 8, 200)]
        self.assertEqual(names, ["SQLITE_BUSY_SNAPSHOT", "SQLITE_BUSY", "SQLITE_UNKNOWN"])

    def test_retries(self):
        given = {"attempts": 5, "backoff_us": 100, "multiplier": 2.0, "max_backoff_us": 350}
        retry = Retry({**given, "on": ["SQLITE_BUSY", "SQLITE_LOCKED_SHAREDCACHE"]})
        self.assertEqual([retry.pause(n) for n in (1, 2, 3, 5000)], [100e-6, 200e-6, 350e-6, 350e-6])
        none = Retry({**given, "backoff_us": 0, "on": []})
        self.assertEqual([none.pause(n) for n in (1, 5000)], [0, 0])
        seen = ["SQLITE_BUSY", "SQLITE_BUSY_SNAPSHOT", "SQLITE_LOCKED_SHAREDCACHE", "SQLITE_LOCKED", "SQLITE_FULL"]
        self.assertEqual([retry.covers(name) for name in seen], [True, True, True, False, False])
        with self.assertRaises(Fault):
            Retry({**given, "on": ["SQLITE_BUSSY"]})


def schedule(rate: float, arrivals: str) -> Schedule:
    alone = {"workers": 1, "first_in_role": 0, "workers_in_role": 1}
    return Schedule(3, {"name": "r", "load": {"kind": "open", "rate": rate, "arrivals": arrivals}, **alone})


class Schedules(unittest.TestCase):
    def dues(self, schedule: Schedule, end: int) -> list[int]:
        return list(iter(lambda: schedule.take(end), None))

    def test_constant_gaps_are_equal(self):
        dues = self.dues(schedule(1000.0, "constant"), 5_500_000)
        self.assertEqual(dues, [1_000_000, 2_000_000, 3_000_000, 4_000_000, 5_000_000])

    def test_exponential_gaps_have_their_mean_and_deviation(self):
        dues = self.dues(schedule(1000.0, "poisson"), 50_000_000_000)
        # 50 s at 1000/s: the count of a Poisson process has a standard deviation of sqrt(50000) = 224.
        self.assertTrue(49_000 < len(dues) < 51_000, len(dues))
        gaps = [b - a for a, b in zip(dues, dues[1:])]
        mean = sum(gaps) / len(gaps)
        deviation = math.sqrt(sum((gap - mean) ** 2 for gap in gaps) / len(gaps))
        self.assertAlmostEqual(deviation / mean, 1, delta=0.03)

    def test_what_nobody_started_is_unserved(self):
        constant = schedule(1000.0, "constant")
        taken = constant.take(10_500_000)
        self.assertIsNotNone(constant.take(10_500_000))
        constant.leave(taken)
        self.assertEqual(constant.unserved(10_500_000), 9)

    def test_a_rate_that_is_none(self):
        for rate in (0.0, -1.0, math.inf):
            with self.assertRaises(Fault):
                schedule(rate, "constant")


class Probes(unittest.TestCase):
    def test_a_stall_is_seen_at_its_length(self):
        # A clock that started 100 ms ago: ten timers of 10 ms are overdue at once.
        go = perf_counter_ns() - 100_000_000
        probe = Probe(go, 10, 0)
        # The timer is overdue before its first run.
        self.assertGreaterEqual(probe.lag(perf_counter_ns()), 89_000_000)
        probe.start()
        sleep(0.3)
        # `lag` returns each value once.
        self.assertGreaterEqual(probe.lag(0), 89_000_000)
        self.assertEqual(probe.lag(0), 0)
        lateness = HdrHistogram.decode(probe.stop()["timers"]["probe"])
        self.assertGreaterEqual(lateness.get_total_count(), 39)
        self.assertGreaterEqual(lateness.get_max_value(), 89_000_000)

    def test_a_timer_that_is_overdue_at_the_end_counts_and_the_warm_up_does_not(self):
        probe = Probe(perf_counter_ns() - 10_000_000_000, 1_000, 5_000)
        lateness = HdrHistogram.decode(probe.stop()["timers"]["probe"])
        self.assertGreaterEqual(lateness.get_total_count(), 6)
        self.assertTrue(4_990_000_000 < lateness.get_max_value() < 8_000_000_000)
