//! Latency histograms: HdrHistogram in nanoseconds. The wire form is base64 of the V2 compressed encoding, which every
//! language's HdrHistogram library reads and writes.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Lowest value distinguishable from 0, in nanoseconds.
pub const LOWEST: u64 = 1;
/// Highest value, in nanoseconds: one hour. A longer time is recorded as this value.
pub const HIGHEST: u64 = 3_600_000_000_000;
/// Precision in significant decimal digits.
pub const DIGITS: u8 = 3;

/// A histogram of nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Histogram(hdrhistogram::Histogram<u64>);

/// The text is not the wire form of a histogram.
#[derive(Debug, thiserror::Error)]
#[error("not a base64 V2 compressed HdrHistogram: {0}")]
pub struct HistogramError(String);

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// An empty histogram with the bounds [`LOWEST`] and [`HIGHEST`] and the precision [`DIGITS`].
    #[must_use]
    pub fn new() -> Self {
        // The library accepts these constant bounds; a test constructs a histogram.
        #[allow(clippy::expect_used)]
        Self(hdrhistogram::Histogram::new_with_bounds(LOWEST, HIGHEST, DIGITS).expect("constant bounds are valid"))
    }

    /// Counts one value. A value above [`HIGHEST`] counts as [`HIGHEST`].
    #[inline]
    pub fn record(&mut self, nanos: u64) {
        self.0.saturating_record(nanos);
    }

    /// Counts a value several times. A value above [`HIGHEST`] counts as [`HIGHEST`].
    pub fn record_n(&mut self, nanos: u64, count: u64) {
        self.0.saturating_record_n(nanos, count);
    }

    /// Adds all counts of another histogram.
    pub fn merge(&mut self, other: &Self) {
        // Addition cannot fail with equal bounds. Values of a foreign histogram with larger bounds are cut at HIGHEST.
        if self.0.add(&other.0).is_err() {
            for value in other.0.iter_recorded() {
                let (at, count) = (value.value_iterated_to().min(HIGHEST), value.count_at_value());
                let _in_bounds = self.0.record_n(at, count);
            }
        }
    }

    /// Number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The value at a quantile (0 to 1) in nanoseconds; `None` for an empty histogram.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<u64> {
        (!self.0.is_empty()).then(|| self.0.value_at_quantile(q))
    }

    /// The arithmetic mean in nanoseconds, within the histogram's precision; `None` for an empty histogram.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (!self.0.is_empty()).then(|| self.0.mean())
    }

    /// The sum of all values in nanoseconds, within the histogram's precision.
    #[must_use]
    pub fn sum(&self) -> f64 {
        self.mean().unwrap_or(0.0) * self.count() as f64
    }

    /// The highest value in nanoseconds; `None` for an empty histogram.
    #[must_use]
    pub fn max(&self) -> Option<u64> {
        (!self.0.is_empty()).then(|| self.0.max())
    }

    /// Every recorded value, to the histogram's precision, with its count; in ascending order.
    pub fn recorded(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0.iter_recorded().map(|value| (value.value_iterated_to(), value.count_at_value()))
    }

    /// The wire form of the histogram.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut bytes = Vec::new();
        // Writing to memory does not fail.
        let _written = V2DeflateSerializer::new().serialize(&self.0, &mut bytes);
        BASE64_STANDARD.encode(bytes)
    }

    /// The histogram of a wire form.
    ///
    /// # Errors
    /// When the text is not base64 or its bytes are not a compressed histogram.
    pub fn decode(text: &str) -> Result<Self, HistogramError> {
        let bytes = BASE64_STANDARD.decode(text.trim()).map_err(|e| HistogramError(e.to_string()))?;
        Deserializer::new()
            .deserialize::<u64, _>(&mut bytes.as_slice())
            .map(Self)
            .map_err(|e| HistogramError(format!("{e:?}")))
    }
}

impl TryFrom<String> for Histogram {
    type Error = HistogramError;
    fn try_from(text: String) -> Result<Self, HistogramError> {
        Self::decode(&text)
    }
}

impl From<Histogram> for String {
    fn from(histogram: Histogram) -> Self {
        histogram.encode()
    }
}

#[cfg(feature = "schema")]
impl JsonSchema for Histogram {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Histogram".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "HdrHistogram of nanoseconds (lowest 1, highest 3600000000000, 3 digits), V2 compressed, base64",
            "contentEncoding": "base64"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn survives_the_wire() {
        let mut h = Histogram::new();
        for v in [1, 1_000, 1_000_000, 5_000_000_000] {
            h.record(v);
        }
        let back = Histogram::decode(&h.encode()).expect("own encoding");
        assert_eq!(back, h);
        assert_eq!(back.count(), 4);
        assert!(back.max().is_some_and(|m| (5_000_000_000..5_005_000_000).contains(&m)));
    }

    #[test]
    fn too_long_is_counted_as_the_longest() {
        let mut h = Histogram::new();
        h.record(u64::MAX);
        assert_eq!(h.count(), 1);
        assert!(h.max().is_some_and(|m| m >= HIGHEST));
    }

    #[test]
    fn garbage_is_refused() {
        assert!(Histogram::decode("not base64!").is_err());
        assert!(Histogram::decode("AAAA").is_err());
        assert!(Histogram::decode("").is_err());
    }

    #[test]
    fn merging_adds() {
        let (mut a, mut b) = (Histogram::new(), Histogram::new());
        assert!(a.sum() == 0.0);
        a.record(10);
        b.record(1_000_000);
        a.merge(&b);
        assert_eq!((a.count(), a.quantile(0.5)), (2, Some(10)));
        assert!((a.sum() / 1_000_010.0 - 1.0).abs() < 1e-3);
    }
}
