//! Frame of a page: its policy, its style and its script.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use crate::chart;

const PAGE_CSS: &str = include_str!("../../assets/page/page.css");
const PAGE_JS: &str = include_str!("../../assets/page/page.js");
const LIVE_JS: &str = include_str!("../../assets/page/live.js");
const UPLOT_CSS: &str = include_str!("../../assets/uplot/uPlot.min.css");
const UPLOT_JS: &str = include_str!("../../assets/uplot/uPlot.iife.min.js");
const UPLOT_LICENCE: &str = include_str!("../../assets/uplot/LICENSE");

fn style(live: bool) -> String {
    let uplot = if live { UPLOT_CSS } else { "" };
    [PAGE_CSS, chart::CSS, uplot].concat()
}

fn script(live: bool) -> String {
    if live { format!("{PAGE_JS}/*\n{UPLOT_LICENCE}*/\n{UPLOT_JS}\n{LIVE_JS}") } else { PAGE_JS.to_owned() }
}

/// Source expression of a Content-Security-Policy that allows exactly this text.
fn hash(text: &str) -> String {
    format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(text)))
}

/// Renders the whole page. Only with `live` it has uPlot.
pub(super) fn page(title: &str, body: &Markup, live: bool) -> String {
    let style = style(live);
    let script = script(live);
    let policy = format!(
        "default-src 'none'; style-src {}; script-src {}; img-src data:; base-uri 'none'; form-action 'none'",
        hash(&style),
        hash(&script)
    );
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                meta name="generator" content="litelab";
                title { (title) }
                // Avoids a request for `favicon.ico` if a server delivers the page.
                link rel="icon" href="data:,";
                style { (PreEscaped(&style)) }
            }
            body {
                a.skip href="#main" { "Skip to the answer" }
                (body)
                script { (PreEscaped(&script)) }
            }
        }
    };
    page.into_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_in_whole_cannot_end_its_element() {
        assert!(!style(true).contains("</"));
        assert!(!script(true).to_ascii_lowercase().contains("</script") && !script(true).contains("<!--"));
        // The comment with the licence must not end early.
        assert!(!UPLOT_LICENCE.contains("*/"));
    }

    #[test]
    fn the_policy_names_the_very_texts() {
        let page = page("t", &html! {}, true);
        let between = |open: &str, close: &str| {
            let (_, rest) = page.split_once(open).unwrap();
            rest.split_once(close).unwrap().0
        };
        assert!(
            page.contains(&hash(between("<style>", "</style>")).replace('\'', "&#39;"))
                || page.contains(&hash(between("<style>", "</style>")))
        );
        let script = hash(between("<script>", "</script>"));
        assert!(page.contains(&script), "{script}");
        // The output of `printf 'a' | openssl dgst -sha256 -binary | base64`.
        assert_eq!(hash("a"), "'sha256-ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs='");
    }
}
