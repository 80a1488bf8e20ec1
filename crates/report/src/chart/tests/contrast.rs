//! Contrast of colours with their background, in both themes (WCAG 2.2, 1.4.3 and 1.4.11).

use std::collections::BTreeMap;

use crate::chart::CSS;

/// Variables of the light and of the dark theme.
fn themes() -> Vec<BTreeMap<&'static str, &'static str>> {
    let blocks = CSS.split('{').filter(|block| block.trim_start().starts_with("--"));
    let theme = |block: &'static str| {
        let declarations = block.split('}').next().unwrap_or_default().split(';');
        let pairs = declarations.filter_map(|declaration| declaration.trim().split_once(": "));
        pairs.filter_map(|(name, value)| Some((name.strip_prefix("--")?, value))).collect()
    };
    blocks.map(theme).collect()
}

/// Relative luminance of `#rrggbb`.
fn luminance(colour: &str) -> f64 {
    let channel = |at: usize| {
        let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
        if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
}

fn contrast(one: &str, other: &str) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

#[test]
fn contrast_is_as_defined() {
    assert!((contrast("#000000", "#ffffff") - 21.0).abs() < 1e-9);
    assert!((contrast("#767676", "#ffffff") - 4.54).abs() < 0.01);
}

#[test]
fn texts_and_marks_stand_out_in_both_themes() {
    let themes = themes();
    assert_eq!(themes.len(), 2, "light and dark");
    for theme in &themes {
        assert_eq!(theme.keys().collect::<Vec<_>>(), themes[0].keys().collect::<Vec<_>>());
        let at_least = |least: f64, mark: &str, ground: &str| {
            let found = contrast(theme[mark], theme[ground]);
            assert!(found >= least, "{mark} upon {ground} ({}): {found:.2}", theme["paper"]);
        };
        for text in ["text", "dim"] {
            at_least(4.5, text, "paper");
        }
        for mark in ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "axis", "plain", "bad"] {
            at_least(3.0, mark, "paper");
        }
    }
}

#[test]
fn every_class_of_a_series_has_its_colour() {
    for series in 0..crate::chart::draw::mark::SERIES {
        assert!(CSS.contains(&format!(".chart .s{series} {{ color: var(--s{series}); }}")));
    }
}
