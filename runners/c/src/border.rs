//! The shim's side of `border.h`, which is the contract of each function here.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::slice;
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use litelab_protocol::draw::Value as Scalar;
use litelab_protocol::histogram::{DIGITS, HIGHEST, LOWEST};
use litelab_protocol::{Inspect, Trial, codes};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Messages that were read. C keeps pointers into them until the process ends.
// Boxed, for they stay where they are as the list grows.
#[allow(clippy::vec_box)]
static READ: Mutex<Vec<Box<Value>>> = Mutex::new(Vec::new());

unsafe extern "C" {
    fn malloc(size: usize) -> *mut c_void;
}

/// A C string that C frees. Null when memory ran out.
fn lent(text: &str) -> *mut c_char {
    // SAFETY: so many bytes were asked for.
    unsafe {
        let copy: *mut u8 = malloc(text.len() + 1).cast();
        if !copy.is_null() {
            copy.copy_from_nonoverlapping(text.as_ptr(), text.len());
            copy.add(text.len()).write(0);
        }
        copy.cast()
    }
}

/// The bytes at a pointer, which may be null where there are none.
unsafe fn bytes<'a>(at: *const u8, length: usize) -> &'a [u8] {
    // SAFETY: the caller's.
    if length == 0 { &[] } else { unsafe { slice::from_raw_parts(at, length) } }
}

