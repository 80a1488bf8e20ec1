//! Dimensions and the combinations of their values.

use indexmap::IndexMap;
use litelab_protocol::{Dialect, Sharing};

use crate::error::{lookup, unknown, word};
use crate::one_or_many::OneOrMany;
use crate::plan::Variant;
use crate::quantity::{Scalar, Vars};
use crate::server::Server;
use crate::study::{QuickScenario, RoleSpec, Scenario};

type Dimensions = IndexMap<String, Scalar>;

/// Limit of the variants of a scenario. A larger number takes too long to run and is most likely a typing error.
const MAX_VARIANTS: usize = 10_000;

/// All combinations of `vary` and setups, without those of `without`, followed by the additional variants.
pub(super) fn combinations(scenario: &Scenario, quick: Option<&QuickScenario>) -> Result<Vec<Dimensions>, String> {
    let mut vary = scenario.vary.clone();
    if let Some(quick) = quick {
        for (name, values) in &quick.vary {
            lookup("dimension", name, &scenario.vary).map_err(|e| format!("quick.vary: {e}"))?;
            vary.insert(name.clone(), values.clone());
        }
    }
    let check_count = |count: usize| match count > MAX_VARIANTS {
        true => Err(format!("it would have more than {MAX_VARIANTS} variants")),
        false => Ok(()),
    };
    let mut out: Vec<Dimensions> = if vary.is_empty() && scenario.setups.is_empty() && !scenario.variants.is_empty() {
        vec![]
    } else {
        vec![Dimensions::new()]
    };
    for (name, OneOrMany(values)) in &vary {
        if values.is_empty() {
            return Err(format!("vary.{name} has no values"));
        }
        check_count(out.len().saturating_mul(values.len()))?;
        out = out
            .iter()
            .flat_map(|dimensions| {
                values.iter().map(move |value| {
                    let mut next = dimensions.clone();
                    next.insert(name.clone(), value.clone());
                    next
                })
            })
            .collect();
    }
    if !scenario.setups.is_empty() {
        if let Some((name, _)) = scenario.setups.iter().flatten().find(|(name, _)| vary.contains_key(*name)) {
            return Err(format!("setup: `{name}` stands in `vary` already, and in combination it has one value"));
        }
        check_count(out.len().saturating_mul(scenario.setups.len()))?;
        let with = |setup: &Dimensions| {
            let setup = setup.clone();
            out.iter().map(move |other| setup.iter().chain(other).map(|(n, v)| (n.clone(), v.clone())).collect())
        };
        out = scenario.setups.iter().flat_map(with).collect();
    }
    // With --quick a combination of the scenario's own list can be absent.
    let own = scenario.without.iter().map(|selector| ("without", selector, quick.is_some()));
    let of_quick = quick.iter().flat_map(|quick| &quick.without).map(|selector| ("quick.without", selector, false));
    for (key, selector, may_be_absent) in own.chain(of_quick) {
        let before = out.len();
        out.retain(|dimensions| !matches(dimensions, selector));
        if out.len() == before && !may_be_absent {
            return Err(format!("{key}: no combination has {}", describe(selector)));
        }
    }
    check_count(out.len().saturating_add(scenario.variants.len()))?;
    out.extend(scenario.variants.iter().cloned());
    for (i, one) in out.iter().enumerate() {
        if out[..i].contains(one) {
            return Err(format!("two variants are the same: {}", describe(one)));
        }
    }
    if out.is_empty() {
        return Err("no variant is left".into());
    }
    Ok(out)
}

/// Replaces the drivers of all combinations. A single driver adds no dimension `driver` if there was none.
pub(super) fn put_on(combinations: &mut Vec<Dimensions>, drivers: &[String]) {
    if drivers.is_empty() {
        return;
    }
    let named = drivers.len() > 1 || combinations.iter().any(|dimensions| dimensions.contains_key("driver"));
    let mut out: Vec<Dimensions> = Vec::new();
    for dimensions in combinations.iter() {
        for driver in drivers {
            let mut next = dimensions.clone();
            next.shift_remove("driver");
            if named {
                next.shift_insert(0, "driver".into(), Scalar::Text(driver.clone()));
            }
            if !out.contains(&next) {
                out.push(next);
            }
        }
    }
    *combinations = out;
}

