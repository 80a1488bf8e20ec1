//! Arithmetic over named numbers: `$rows * 2`, `committed.enqueue + $data_rows`.
//!
//! Grammar: `sum = product (('+'|'-') product)*`, `product = factor (('*'|'/') factor)*`,
//! `factor = number | name | '$'name | '(' sum ')' | '-' factor`. A number can end in `k`, `M` or `G` (10³, 10⁶, 10⁹),
//! as litelab prints them. Division is that of doubles; the caller checks whether a result is an integer.

use std::iter::Peekable;
use std::str::CharIndices;

/// The value of an expression; `lookup` returns the value of a name (including its `$`, if any).
///
/// # Errors
/// One line with the invalid part or the unknown name.
pub fn evaluate(text: &str, lookup: &dyn Fn(&str) -> Result<f64, String>) -> Result<f64, String> {
    let mut parser = Parser { text, chars: text.char_indices().peekable(), lookup, depth: 0 };
    let value = parser.sum()?;
    parser.skip_space();
    match parser.chars.next() {
        None if value.is_finite() => Ok(value),
        None => Err(format!("`{text}` is not a finite number")),
        Some((_, c)) => Err(format!("`{text}`: unexpected `{c}`")),
    }
}

/// Names in an expression in order of appearance, for checks before their values are known. Stops at the first syntax
/// error.
#[must_use]
pub fn names(text: &str) -> Vec<String> {
    let found = std::cell::RefCell::new(Vec::new());
    let _value = evaluate(text, &|name| {
        found.borrow_mut().push(name.to_owned());
        Ok(1.0)
    });
    found.into_inner()
}

/// Maximum nesting: more than a reasonable expression needs, and far below the stack limit.
const MAX_DEPTH: u32 = 64;

struct Parser<'a> {
    text: &'a str,
    chars: Peekable<CharIndices<'a>>,
    lookup: &'a dyn Fn(&str) -> Result<f64, String>,
    depth: u32,
}

impl Parser<'_> {
    fn skip_space(&mut self) {
        while self.chars.next_if(|(_, c)| c.is_whitespace()).is_some() {}
    }

    fn one_of(&mut self, wanted: &[char]) -> Option<char> {
        self.skip_space();
        self.chars.next_if(|(_, c)| wanted.contains(c)).map(|(_, c)| c)
    }

    fn sum(&mut self) -> Result<f64, String> {
        let mut value = self.product()?;
        while let Some(op) = self.one_of(&['+', '-']) {
            let right = self.product()?;
            if op == '+' { value += right } else { value -= right }
        }
        Ok(value)
    }

    fn product(&mut self) -> Result<f64, String> {
        let mut value = self.factor()?;
        while let Some(op) = self.one_of(&['*', '/']) {
            let right = self.factor()?;
            if op == '*' { value *= right } else { value /= right }
        }
        Ok(value)
    }

    fn factor(&mut self) -> Result<f64, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!("`{}` is nested too deeply", self.text));
        }
        let value = self.bare_factor();
        self.depth -= 1;
        value
    }

    fn bare_factor(&mut self) -> Result<f64, String> {
        if self.one_of(&['-']).is_some() {
            return Ok(-self.factor()?);
        }
        if self.one_of(&['(']).is_some() {
            let value = self.sum()?;
            return match self.one_of(&[')']) {
                Some(_) => Ok(value),
                None => Err(format!("`{}`: `)` is missing", self.text)),
            };
        }
        self.skip_space();
        let Some(&(start, first)) = self.chars.peek() else {
            return Err(format!("`{}` ends where a number or name should stand", self.text));
        };
        let mut end = start;
        while let Some((at, c)) = self.chars.next_if(|(_, c)| c.is_alphanumeric() || matches!(c, '$' | '_' | '.')) {
            end = at + c.len_utf8();
        }
        let word = &self.text[start..end];
        // Names of roles and transactions can contain `-`. It joins two letters without spaces, and only after a prefix
        // with a dot, where a number is impossible.
        if first.is_ascii_digit() {
            return number(word).ok_or_else(|| format!("`{word}` is not a number"));
        }
        if word.is_empty() {
            return Err(format!("`{}`: unexpected `{first}`", self.text));
        }
        let mut name = word.to_owned();
        while name.contains('.') && self.chars.peek().is_some_and(|(_, c)| *c == '-') {
            self.chars.next();
            name.push('-');
            while let Some((_, c)) = self.chars.next_if(|(_, c)| c.is_alphanumeric() || matches!(c, '_' | '.')) {
                name.push(c);
            }
        }
        (self.lookup)(&name)
    }
}

/// Parses digits, with optional `_` between them and an optional `k`, `M` or `G`.
fn number(word: &str) -> Option<f64> {
    const SCALES: [(char, f64); 3] = [('k', 1e3), ('M', 1e6), ('G', 1e9)];
    let found = SCALES.iter().find_map(|(letter, scale)| Some((word.strip_suffix(*letter)?, *scale)));
    let (digits, scale) = found.unwrap_or((word, 1.0));
    digits.replace('_', "").parse::<f64>().ok().map(|value| value * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<f64, String> {
        evaluate(text, &|name| match name {
            "$rows" => Ok(1000.0),
            "committed.insert" => Ok(7.0),
            "committed.read-all" => Ok(5.0),
            other => Err(format!("unknown {other}")),
        })
    }

    #[test]
    fn arithmetic() {
        assert_eq!(value("1 + 2 * 3 - 8 / 4"), Ok(5.0));
        assert_eq!(value("-(1 + 2) * $rows"), Ok(-3000.0));
        assert_eq!(value("1_000_000 + committed.insert"), Ok(1_000_007.0));
        assert_eq!(value("10k + 1.5M * 2 - 1G"), Ok(10_000.0 + 3_000_000.0 - 1e9));
        assert_eq!(value("committed.read-all * 2"), Ok(10.0));
    }

    #[test]
    fn mistakes_are_named() {
        for (text, part) in [
            ("", "ends where"),
            ("1 +", "ends where"),
            ("(1", "`)` is missing"),
            ("1 2", "unexpected `2`"),
            ("nope", "unknown nope"),
            ("1/0", "not a finite number"),
            ("3x", "not a number"),
            ("3kk", "not a number"),
            ("k3", "unknown k3"),
            ("*", "unexpected `*`"),
        ] {
            let error = value(text).expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
        assert!(value(&"(".repeat(10_000)).is_err());
    }

    #[test]
    fn names_are_found() {
        assert_eq!(names("$rows * committed.insert + 2"), ["$rows", "committed.insert"]);
    }
}
