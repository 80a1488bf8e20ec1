//! The option `--allow-unlike`, shared by `compare` and `repeat`.

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use litelab_report::compare::Unlike;

/// Differences between two runs that the user permits.
#[derive(clap::Args)]
pub struct Allowance {
    /// Continue although the runs differ in host, driver or work (schema, data, transactions, settings); without a
    /// value: in any of them
    #[arg(
        long = "allow-unlike",
        value_name = "WHAT",
        value_parser = PossibleValuesParser::new(["host", "driver", "work"]).map(|kind| match kind.as_str() {
            "host" => Unlike::Host,
            "driver" => Unlike::Driver,
            _ => Unlike::Work,
        }),
        value_delimiter = ',',
        num_args = 0..,
        require_equals = true,
        default_missing_value = "host,driver,work"
    )]
    pub kinds: Vec<Unlike>,
}
