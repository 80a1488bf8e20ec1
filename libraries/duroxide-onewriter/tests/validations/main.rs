//! All of duroxide's checks for providers, on both stores; on the durable store also without a cache and with
//! [`Acks::Ordered`].
//!
//! A separate test program: leases of one second have bounds of tenths of a second, and other tests would disturb them.

#![allow(clippy::unwrap_used, reason = "tests")]

mod complete;

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use duroxide::provider_validations::{ProviderFactory, long_polling, race_replay};
use duroxide::providers::Provider;
use duroxide_onewriter::{Acks, OneWriter, Options, Polling};
use tempfile::TempDir;

/// Lock timeout, as in the tests of duroxide's own SQLite provider.
const LOCK: Duration = Duration::from_millis(1_000);

/// Runs a check, once. It has one type for all checks: otherwise each would be compiled with its own runtime.
fn run(check: Pin<Box<dyn Future<Output = ()> + '_>>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(check);
}

/// Generates a test for each of the named checks.
macro_rules! checks {
    ($module:ident of $path:path: $($name:ident)*) => {
        mod $module {
            use $path as checks;
            $(
                #[test]
                fn $name() {
                    crate::run(Box::pin(async { checks::$name(&super::Factory::default()).await }));
                }
            )*
        }
    };
}

/// Creates each provider in its own directory.
#[derive(Default)]
struct InFolders {
    folders: Mutex<Vec<TempDir>>,
}

#[async_trait]
impl ProviderFactory for InFolders {
    async fn create_provider(&self) -> Arc<dyn Provider> {
        let folder = tempfile::tempdir().unwrap();
        let provider = Options::default().open(folder.path().join("orchestrations.db")).unwrap();
        self.folders.lock().unwrap().push(folder);
        Arc::new(provider)
    }

    fn lock_timeout(&self) -> Duration {
        LOCK
    }
}

/// Like [`InFolders`], without a cache and without ended instances in memory: every read comes from the disk.
#[derive(Default)]
struct Uncached {
    folders: Mutex<Vec<TempDir>>,
}

#[async_trait]
impl ProviderFactory for Uncached {
    async fn create_provider(&self) -> Arc<dyn Provider> {
        let folder = tempfile::tempdir().unwrap();
        let provider = Options::default().cache(0).ended(0).open(folder.path().join("orchestrations.db")).unwrap();
        self.folders.lock().unwrap().push(folder);
        Arc::new(provider)
    }

    fn lock_timeout(&self) -> Duration {
        LOCK
    }
}

/// Like [`InFolders`], with [`Acks::Ordered`]. Reads wait for pending commits, so the checks see no difference.
#[derive(Default)]
struct Ordered {
    folders: Mutex<Vec<TempDir>>,
}

#[async_trait]
impl ProviderFactory for Ordered {
    async fn create_provider(&self) -> Arc<dyn Provider> {
        let folder = tempfile::tempdir().unwrap();
        let options = Options::default().acks(Acks::Ordered);
        let provider = options.open(folder.path().join("orchestrations.db")).unwrap();
        self.folders.lock().unwrap().push(folder);
        Arc::new(provider)
    }

    fn lock_timeout(&self) -> Duration {
        LOCK
    }
}

#[derive(Default)]
struct InMemory;

#[async_trait]
impl ProviderFactory for InMemory {
    async fn create_provider(&self) -> Arc<dyn Provider> {
        Arc::new(Options::default().volatile().unwrap())
    }

    fn lock_timeout(&self) -> Duration {
        LOCK
    }
}

/// A provider and its file, which the test corrupts.
struct Shared {
    provider: Arc<OneWriter>,
    path: PathBuf,
    _folder: TempDir,
}

impl Default for Shared {
    fn default() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("orchestrations.db");
        Self { provider: Arc::new(Options::default().open(&path).unwrap()), path, _folder: folder }
    }
}

#[async_trait]
impl ProviderFactory for Shared {
    async fn create_provider(&self) -> Arc<dyn Provider> {
        self.provider.clone()
    }

    fn lock_timeout(&self) -> Duration {
        LOCK
    }

