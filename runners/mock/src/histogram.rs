//! Falsifies histograms value by value, for which the protocol's type has no method.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hdrhistogram::serialization::Deserializer;
use litelab_protocol::histogram::Histogram;

/// A histogram of the same number of values, each changed.
pub fn map(histogram: &Histogram, change: impl Fn(u64) -> u64) -> Histogram {
    let mut out = Histogram::new();
    let bytes = BASE64_STANDARD.decode(histogram.encode()).unwrap_or_default();
    let Ok(read) = Deserializer::new().deserialize::<u64, _>(&mut bytes.as_slice()) else { return out };
    for value in read.iter_recorded() {
        for _ in 0..value.count_at_value() {
            out.record(change(value.value_iterated_to()));
        }
    }
    out
}
