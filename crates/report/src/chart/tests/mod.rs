//! Every chart, for any data: sound SVG with the expected contents.

mod arbitrary;
mod contrast;
pub(crate) mod look;
pub(crate) mod sound;
