//! Every chart, whatever it is given: sound SVG that says what it shows.

mod arbitrary;
mod contrast;
mod look;
pub(super) mod sound;
