//! Differences between two runs in anything but the change under test, which make a ratio meaningless.

use std::collections::BTreeSet;
use std::fmt;

use litelab_model::Variant;
use litelab_protocol::Trial;
use litelab_record::environment::Environment;
use litelab_record::{RunInfo, ServerRecord};

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

fn differ(of: Unlike, what: &str, base: Option<String>, head: Option<String>) -> Option<Difference> {
    if base == head {
        return None;
    }
    let [one, other] = [base, head].map(|value| value.unwrap_or_else(|| "unknown".into()));
    Some(Difference { of, text: format!("{what} is {one} in one and {other} in the other") })
}

pub(crate) fn host(base: &RunInfo, head: &RunInfo) -> Vec<Difference> {
    // Its name can be another one after each start of a machine.
    let disk = |of: &Environment| {
        let disk = of.disk.as_ref()?;
        Some(format!("{:?} {}", disk.kind, disk.model.as_deref().unwrap_or_default()).trim_end().to_lowercase())
    };
    type Property = fn(&Environment) -> Option<String>;
    let properties: [(&str, Property); 6] = [
        ("the CPU", |of| of.cpu.model.clone()),
        ("the number of processors", |of| Some(of.cpu.usable?.to_string())),
        ("the kernel", |of| of.kernel.release.clone()),
        ("the file system", |of| of.filesystem.as_ref()?.kind.clone()),
        ("the mount options", |of| Some(of.filesystem.as_ref()?.options.join(","))),
        ("the disk", disk),
    ];
    let differ =
        |(what, of): (&str, Property)| differ(Unlike::Host, what, of(&base.environment), of(&head.environment));
    properties.into_iter().filter_map(differ).collect()
}

fn builds(base: &RunInfo, head: &RunInfo, variants: &[(usize, usize)]) -> Vec<Difference> {
    let used: BTreeSet<&str> =
        variants.iter().filter_map(|(index, _)| base.plan.variants.get(*index)).map(|a| a.driver.as_str()).collect();
    let differences = used.into_iter().flat_map(|name| {
        let version = |info: &RunInfo| Some(info.driver(name)?.1.version.clone());
        // The source id changes with every check-in: two builds of one version may differ.
        let sqlite = |info: &RunInfo| {
            let build = info.driver(name)?.1.sqlite.as_ref()?;
            Some(format!("{} ({})", build.version, build.source_id))
        };
        [
            differ(Unlike::Driver, &format!("driver {name}"), version(base), version(head)),
            differ(Unlike::Driver, &format!("the SQLite in {name}"), sqlite(base), sqlite(head)),
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
    both.filter_map(|(name, a, b)| differ(Unlike::Driver, &format!("server {name}"), Some(text(a)), Some(text(b))))
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
