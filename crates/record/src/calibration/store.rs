//! Storage of calibrations: one file per host and disk below the data directory.

use std::path::{Path, PathBuf};

use super::{Host, HostCalibration};
use crate::error::RecordError;

/// Name of the folder of calibrations in the data directory.
const FOLDER: &str = "calibration";

fn file(data: &Path, host: &Host) -> PathBuf {
    data.join(FOLDER).join(format!("{}.json", host.key()))
}

/// Stores a calibration for its host, replacing the previous one, and returns its path.
///
/// # Errors
/// If it cannot be written.
pub fn save(data: &Path, calibration: &HostCalibration) -> Result<PathBuf, RecordError> {
    let path = file(data, &calibration.host);
    let folder = data.join(FOLDER);
    let failed = |e: &std::io::Error| RecordError::io("keep the calibration", &path, e);
    std::fs::create_dir_all(&folder).map_err(|e| failed(&e))?;
    let text = serde_json::to_string_pretty(calibration)
        .map_err(|e| RecordError::Failed(format!("cannot be written as JSON: {e}")))?;
    // Written to a temporary file and renamed, so that a run starting now reads the old or the new calibration.
    let mut whole = tempfile::NamedTempFile::new_in(&folder).map_err(|e| failed(&e))?;
    std::io::Write::write_all(&mut whole, text.as_bytes()).map_err(|e| failed(&e))?;
    whole.persist(&path).map_err(|e| failed(&e.error))?;
    Ok(path)
}

/// The calibration stored for a host. `None` if there is none, or this version cannot read it: a calibration is
/// optional, and must not prevent a run.
#[must_use]
pub fn newest(data: &Path, host: &Host) -> Option<HostCalibration> {
    let text = std::fs::read_to_string(file(data, host)).ok()?;
    serde_json::from_str::<HostCalibration>(&text).ok().filter(|found| found.host == *host)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibration::testkit::calibration;

    fn host(cpu: &str) -> Host {
        Host { cpu: Some(cpu.into()), ..Host::default() }
    }

    #[test]
    fn kept_for_its_host_only_and_replaced_by_the_next() {
        let data = tempfile::tempdir().expect("a directory");
        let (ours, theirs) = (host("ours"), host("theirs"));
        assert_eq!(newest(data.path(), &ours), None);
        let first = calibration(ours.clone(), 1);
        let path = save(data.path(), &first).expect("kept");
        assert_eq!(newest(data.path(), &ours), Some(first));
        assert_eq!(newest(data.path(), &theirs), None);
        let second = calibration(ours.clone(), 2);
        assert_eq!(save(data.path(), &second).expect("kept"), path);
        assert_eq!(newest(data.path(), &ours), Some(second));
        let all = std::fs::read_dir(data.path().join(FOLDER)).expect("a folder").count();
        assert_eq!(all, 1, "nothing is left beside it");
    }

    #[test]
    fn a_damaged_or_foreign_one_is_none() {
        let data = tempfile::tempdir().expect("a directory");
        let ours = host("ours");
        let path = save(data.path(), &calibration(ours.clone(), 1)).expect("kept");
        std::fs::write(&path, "{}").expect("damaged");
        assert_eq!(newest(data.path(), &ours), None);
        let foreign = serde_json::to_string(&calibration(host("theirs"), 1)).expect("written");
        std::fs::write(&path, foreign).expect("foreign");
        assert_eq!(newest(data.path(), &ours), None);
    }
}
