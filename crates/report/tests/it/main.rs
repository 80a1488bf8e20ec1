//! Integration tests of this package, in one program.

mod answer;
mod calibration;
mod common;
mod compare;
mod confirm;
mod content;
mod crossover;
mod drivers;
mod export;
mod html;
mod measures;
mod outcome;
mod pivot;
mod properties;
mod rare;
mod repeat;
mod rows;
mod settings;
mod terminal;
mod verdicts;
