//! Queued rows that this version cannot deserialise.

use std::io::Write;
use std::sync::{Arc, Mutex};

use crate::common::*;
use duroxide::providers::Provider;
use duroxide_onewriter::Options;
use rusqlite::Connection;

/// Collects what a subscriber writes.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

const ROWS: &str =
    "SELECT (SELECT count(*) FROM message WHERE id = 3 AND item = '{\"KindOfTomorrow\":{\"instance\":\"one\"}}')
                         + (SELECT count(*) FROM work WHERE id = 2 AND item = 'no JSON')";

#[tokio::test]
async fn a_row_of_an_unknown_kind_stays_in_the_file_and_the_rest_works() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("orchestrations.db");
    let provider = Options::default().open(&path).unwrap();
    create(&provider, "one", vec![activity("one", 2)]).await;
    provider.enqueue_for_orchestrator(raised("one", "event"), None).await.unwrap();
    assert_eq!(provider.quarantined(), 0);
    provider.close_async().await.unwrap();
    let insert = r#"INSERT INTO message VALUES (3, 0, 0, '{"KindOfTomorrow":{"instance":"one"}}');
                    INSERT INTO work VALUES (2, 0, 0, 'no JSON');"#;
    Connection::open(&path).unwrap().execute_batch(insert).unwrap();

    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
    let provider = tracing::subscriber::with_default(subscriber, || Options::default().open(&path).unwrap());
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    let warnings: Vec<_> = log.lines().filter(|line| line.contains("WARN")).collect();
    assert_eq!(warnings.len(), 2, "{log}");
    assert!(warnings[0].contains("table=\"message\" id=3") && warnings[0].contains("KindOfTomorrow"), "{log}");
    assert!(warnings[1].contains("table=\"work\" id=2"), "{log}");
    assert_eq!(provider.quarantined(), 2);

    let (item, token, _) = turn(&provider).await.unwrap();
    assert_eq!(item.messages, [raised("one", "event")]);
    // The numbers of new rows are not those of the quarantined ones.
    ack(&provider, &token, vec![], vec![activity("one", 3)], named()).await.unwrap();
    for id in [2, 3] {
        let (item, token, _) = work(&provider).await.unwrap();
        assert_eq!(item, activity("one", id));
        provider.ack_work_item(&token, Some(completed("one", id))).await.unwrap();
    }
    assert_eq!(turn(&provider).await.unwrap().0.messages.len(), 2);
    provider.close_async().await.unwrap();
    let kept: i64 = Connection::open(&path).unwrap().query_row(ROWS, [], |row| row.get(0)).unwrap();
    assert_eq!(kept, 2);
}
