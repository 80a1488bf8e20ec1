//! Serialisation of the fields of an analysis whose derived form would give too much or too little: a ratio without an
//! interval is left out, and an unknown value is replaced by `{ reason }`.

use std::collections::BTreeMap;
use std::fmt::Display;

use litelab_protocol::ErrorCount;
use litelab_stats::{Estimate, PairedRatio, Usl};
use serde::{Serialize, Serializer};

use crate::number;

/// Replacement for an unknown value.
#[derive(Serialize)]
struct Unknown<'a> {
    reason: &'a str,
}

/// Serialises `{ value, n, bounds, p_value }`, or `{ reason }` without an interval.
pub(super) fn ratio<S: Serializer>(of: &PairedRatio, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Ratio<'a> {
        #[serde(flatten)]
        estimate: &'a Estimate,
        p_value: f64,
    }
    match of.ratio.interval() {
        Some(_) => Ratio { estimate: &of.ratio, p_value: of.p_value }.serialize(serializer),
        None => Unknown { reason: &number::needs(&of.ratio) }.serialize(serializer),
    }
}

pub(super) fn ratio_if_any<S: Serializer>(of: &Option<PairedRatio>, serializer: S) -> Result<S::Ok, S::Error> {
    match of {
        Some(paired) => ratio(paired, serializer),
        None => serializer.serialize_none(),
    }
}

pub(super) fn known_ratio<S: Serializer>(of: &Result<PairedRatio, String>, serializer: S) -> Result<S::Ok, S::Error> {
    match of {
        Ok(paired) => ratio(paired, serializer),
        Err(reason) => Unknown { reason }.serialize(serializer),
    }
}

pub(super) fn known<T: Serialize, S: Serializer>(of: &Result<T, String>, serializer: S) -> Result<S::Ok, S::Error> {
    match of {
        Ok(known) => known.serialize(serializer),
        Err(reason) => Unknown { reason }.serialize(serializer),
    }
}

pub(super) fn known_if_any<T: Serialize, S: Serializer>(
    of: &Option<Result<T, String>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match of {
        Some(of) => known(of, serializer),
        None => serializer.serialize_none(),
    }
}

/// Serialises the law together with the number of workers at its peak.
pub(super) fn law<S: Serializer>(of: &Result<Usl, String>, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Law<'a> {
        #[serde(flatten)]
        law: &'a Usl,
        peak: Option<f64>,
    }
    match of {
        Ok(law) => Law { law, peak: law.peak() }.serialize(serializer),
        Err(reason) => Unknown { reason }.serialize(serializer),
    }
}

/// Serialises a list of `{ transaction, code, seen, cured, message }`.
pub(super) fn errors<S: Serializer>(
    of: &BTreeMap<(String, String), ErrorCount>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Errors<'a> {
        transaction: &'a str,
        code: &'a str,
        #[serde(flatten)]
        count: &'a ErrorCount,
    }
    serializer.collect_seq(of.iter().map(|((transaction, code), count)| Errors { transaction, code, count }))
}

/// Serialises the displayed text.
pub(super) fn displayed<T: Display, S: Serializer>(of: &Option<T>, serializer: S) -> Result<S::Ok, S::Error> {
    match of {
        Some(of) => serializer.collect_str(of),
        None => serializer.serialize_none(),
    }
}
