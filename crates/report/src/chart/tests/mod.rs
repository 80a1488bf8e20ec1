//! Every chart, whatever it is given: sound SVG that says what it shows.

mod arbitrary;
mod contrast;
pub(crate) mod look;
pub(crate) mod sound;
