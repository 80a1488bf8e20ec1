//! A fake `/sys` for tests.

use std::path::Path;

pub(crate) struct Sysfs(tempfile::TempDir);

impl Sysfs {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("dev/block")).unwrap();
        Sysfs(dir)
    }

    pub(crate) fn root(&self) -> &Path {
        self.0.path()
    }

    /// Creates a device with this number and these files at `devices/PATH`.
    pub(crate) fn device(&self, number: &str, path: &str, files: &[(&str, &str)]) {
        let node = self.root().join("devices").join(path);
        std::fs::create_dir_all(&node).unwrap();
        for (name, text) in files {
            let file = node.join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, format!("{text}\n")).unwrap();
        }
        std::os::unix::fs::symlink(node, self.root().join("dev/block").join(number)).unwrap();
    }

    /// Places `device` below `mapping`.
    pub(crate) fn below(&self, mapping: &str, device: &str) {
        let slaves = self.root().join("devices").join(mapping).join("slaves");
        let device = self.root().join("devices").join(device);
        std::fs::create_dir_all(&slaves).unwrap();
        std::os::unix::fs::symlink(&device, slaves.join(device.file_name().unwrap())).unwrap();
    }
}
