//! One server: its url, owner and settings.

use std::cell::RefCell;
use std::collections::BTreeMap;

use litelab_model::Variant;
use litelab_model::setting::{Scope, Setting};
use litelab_record::ServerRecord;
use litelab_servers::admin::without_password;
use litelab_servers::{Admin, Instance, Options, ServersError};

/// A server that accepts connections.
#[derive(Debug)]
pub(super) struct Target {
    url: String,
    version: String,
    /// Whether the server belongs to the user, so that litelab must not change its settings or kill its processes.
    own: bool,
    /// The instance, if litelab started the server; `None` while it is taken, see [`Self::take`].
    instance: RefCell<Option<Instance>>,
    changed: RefCell<BTreeMap<String, Changed>>,
}

/// A server-wide setting that a variant has changed.
#[derive(Debug)]
struct Changed {
    /// Value at the start of the server.
    original: String,
    now: String,
}

impl Target {
    /// A server that litelab has started.
    pub(super) fn started(instance: Instance) -> Self {
        let (url, version) = (instance.url().to_owned(), instance.version().to_owned());
        Self { url, version, own: false, instance: RefCell::new(Some(instance)), changed: RefCell::default() }
    }

    /// A server of the user.
    pub(super) fn of_user(url: &str) -> Result<Self, ServersError> {
        let version = Admin::connect(url)?.version()?;
        Ok(Self { url: url.to_owned(), version, own: true, instance: RefCell::default(), changed: RefCell::default() })
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    pub(super) fn record(&self) -> ServerRecord {
        ServerRecord { version: self.version.clone(), url: without_password(&self.url), own: self.own }
    }

    /// Takes the instance, to be returned by [`Self::put`]; `None` for a server of the user.
    pub(super) fn take(&self) -> Option<Instance> {
        self.instance.borrow_mut().take()
    }

    pub(super) fn put(&self, instance: Instance) {
        *self.instance.borrow_mut() = Some(instance);
    }

    /// Restarts nodes that an earlier trial killed and did not restart.
    pub(super) fn make_whole(&self) -> Result<(), String> {
        let mut instance = self.instance.borrow_mut();
        let Some(instance) = instance.as_mut() else { return Ok(()) };
        for node in instance.dead() {
            instance
                .restart(node, &Options::default())
                .map_err(|e| format!("node {} could not be started again: {e}", node + 1))?;
            set(&instance.node_url(node), &self.settings())?;
        }
        Ok(())
    }

    /// Server-wide settings to apply to a restarted node, because they do not outlive its process.
    pub(super) fn settings(&self) -> Vec<(String, String)> {
        self.changed.borrow().iter().map(|(name, setting)| (name.clone(), setting.now.clone())).collect()
    }

    /// See [`super::Servers::settle`].
    pub(super) fn settle(&self, variant: &Variant, admin: &mut Admin) -> Result<(), String> {
        if self.own {
            return compare(variant, admin);
        }
        let mut changed = self.changed.borrow_mut();
        let wanted = |name: &str| of_server(variant).find(|s| s.name == name).map(|s| s.value.clone());
        for (name, setting) in changed.iter_mut() {
            let value = wanted(name).unwrap_or_else(|| setting.original.clone());
            if setting.now != value {
                admin.set_server(name, &value).map_err(|e| format!("`{name}`: {e}"))?;
                setting.now = value;
            }
        }
        for setting in of_server(variant) {
            if !changed.contains_key(&setting.name) {
                let original =
                    admin.set_server(&setting.name, &setting.value).map_err(|e| format!("`{}`: {e}", setting.name))?;
                changed.insert(setting.name.clone(), Changed { original, now: setting.value.clone() });
            }
        }
        Ok(())
    }
}

/// Applies server-wide settings to the hosts of a url.
pub(super) fn set(url: &str, settings: &[(String, String)]) -> Result<(), String> {
    if settings.is_empty() {
        return Ok(());
    }
    let mut admin = Admin::connect(url).map_err(|e| e.to_string())?;
    settings
        .iter()
        .try_for_each(|(name, value)| admin.set_server(name, value).map(drop).map_err(|e| format!("`{name}`: {e}")))
}

/// The server-wide settings of a variant.
fn of_server(variant: &Variant) -> impl Iterator<Item = &Setting> {
    variant.settings.iter().filter(|setting| setting.scope == Scope::Server)
}

fn compare(variant: &Variant, admin: &mut Admin) -> Result<(), String> {
    for setting in of_server(variant) {
        let found = admin.setting(&setting.name).map_err(|e| format!("`{}`: {e}", setting.name))?;
        if setting.expected.as_ref().is_some_and(|expected| !expected.matches(&found.as_str().into())) {
            return Err(format!(
                "`{}` is {found} on your server, and the profile asks for {}: it holds for the whole server, so litelab \
                 does not change it there; change it yourself, or choose another profile",
                setting.name, setting.value
            ));
        }
    }
    Ok(())
}
