//! Units of axes.

use litelab_model::metric::Unit;

use super::ticks;
use crate::number::{Scale, scales};

/// Unit of a time axis that is always in seconds.
pub(in crate::chart) const SECONDS: Scale = Scale { divisor: 1.0, after: " s", after_end: "", name: "s" };

/// The largest unit of which the greatest value on the axis, by magnitude, has at least one.
pub(in crate::chart) fn choose(unit: Unit, greatest: f64) -> Scale {
    let all = scales(unit);
    all.iter().rev().find(|scale| greatest.abs() >= scale.divisor).copied().unwrap_or(all[0])
}

/// Formats a time, a tick of a logarithmic axis, as `200 µs`.
pub(in crate::chart) fn time(nanos: f64) -> String {
    let unit = choose(Unit::Nanos, nanos * (1.0 + 1e-9));
    format!("{} {}", ticks::own_label(nanos / unit.divisor), unit.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_value_chooses_the_unit() {
        assert_eq!(choose(Unit::PerSecond, 12e3).name, "thousand per second");
        assert_eq!(choose(Unit::Bytes, 4096.0).name, "KiB");
        assert_eq!((choose(Unit::Share, 0.001).divisor, choose(Unit::Share, 0.001).name), (0.01, "%"));
        assert_eq!(choose(Unit::Nanos, 0.0).name, "ns");
        assert_eq!([0.5, 200.0, 5e4, 1e6, 1e12].map(time), ["0.5 ns", "200 ns", "50 µs", "1 ms", "1000 s"]);
    }
}
