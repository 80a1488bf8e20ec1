"""Latencies become the histogram that the shared vector says; schedules, pauses and the probe keep their times."""

import json
import math
import threading
import unittest
from time import perf_counter_ns, sleep

from hdrh.histogram import HdrHistogram

from litelab_runner import codes, probe
from litelab_runner.driver import Fault
from litelab_runner.record import Latencies, Record
from litelab_runner.schedule import Schedule
from litelab_runner.transaction import Retry

from . import runs

VECTOR = json.loads((runs.PROTOCOL / "vectors" / "histogram.json").read_text())


def counted(values, every: int = 100) -> Latencies:
    latencies = Latencies()
    for at, value in enumerate(values):
        latencies.note(value)
        if at % every == 0:
            latencies.settle()
    return latencies


class Histograms(unittest.TestCase):
    def same(self, one: HdrHistogram, other: HdrHistogram):
        self.assertEqual(one.get_total_count(), other.get_total_count())
        self.assertEqual(list(one.counts), list(other.counts))

    def test_the_vector(self):
        decoded, ours = HdrHistogram.decode(VECTOR["encoded"]), counted(VECTOR["values"])
        self.same(ours.histogram(), decoded)
        self.same(HdrHistogram.decode(ours.encoded()), decoded)
        for quantile, value in VECTOR["quantiles"]:
            self.assertEqual(HdrHistogram.decode(ours.encoded()).get_value_at_percentile(100 * quantile), value)

    def test_putting_values_together_changes_nothing(self):
        values = [v * v % 7_777_777_777 for v in range(1, 60_000)]
        plain = HdrHistogram(1, 3_600_000_000_000, 3)
        for value in values:
            plain.record_value(value)
        latencies = counted(values)
        self.assertLess(len(latencies._far), 40_000)
        self.same(latencies.histogram(), plain)

    def test_counting_without_notes_is_the_same(self):
        values = [7, 7, 65_535, 65_536, 3_000_000_000]
        latencies = counted([5])
        near = latencies.near()
        for value in values:
            try:
                near[value] += 1
            except IndexError:
                latencies.far(value)
        latencies.recount()
        noted = counted([5, *values])
        noted.settle()
        self.same(latencies.histogram(), noted.histogram())
        self.assertEqual((latencies.count(), latencies.sum), (noted.count(), noted.sum))

    def test_memory_does_not_grow(self):
        latencies = counted(range(0, 3_600_000_000_000, 3_600_000_000_000 // 300_000))
        self.assertLess(len(latencies._far) + len(latencies._near), 140_000)
        self.assertEqual(latencies._noted[256:], [])

    def test_too_long_is_counted_as_the_longest(self):
        histogram = counted([1 << 62]).histogram()
        self.assertEqual(histogram.get_total_count(), 1)
        self.assertGreaterEqual(histogram.get_max_value(), 3_600_000_000_000 * 0.999)

    def test_adding(self):
        one, other = Record(waits=True), Record(waits=True, timed=True)
        one.wait.note(5)
        one.warming += 1
        other.service.note(7)
        other.count_errors(["SQLITE_BUSY_SNAPSHOT", "SQLITE_BUSY"], True)
        one.count_errors(["SQLITE_BUSY"], False)
        one.add(other)
        operation = one.operation()
        self.assertEqual((operation["committed"], operation["measured"]), (2, 1))
        self.assertEqual(operation["errors"]["SQLITE_BUSY"], {"seen": 2, "cured": 1})
        self.assertEqual(operation["errors"]["SQLITE_BUSY_SNAPSHOT"], {"seen": 1, "cured": 1})
        self.assertIsNone(operation["lag"])
        self.assertEqual(HdrHistogram.decode(operation["service"]).get_total_count(), 1)
        self.assertEqual(HdrHistogram.decode(operation["query"]).get_total_count(), 0)


class Codes(unittest.TestCase):
    def test_names(self):
        names = [codes.name(code) for code in (517, 5 | 99 << 8, 200)]
        self.assertEqual(names, ["SQLITE_BUSY_SNAPSHOT", "SQLITE_BUSY", "SQLITE_UNKNOWN"])

    def test_retries(self):
        given = {"attempts": 5, "backoff_us": 100, "multiplier": 2.0, "max_backoff_us": 350}
        retry = Retry({**given, "on": ["SQLITE_BUSY", "SQLITE_LOCKED_SHAREDCACHE"]})
        self.assertEqual([retry.pause(n) for n in (1, 2, 3, 5000)], [100e-6, 200e-6, 350e-6, 350e-6])
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
        # 50 s at 1000/s: the count of a Poisson process has the deviation sqrt(50000) = 224.
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
        stop, kept = threading.Event(), []
        # A clock that started 100 ms ago: ten timers of 10 ms are overdue at once.
        go = perf_counter_ns() - 100_000_000
        lag = probe.Lag(go + 10_000_000)
        # Before it has run at all it is overdue.
        self.assertGreaterEqual(lag.take(perf_counter_ns()), 89_000_000)
        thread = threading.Thread(target=lambda: kept.append(probe.run(go, 10, 0, stop, lag)))
        thread.start()
        sleep(0.3)
        stop.set()
        thread.join()
        histogram = kept[0].histogram()
        self.assertGreaterEqual(histogram.get_total_count(), 10)
        self.assertGreaterEqual(histogram.get_max_value(), 89_000_000)
        # What a tick tells is told once.
        self.assertGreaterEqual(lag.take(0), 89_000_000)
        self.assertEqual(lag.take(0), 0)