/// Checks that the Universal Scalability Law can be fitted over a dimension: at least three levels, all of them
/// positive integers.
pub(super) fn check_usl(variants: &[Variant], name: &str, dimensions: &[String]) -> Result<(), String> {
    if !dimensions.iter().any(|d| d == name) {
        return Err(format!("usl: {}", unknown("dimension", name, dimensions.iter().map(String::as_str))));
    }
    let mut levels = Vec::new();
    for variant in variants {
        match variant.dimensions.get(name) {
            Some(Scalar::Integer(n @ 1..)) if !levels.contains(n) => levels.push(*n),
            Some(Scalar::Integer(1..)) | None => {}
            Some(other) => return Err(format!("usl: `{name}` is `{other}`: it must be a whole number of at least 1")),
        }
    }
    if levels.len() < 3 {
        return Err(format!("usl: `{name}` has {} levels, and the law has three parameters", levels.len()));
    }
    Ok(())
}

/// The dimensions of all variants, in order of first appearance.
pub(super) fn dimension_names(combinations: &[Dimensions]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in combinations.iter().flat_map(Dimensions::keys) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

/// Whether the variant has all values of the selector. An integer equals a real number of the same value.
pub(super) fn matches(dimensions: &Dimensions, selector: &Dimensions) -> bool {
    selector.iter().all(|(name, wanted)| {
        dimensions
            .get(name)
            .is_some_and(|value| value == wanted || value.number().is_some_and(|v| Some(v) == wanted.number()))
    })
}

/// The index of the only variant that matches a selector.
pub(super) fn select(variants: &[Variant], selector: &Dimensions) -> Result<usize, String> {
    let found: Vec<usize> = variants
        .iter()
        .enumerate()
        .filter(|(_, variant)| matches(&variant.dimensions, selector))
        .map(|(i, _)| i)
        .collect();
    match found.as_slice() {
        [one] => Ok(*one),
        [] => {
            for name in selector.keys() {
                if !variants.iter().any(|a| a.dimensions.contains_key(name)) {
                    let known = variants.first().map(|a| &a.dimensions).into_iter().flat_map(Dimensions::keys);
                    return Err(unknown("dimension", name, known.map(String::as_str)));
                }
            }
            Err(format!("no variant has {}", describe(selector)))
        }
        several => Err(format!("{} variants have {}: name one", several.len(), describe(selector))),
    }
}

/// A selector as text, such as `profile=wal-full batch=10`.
pub(super) fn describe(selector: &Dimensions) -> String {
    if selector.is_empty() {
        return "no dimension given".into();
    }
    selector.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
}

/// All choices of a variant.
pub(super) struct Choice {
    /// The scenario, with the variant's dimensions in place of its own keys.
    pub scenario: Scenario,
    pub driver: String,
    pub sharing: Sharing,
    /// Whether the server is set by the variant itself, not by the scenario for all its variants.
    pub own_server: bool,
    /// PRAGMAs that override those of the profile.
    pub pragmas: IndexMap<String, Scalar>,
    /// Server settings that override those of the profile.
    pub settings: IndexMap<String, Scalar>,
}

/// Dimensions that are keys of a scenario.
const KEYS: [&str; 14] = [
    "driver",
    "executor",
    "processes",
    "sharing",
    "profile",
    "prepare",
    "location",
    "schema",
    "server",
    "databases",
    "begin",
    "runtime_threads",
    "data_rows",
    "workers",
];

impl Choice {
    /// The choices of a variant. Dimensions that are variables are set in `vars`.
    pub(super) fn new(scenario: &Scenario, dimensions: &Dimensions, vars: &mut Vars) -> Result<Self, String> {
        // Variables first, because a sharing such as `pool($n)` can use one.
        for (name, value) in dimensions {
            if vars.contains_key(name) {
                vars.insert(name.clone(), value.clone());
            }
        }
        let mut choice = Self {
            scenario: scenario.clone(),
            driver: String::new(),
            sharing: parse_sharing(scenario.sharing.as_deref().unwrap_or("own-connection"), vars)?,
            own_server: false,
            pragmas: IndexMap::new(),
            settings: IndexMap::new(),
        };
        for (name, value) in dimensions {
            choice.set(name, value, vars)?;
        }
        choice.driver = choice.scenario.driver.clone().unwrap_or_else(|| "rusqlite".into());
        Ok(choice)
    }

    fn set(&mut self, name: &str, value: &Scalar, vars: &Vars) -> Result<(), String> {
        let text = value.to_string();
        let wrong = |allowed: &str| format!("dimension `{name}`: `{text}` is none of {allowed}");
        let own = &mut self.scenario;
        match name {
            "driver" => own.driver = Some(text),
            "executor" => own.executor = Some(text.parse()?),
            "processes" => own.processes = Some(value.clone().into()),
            "sharing" => self.sharing = parse_sharing(&text, vars)?,
            "profile" => own.profile = Some(text),
            "prepare" => match value {
                Scalar::Bool(b) => own.prepare = Some(*b),
                _ => return Err(wrong("true, false")),
            },
            "location" => {
                own.location = Some(word(&text).ok_or_else(|| wrong("file, memory, memory-shared"))?);
            }
            "schema" => own.schema = Some(text),
            "server" => {
                own.server = Some(Server::parse(&text).map_err(|e| format!("dimension `server`: {e}"))?);
                self.own_server = true;
            }
            "begin" => {
                own.begin = Some(word(&text).ok_or_else(|| wrong("none, deferred, immediate, exclusive"))?);
            }
            "databases" => own.databases = Some(value.clone().into()),
            "runtime_threads" => own.runtime_threads = Some(value.clone().into()),
            "data_rows" => own.data_rows = Some(value.clone().into()),
            "workers" if own.roles.len() == 1 => own.roles[0].workers = Some(value.clone().into()),
            "workers" if vars.contains_key("workers") => {}
            "workers" => {
                return Err("dimension `workers`: there are several roles; name one, as in `ROLE.workers`".into());
            }
            _ => match name.split_once('.') {
                Some(("pragma", pragma)) => drop(self.pragmas.insert(pragma.to_owned(), value.clone())),
                Some(("option", option)) => drop(own.options.insert(option.to_owned(), value.clone())),
                Some(("setting", setting)) => drop(self.settings.insert(setting.to_owned(), value.clone())),
                Some((role, key)) => set_role(&mut own.roles, role, key, value)?,
                None if vars.contains_key(name) => {}
                None => {
                    let known = KEYS.into_iter().chain(vars.keys().map(String::as_str));
                    return Err(unknown("dimension", name, known));
                }
            },
        }
        Ok(())
    }

    /// The server of a variant with a driver of this dialect. A server set by the scenario does not apply to its SQLite
    /// variants.
    ///
    /// # Errors
    /// If the server has another dialect than the driver.
    pub(super) fn server_of(&self, dialect: Dialect) -> Result<Option<Server>, String> {
        match (self.scenario.server, dialect) {
            (None, _) => Ok(Server::of(dialect)),
            (Some(_), Dialect::Sqlite) if !self.own_server => Ok(None),
            (Some(server), _) if server.dialect() == dialect => Ok(Some(server)),
            (Some(server), _) => Err(format!(
                "server `{server}` understands {}, and driver `{}` is one of {dialect}",
                server.dialect(),
                self.driver
            )),
        }
    }
}

fn set_role(roles: &mut IndexMap<String, RoleSpec>, role: &str, key: &str, value: &Scalar) -> Result<(), String> {
    lookup("role", role, roles)?;
    let spec = &mut roles[role];
    match key {
        "workers" => spec.workers = Some(value.clone().into()),
        "rate" => spec.rate = Some(value.clone().into()),
        _ => return Err(unknown("dimension of a role", key, ["workers", "rate"])),
    }
    Ok(())
}

/// Parses a sharing, in which `$name` is replaced by a variable: `pool($n)`.
fn parse_sharing(text: &str, vars: &Vars) -> Result<Sharing, String> {
    crate::sql::substitute(text, vars)?.parse()
}
