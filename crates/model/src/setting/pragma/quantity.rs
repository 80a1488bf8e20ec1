//! Numbers and quantities in informal notation, converted for the remedies of errors.

use super::vocabulary::Unit;

/// Page size in bytes for conversions between pages and bytes: SQLite's default.
pub(super) const PAGE: i64 = 4096;

/// The number that a text consists of: decimal with an optional sign, or `0x` with hexadecimal digits.
pub(super) fn whole_number(text: &str) -> Option<i64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) if digits.starts_with(['+', '-']) => None,
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Whether SQLite accepts a number of bytes as a page size.
pub(super) fn is_page_size(bytes: &i64) -> bool {
    (512..=65536).contains(bytes) && bytes.count_ones() == 1
}

/// The plain number for one with a unit ("64MB", "5 seconds") or in another notation ("1_000", "1e6"), worded to follow
/// "write". `None` if the text is neither, or if the number is not within `min..=max`.
pub(super) fn in_plain_digits(text: &str, unit: Unit, min: i64, max: i64) -> Option<String> {
    let (number, suffix) = split(text)?;
    let fits = |value: f64| -> Option<i64> {
        let value = value.round();
        // Above 2^53 a double does not represent every integer, and no reasonable value is that large.
        (value.abs() < 9e15).then_some(value as i64).filter(|value| (min..=max).contains(value))
    };
    if suffix.is_empty() {
        let whole = Some(number).filter(|number| number.fract() == 0.0).and_then(fits);
        return whole.filter(|value| unit != Unit::Mask || value & 2 != 0).map(|value| value.to_string());
    }
    let counts_pages = matches!(unit, Unit::Pages | Unit::Frames | Unit::PagesOrKib);
    if counts_pages && matches!(suffix.as_str(), "page" | "pages" | "frame" | "frames") {
        return fits(number).map(|value| value.to_string());
    }
    match unit {
        Unit::Milliseconds => fits(number * milliseconds(&suffix)?).map(|value| value.to_string()),
        // A negative number is in KiB, so the result is negative in any case.
        Unit::PagesOrKib => both(number, &suffix, |bytes| fits(-bytes.abs() / 1024.0), " as KiB"),
        Unit::Bytes => both(number, &suffix, fits, ""),
        Unit::Pages | Unit::Frames => both(number, &suffix, |bytes| fits(bytes / PAGE as f64), " in 4096-byte pages"),
        Unit::Count | Unit::Mask | Unit::Plain => None,
    }
}

/// A size in bytes, binary if the suffix is ambiguous: a page size of "4k" is 4096.
pub(super) fn binary_bytes(text: &str) -> Option<i64> {
    let (number, suffix) = split(text)?;
    let (_, binary) = bytes(&suffix)?;
    Some(number * binary).filter(|value| value.abs() < 9e15 && value.fract() == 0.0).map(|value| value as i64)
}

/// The decimal interpretation, followed by the binary one if the suffix is ambiguous: "-62500 (64 MB as KiB) or -65536
/// (64 MiB)".
fn both(number: f64, suffix: &str, convert: impl Fn(f64) -> Option<i64>, how: &str) -> Option<String> {
    let (decimal, binary) = bytes(suffix)?;
    let letter = suffix[..1].to_ascii_uppercase();
    let decimal_name = if decimal == 1.0 { "bytes".to_owned() } else { format!("{letter}B") };
    let first = convert(number * decimal)?;
    if decimal == binary {
        let name = if suffix.ends_with("ib") { format!("{letter}iB") } else { decimal_name };
        return Some(format!("{first} ({number} {name}{how})"));
    }
    match convert(number * binary) {
        Some(second) => Some(format!("{first} ({number} {decimal_name}{how}) or {second} ({number} {letter}iB)")),
        None => Some(format!("{first} ({number} {decimal_name}{how})")),
    }
}

/// The number at the start of a text, and the rest in lower case without surrounding blanks.
fn split(text: &str) -> Option<(f64, String)> {
    let text = text.trim();
    let is_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | '_' | '+' | '-');
    let digits = text.find(|c| !is_number(c)).unwrap_or(text.len());
    // "1e6" is a number, "5 eggs" is not.
    let plain = text.replace('_', "");
    if let Ok(number) = plain.parse::<f64>()
        && plain.starts_with(|c: char| is_number(c))
    {
        return number.is_finite().then(|| (number, String::new()));
    }
    let number: f64 = text[..digits].replace('_', "").parse().ok()?;
    Some((number, text[digits..].trim().to_ascii_lowercase()))
}

/// Size of a unit in bytes, decimal and binary; both are equal if the suffix is unambiguous.
fn bytes(suffix: &str) -> Option<(f64, f64)> {
    let power = |exponent: i32| (1000_f64.powi(exponent), 1024_f64.powi(exponent));
    let binary = |exponent: i32| (1024_f64.powi(exponent), 1024_f64.powi(exponent));
    match suffix {
        "b" | "byte" | "bytes" => Some((1.0, 1.0)),
        "k" | "kb" => Some(power(1)),
        "m" | "mb" => Some(power(2)),
        "g" | "gb" => Some(power(3)),
        "t" | "tb" => Some(power(4)),
        "kib" => Some(binary(1)),
        "mib" => Some(binary(2)),
        "gib" => Some(binary(3)),
        "tib" => Some(binary(4)),
        _ => None,
    }
}

fn milliseconds(suffix: &str) -> Option<f64> {
    match suffix {
        "ms" | "msec" | "msecs" | "millis" | "millisecond" | "milliseconds" => Some(1.0),
        "s" | "sec" | "secs" | "second" | "seconds" => Some(1000.0),
        "min" | "mins" | "minute" | "minutes" => Some(60_000.0),
        "h" | "hour" | "hours" => Some(3_600_000.0),
        _ => None,
    }
}
