//! In what two runs may differ: what `compare` and `repeat` have in common.

use litelab_report::compare::Unlike;

/// What is allowed.
#[derive(clap::Args)]
pub struct Allowance {
    /// Go on all the same where the runs differ in these: host, driver, work (what was run); in anything, if none is
    /// named
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
    /// The kinds of differences.
    pub fn kinds(&self) -> Vec<Unlike> {
        let kind = |allowed: &Allowed| match allowed {
            Allowed::Host => Unlike::Host,
            Allowed::Driver => Unlike::Driver,
            Allowed::Work => Unlike::Work,
        };
        self.allow_unlike.iter().map(kind).collect()
    }
}
