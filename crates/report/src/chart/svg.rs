//! What is around every picture.

use maud::{Markup, html};

use super::Chart;

/// Units from left to right in every picture.
pub(super) const WIDTH: f64 = 440.0;

/// The picture with its title and description.
pub(super) fn figure(chart: &dyn Chart, id: &str, height: f64, inner: Markup) -> Markup {
    html! {
        svg.chart role="img" xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (WIDTH) " " (height.ceil()) }
            aria-labelledby={ (id) "-title " (id) "-desc" } {
            title id={ (id) "-title" } { (chart.title()) }
            desc id={ (id) "-desc" } { (chart.description()) }
            (inner)
        }
    }
}
