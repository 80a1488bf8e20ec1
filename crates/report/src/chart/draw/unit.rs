//! Units of axes.

use litelab_model::metric::Unit;

use super::ticks;

/// A unit, and the divisor that converts a value into it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::chart) struct Scaled {
    pub(in crate::chart) divisor: f64,
    /// Name of the unit in the title of an axis.
    pub(in crate::chart) name: &'static str,
}

const fn scaled(divisor: f64, name: &'static str) -> Scaled {
    Scaled { divisor, name }
}

const TIMES: [Scaled; 4] = [scaled(1.0, "ns"), scaled(1e3, "µs"), scaled(1e6, "ms"), scaled(1e9, "s")];
const RATES: [Scaled; 4] = [
    scaled(1.0, "per second"),
    scaled(1e3, "thousand per second"),
    scaled(1e6, "million per second"),
    scaled(1e9, "billion per second"),
];
const BYTES: [Scaled; 5] = [
    scaled(1.0, "B"),
    scaled(1024.0, "KiB"),
    scaled(1_048_576.0, "MiB"),
    scaled(1_073_741_824.0, "GiB"),
    scaled(1_099_511_627_776.0, "TiB"),
];
const SHARES: [Scaled; 1] = [scaled(0.01, "%")];
const COUNTS: [Scaled; 3] = [scaled(1.0, "number"), scaled(1e3, "thousands"), scaled(1e6, "millions")];
const PER_TRANSACTION: [Scaled; 1] = [scaled(1.0, "per transaction")];

/// Unit of a time axis that is always in seconds.
pub(in crate::chart) const SECONDS: Scaled = scaled(1.0, "s");

/// The largest unit of which the greatest value on the axis, by magnitude, has at least one.
pub(in crate::chart) fn choose(unit: Unit, greatest: f64) -> Scaled {
    let all: &[Scaled] = match unit {
        Unit::Nanos => &TIMES,
        Unit::PerSecond => &RATES,
        Unit::Bytes => &BYTES,
        Unit::Share => &SHARES,
        Unit::Count => &COUNTS,
        Unit::PerTransaction => &PER_TRANSACTION,
    };
    all.iter().rev().find(|scaled| greatest.abs() >= scaled.divisor).copied().unwrap_or(all[0])
}

/// Unit of a tick of a logarithmic time axis.
pub(in crate::chart) fn of_time(nanos: f64) -> Scaled {
    choose(Unit::Nanos, nanos * (1.0 + 1e-9))
}

/// Formats a time as `200 µs`.
pub(in crate::chart) fn time(nanos: f64) -> String {
    let unit = of_time(nanos);
    format!("{} {}", ticks::own_label(nanos / unit.divisor), unit.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_value_chooses_the_unit() {
        assert_eq!(choose(Unit::PerSecond, 12e3).name, "thousand per second");
        assert_eq!(choose(Unit::Bytes, 4096.0).name, "KiB");
        assert_eq!(choose(Unit::Share, 0.001), scaled(0.01, "%"));
        assert_eq!(choose(Unit::Nanos, 0.0).name, "ns");
        assert_eq!([0.5, 200.0, 5e4, 1e6, 1e12].map(time), ["0.5 ns", "200 ns", "50 µs", "1 ms", "1000 s"]);
    }
}
