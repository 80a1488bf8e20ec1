//! Differences between two runs in anything but the change under test, which make a ratio meaningless.

use std::collections::BTreeSet;
use std::fmt;

use litelab_model::Variant;
use litelab_protocol::Trial;
use litelab_record::RunInfo;
use litelab_record::ServerRecord;

/// Kind of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unlike {
    /// The machine, its kernel or its file system.
    Host,
    /// A driver, or its SQLite.
    Driver,
    /// The work: schema, data, transactions, settings.
    Work,
}

impl Unlike {
    /// Name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Driver => "driver",
            Self::Work => "work",
        }
    }
}

/// One difference between two runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Kind of the difference.
    pub of: Unlike,
    /// The difference in words: `the CPU is … in one and … in the other`.
    pub text: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Differences between two runs in host, builds, servers and work. `variants` has the indices of the compared variants.
#[must_use]
pub fn differences(base: &RunInfo, head: &RunInfo, variants: &[(usize, usize)]) -> Vec<Difference> {
    let mut found = host(base, head);
    found.extend(builds(base, head, variants));
    found.extend(servers(base, head));
    found.extend(work(base, head, variants));
    found
}

fn differ(of: Unlike, what: &str, base: Option<&str>, head: Option<&str>) -> Option<Difference> {
    let [one, other] = [base, head].map(|value| value.unwrap_or("unknown"));
    (base != head).then(|| Difference { of, text: format!("{what} is {one} in one and {other} in the other") })
}

pub(crate) fn host(base: &RunInfo, head: &RunInfo) -> Vec<Difference> {
    let (a, b) = (&base.environment, &head.environment);
    let kind = |info: &RunInfo| info.environment.filesystem.as_ref().and_then(|f| f.kind.clone());
    let options = |info: &RunInfo| info.environment.filesystem.as_ref().map(|f| f.options.join(","));
    // Its name can be another one after each start of a machine.
    let disk = |info: &RunInfo| {
        let disk = info.environment.disk.as_ref()?;
        Some(format!("{:?} {}", disk.kind, disk.model.as_deref().unwrap_or_default()).trim_end().to_lowercase())
    };
    let usable = |info: &RunInfo| info.environment.cpu.usable.map(|n| n.to_string());
    let differ = |what: &str, a: Option<&str>, b: Option<&str>| differ(Unlike::Host, what, a, b);
    [
        differ("the CPU", a.cpu.model.as_deref(), b.cpu.model.as_deref()),
        differ("the number of processors", usable(base).as_deref(), usable(head).as_deref()),
        differ("the kernel", a.kernel.release.as_deref(), b.kernel.release.as_deref()),
        differ("the file system", kind(base).as_deref(), kind(head).as_deref()),
        differ("the mount options", options(base).as_deref(), options(head).as_deref()),
        differ("the disk", disk(base).as_deref(), disk(head).as_deref()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn builds(base: &RunInfo, head: &RunInfo, variants: &[(usize, usize)]) -> Vec<Difference> {
    let used: BTreeSet<&str> =
        variants.iter().filter_map(|(index, _)| base.plan.variants.get(*index)).map(|a| a.driver.as_str()).collect();
    let differences = used.into_iter().flat_map(|name| {
        let (a, b) = (base.driver(name).map(|(_, driver)| driver), head.driver(name).map(|(_, driver)| driver));
        let version = |d: Option<&litelab_protocol::DriverDescription>| d.map(|d| d.version.clone());
        let differ = |what: &str, a: Option<&str>, b: Option<&str>| differ(Unlike::Driver, what, a, b);
        // The source id changes with every check-in: two builds of one version may differ.
        let sqlite = |d: Option<&litelab_protocol::DriverDescription>| {
            let build = d?.sqlite.as_ref()?;
            Some(format!("{} ({})", build.version, build.source_id))
        };
        [
            differ(&format!("driver {name}"), version(a).as_deref(), version(b).as_deref()),
            differ(&format!("the SQLite in {name}"), sqlite(a).as_deref(), sqlite(b).as_deref()),
        ]
    });
    differences.flatten().collect()
}

/// Differences in the versions and owners of servers that both runs used. For a server that only one run used, the
/// variants differ.
fn servers(base: &RunInfo, head: &RunInfo) -> Vec<Difference> {
    let both = base.servers.iter().filter_map(|(name, a)| Some((name, a, head.servers.get(name)?)));
    let text =
        |server: &ServerRecord| format!("{}{}", server.version, if server.own { ", one of your own" } else { "" });
    both.filter_map(|(name, a, b)| differ(Unlike::Driver, &format!("server {name}"), Some(&text(a)), Some(&text(b))))
        .collect()
}

/// Each kind of difference once, with the first variant that has it.
fn work(base: &RunInfo, head: &RunInfo, variants: &[(usize, usize)]) -> Vec<Difference> {
    let mut found: Vec<Difference> = Vec::new();
    for (ours, theirs) in variants {
        let (Some(a), Some(b)) = (base.plan.variants.get(*ours), head.plan.variants.get(*theirs)) else { continue };
        for part in parts(a, b) {
            if !found.iter().any(|d| d.text.starts_with(part)) {
                let text = format!("{part} differ (first in {})", base.plan.variant_name(*ours));
                found.push(Difference { of: Unlike::Work, text });
            }
        }
    }
    found
}

/// Names of the parts of a variant that differ. The seed may differ: it changes values, not their distribution.
pub(crate) fn parts(a: &Variant, b: &Variant) -> Vec<&'static str> {
    let (s, t): (&Trial, &Trial) = (&a.trial, &b.trial);
    [
        ("the schemas", a.schema == b.schema),
        ("the preloaded rows", a.data == b.data),
        ("the transactions", s.transactions == t.transactions),
        ("the roles", s.roles == t.roles),
        ("the driver's options", s.connection.options == t.connection.options),
        ("the retry policies", s.retry == t.retry),
        ("the drivers", a.driver == b.driver),
        ("the sharings", s.sharing == t.sharing),
        ("the executors", (s.executor, s.runtime_threads) == (t.executor, t.runtime_threads)),
        ("the ways of preparing statements", s.prepare == t.prepare),
        ("the warm-ups", s.warmup_ms == t.warmup_ms),
        ("the locations", a.location == b.location),
        ("the numbers of databases", a.databases == b.databases),
        ("the servers", a.server == b.server),
        ("the settings", a.settings == b.settings),
        ("the searches", a.search == b.search),
        ("the kills", a.kill == b.kill),
        ("the numbers of processes", a.processes == b.processes),
        ("the largest shares of failures", a.failed_at_most == b.failed_at_most),
        ("the intervals of the host's timer", s.probe_ms == t.probe_ms),
    ]
    .into_iter()
    .filter(|(_, same)| !same)
    .map(|(part, _)| part)
    .collect()
}