fn read(line: &[u8], message: c_int) -> Result<Value, String> {
    // The protocol's types refuse what is unknown, missing or of another type.
    match message {
        1 => drop(serde_json::from_slice::<Trial>(line).map_err(|e| format!("not a trial: {e}"))?),
        2 => drop(serde_json::from_slice::<Inspect>(line).map_err(|e| format!("not an inspect request: {e}"))?),
        _ => {}
    }
    serde_json::from_slice(line).map_err(|e| format!("not JSON: {e}"))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn json_read(
    line: *const u8,
    length: usize,
    message: c_int,
    error: *mut *mut c_char,
) -> *const Value {
    // SAFETY: `line` has `length` bytes.
    match read(unsafe { bytes(line, length) }, message) {
        Ok(value) => {
            let value = Box::new(value);
            let at: *const Value = &*value;
            READ.lock().unwrap_or_else(PoisonError::into_inner).push(value);
            at
        }
        Err(reason) => {
            // SAFETY: `error` is a place for a pointer.
            unsafe { *error = lent(&reason) };
            std::ptr::null()
        }
    }
}

fn pointer(value: Option<&Value>) -> *const Value {
    value.map_or(std::ptr::null(), std::ptr::from_ref)
}

/// Hands a text over with its length.
fn text(text: Option<&str>, length: &mut usize) -> *const c_char {
    *length = text.map_or(0, str::len);
    text.map_or(std::ptr::null(), |text| text.as_ptr().cast())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn json_member(object: &Value, key: *const c_char) -> *const Value {
    // SAFETY: `key` is a C string.
    pointer(unsafe { CStr::from_ptr(key) }.to_str().ok().and_then(|key| object.get(key)))
}

#[unsafe(no_mangle)]
extern "C" fn json_length(json: &Value) -> usize {
    json.as_array().map(Vec::len).or_else(|| json.as_object().map(|o| o.len())).unwrap_or_default()
}

#[unsafe(no_mangle)]
extern "C" fn json_element(array: &Value, index: usize) -> *const Value {
    pointer(array.get(index))
}

#[unsafe(no_mangle)]
extern "C" fn json_key(object: &Value, index: usize, length: &mut usize) -> *const c_char {
    text(object.as_object().and_then(|o| o.keys().nth(index)).map(String::as_str), length)
}

#[unsafe(no_mangle)]
extern "C" fn json_kind(json: &Value) -> c_int {
    match Scalar::from_json(json) {
        Some(Scalar::Null) => 0,
        Some(Scalar::Integer(_)) => 1,
        Some(Scalar::Real(_)) => 2,
        Some(Scalar::Text(_)) => 3,
        None => 4,
    }
}

#[unsafe(no_mangle)]
extern "C" fn json_integer(json: &Value) -> i64 {
    let unsigned = json.as_u64().map(|u| u as i64);
    unsigned.or_else(|| json.as_i64()).or_else(|| json.as_bool().map(i64::from)).unwrap_or_default()
}

#[unsafe(no_mangle)]
extern "C" fn json_real(json: &Value) -> f64 {
    json.as_f64().unwrap_or_default()
}

#[unsafe(no_mangle)]
extern "C" fn json_text(json: &Value, length: &mut usize) -> *const c_char {
    text(json.as_str(), length)
}

#[unsafe(no_mangle)]
extern "C" fn real_text(value: f64) -> *mut c_char {
    lent(&value.to_string())
}

#[unsafe(no_mangle)]
extern "C" fn code_name(code: c_int, name: &mut [u8; 64]) {
    let known = codes::name(code).as_bytes();
    let length = known.len().min(63);
    name[..length].copy_from_slice(&known[..length]);
    name[length] = 0;
}

#[unsafe(no_mangle)]
unsafe extern "C" fn code_of(name: *const c_char) -> c_int {
    // SAFETY: `name` is a C string.
    unsafe { CStr::from_ptr(name) }.to_str().ok().and_then(codes::code).unwrap_or(-1)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sha256(message: *const u8, length: usize, digest: &mut [u8; 32]) {
    // SAFETY: `message` has `length` bytes.
    *digest = Sha256::digest(unsafe { bytes(message, length) }).into();
}

/// An empty histogram of the protocol.
fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(LOWEST, HIGHEST, DIGITS).expect("the protocol's bounds are valid")
}

/// The lowest value that is counted at an index: the first 2048 indices are the values themselves, then each 1024
/// indices cover twice the range of those before.
fn lowest_at(index: usize) -> u64 {
    match index.checked_sub(2048) {
        None => index as u64,
        Some(beyond) => ((beyond % 1024) as u64 + 1024) << (beyond / 1024 + 1),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn histogram_encode(counts: *const u64) -> *mut c_char {
    let mut histogram = histogram();
    // SAFETY: `counts` has an element for every index of such a histogram.
    let counts = unsafe { slice::from_raw_parts(counts, histogram.distinct_values()) };
    for (index, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        histogram.record_n(lowest_at(index), count).expect("every index lies within the bounds");
    }
    let mut wire = Vec::new();
    // Writing to memory does not fail.
    let _written = V2DeflateSerializer::new().serialize(&histogram, &mut wire);
    lent(&BASE64_STANDARD.encode(wire))
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" {
        fn histogram_index(nanos: u64) -> usize;
        fn histogram_length() -> usize;
        fn free(at: *mut c_void);
    }

    /// The wire form of what C counted.
    fn counted_by_c(values: &[u64]) -> String {
        // SAFETY: they take and return numbers.
        let length = unsafe { histogram_length() };
        assert_eq!(length, histogram().distinct_values());
        let mut counts = vec![0_u64; length];
        for &value in values {
            // SAFETY: as above.
            counts[unsafe { histogram_index(value) }] += 1;
        }
        // SAFETY: `counts` has the length that was just compared; the text is C's to free.
        unsafe {
            let text = histogram_encode(counts.as_ptr());
            let wire = CStr::from_ptr(text).to_str().expect("ASCII").to_owned();
            free(text.cast());
            wire
        }
    }

    /// The wire form of what the protocol's own type counts.
    fn counted_by_rust(values: &[u64]) -> String {
        let mut histogram = litelab_protocol::histogram::Histogram::new();
        values.iter().for_each(|&value| histogram.record(value));
        histogram.encode()
    }

    #[test]
    fn c_counts_where_the_library_does() {
        let mut values = vec![0, u64::MAX, HIGHEST - 1, HIGHEST, HIGHEST + 1];
        for bit in 0..64 {
            values.extend([1_u64 << bit, (1 << bit) - 1, (1 << bit) + 1, (1 << bit) + (1 << bit) / 3]);
        }
        for &value in &values {
            assert_eq!(counted_by_c(&[value]), counted_by_rust(&[value]), "{value}");
        }
        assert_eq!(counted_by_c(&values), counted_by_rust(&values));
    }

    #[test]
    fn the_vector_is_counted() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates/protocol/vectors/histogram.json");
        let file: Value = serde_json::from_str(&std::fs::read_to_string(path).expect("vector")).expect("JSON");
        let values: Vec<u64> = serde_json::from_value(file["values"].clone()).expect("values");
        let decode = |wire: &str| litelab_protocol::histogram::Histogram::decode(wire).expect("wire form");
        let expected = decode(file["encoded"].as_str().expect("text"));
        assert!(values.len() > 100);
        assert!(decode(&counted_by_c(&values)) == expected);
        assert!(decode(&counted_by_c(&values[1..])) != expected, "a value left out is seen");
    }

    #[test]
    fn only_the_protocols_messages_are_accepted() {
        assert!(read(b"{\"type\":\"go\"}", 0).is_ok());
        assert!(read(b"{\"type\":\"go\"}", 1).is_err_and(|e| e.contains("not a trial")));
        assert!(read(b"{\"type\":", 0).is_err());
    }
}
