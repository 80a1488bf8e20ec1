//! The option `--allow-unlike`, shared by `compare` and `repeat`.

use litelab_report::compare::Unlike;

/// Differences between two runs that the user permits.
#[derive(clap::Args)]
pub struct Allowance {
    /// Continue although the runs differ in host, driver or work (schema, data, transactions, settings); without a
    /// value: in any of them
    #[arg(
        long,
        value_name = "WHAT",
        value_enum,
        value_delimiter = ',',
        num_args = 0..,
        require_equals = true,
        default_missing_value = "host,driver,work"
    )]
    allow_unlike: Vec<Allowed>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Allowed {
    Host,
    Driver,
    Work,
}

impl Allowance {
    /// The permitted kinds of difference.
    pub fn kinds(&self) -> Vec<Unlike> {
        let kind = |allowed: &Allowed| match allowed {
            Allowed::Host => Unlike::Host,
            Allowed::Driver => Unlike::Driver,
            Allowed::Work => Unlike::Work,
        };
        self.allow_unlike.iter().map(kind).collect()
    }
}