    async fn corrupt_instance_history(&self, instance: &str) {
        let connection = rusqlite::Connection::open(&self.path).unwrap();
        let spoilt = connection.execute(
            "UPDATE history SET data = 'NOT_VALID_JSON{{{' WHERE instance = (SELECT id FROM instance WHERE name = ?1)",
            [instance],
        );
        assert!(spoilt.unwrap() > 0, "there is no history to spoil");
        self.provider.drop_cache();
    }

    async fn get_max_attempt_count(&self, instance: &str) -> u32 {
        self.provider.most_attempts(instance).expect("messages wait for it")
    }
}

mod durable {
    use super::InFolders as Factory;
    include!("list.rs");
}

mod uncached {
    use super::Uncached as Factory;
    include!("list.rs");
}

mod ordered {
    use super::Ordered as Factory;
    include!("list.rs");
}

mod volatile {
    use super::InMemory as Factory;
    include!("list.rs");
}

/// Corruption checks need a store that serialises, so not the volatile one.
mod spoilt {
    use super::Shared as Factory;

    checks! { error_handling of duroxide::provider_validations:
        test_read_corrupted_history_returns_error
        test_read_with_execution_corrupted_history_returns_error
    }

    checks! { capability_filtering of duroxide::provider_validations::capability_filtering:
        test_fetch_corrupted_history_filtered_vs_unfiltered
        test_fetch_deserialization_error_increments_attempt_count
        test_fetch_deserialization_error_eventually_reaches_poison
        test_fetch_filter_applied_before_history_deserialization
        test_ack_appends_event_to_corrupted_history
    }
}

/// Generates the checks for both kinds of polling.
macro_rules! polling {
    ($store:ident: $open:expr) => {
        mod $store {
            use super::*;

            async fn with(polling: Polling) -> (OneWriter, TempDir) {
                let folder = tempfile::tempdir().unwrap();
                let open: fn(&Options, PathBuf) -> OneWriter = $open;
                (open(&Options::default().polling(polling), folder.path().join("orchestrations.db")), folder)
            }

            #[test]
            fn test_long_poll_waits_for_timeout() {
                run(Box::pin(async {
                    long_polling::test_long_poll_waits_for_timeout(&with(Polling::Long).await.0).await;
                }));
            }

            #[test]
            fn test_long_poll_work_item_waits_for_timeout() {
                run(Box::pin(async {
                    long_polling::test_long_poll_work_item_waits_for_timeout(&with(Polling::Long).await.0).await;
                }));
            }

            #[test]
            fn test_fetch_respects_timeout_upper_bound() {
                run(Box::pin(async {
                    long_polling::test_fetch_respects_timeout_upper_bound(&with(Polling::Long).await.0).await;
                }));
            }

            #[test]
            fn test_short_poll_returns_immediately() {
                run(Box::pin(async {
                    let (provider, _folder) = with(Polling::Short).await;
                    let threshold = InMemory.short_poll_threshold();
                    long_polling::test_short_poll_returns_immediately(&provider, threshold).await;
                }));
            }

            #[test]
            fn test_short_poll_work_item_returns_immediately() {
                run(Box::pin(async {
                    let (provider, _folder) = with(Polling::Short).await;
                    let threshold = InMemory.short_poll_threshold();
                    long_polling::test_short_poll_work_item_returns_immediately(&provider, threshold).await;
                }));
            }
        }
    };
}

polling!(durable_polling: |options, path| options.open(path).unwrap());
polling!(ordered_polling: |options, path| options.clone().acks(Acks::Ordered).open(path).unwrap());
polling!(volatile_polling: |options, _| options.volatile().unwrap());

/// Messages to an execution while it continues as new, with histories of versions before and after a change in
/// duroxide.
mod transition {
    use super::*;

    fn delivery(version: &'static str) {
        run(Box::pin(async move {
            race_replay::test_continue_as_new_transition_delivery(&InFolders::default(), version).await;
        }));
        run(Box::pin(async move {
            race_replay::test_continue_as_new_transition_delivery(&Ordered::default(), version).await;
        }));
        run(Box::pin(async move {
            race_replay::test_continue_as_new_transition_delivery(&InMemory, version).await;
        }));
    }

    #[test]
    fn test_continue_as_new_transition_delivery() {
        delivery("0.1.30");
    }

    #[test]
    fn test_continue_as_new_transition_delivery_new_stamp() {
        delivery("0.1.31");
    }
}
