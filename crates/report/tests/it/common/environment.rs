//! Environment and runner of a fictitious machine.

use litelab_protocol::{Description, DriverDescription, SqliteBuild};
use litelab_record::environment::{
    Cpu, DeviceKind, Disk, Environment, Filesystem, FsyncProbe, Kernel, LoadWindow, Memory, SyncLatency, Warning,
    WarningCode,
};

pub fn quiet() -> Environment {
    let latency =
        |p50_ns, p99_ns| SyncLatency { writes: 100, p50_ns, p99_ns, max_ns: p99_ns, ..SyncLatency::default() };
    Environment {
        kernel: Kernel {
            os: "linux".into(),
            architecture: "x86_64".into(),
            release: Some("6.18.0".into()),
            distribution: Some("Debian".into()),
        },
        cpu: Cpu {
            model: Some("Made-up CPU 3000".into()),
            logical: Some(8),
            usable: Some(4),
            governor: Some("powersave".into()),
            virtualised: Some(true),
        },
        memory: Memory { total_bytes: Some(16 << 30), limit_bytes: None },
        filesystem: Some(Filesystem { kind: Some("ext4".into()), ..Filesystem::default() }),
        disk: Some(Disk { device: "vda".into(), kind: DeviceKind::Virtual, model: None, write_cache: None }),
        fsync: Some(FsyncProbe { overwrite: latency(1_200_000, 3_400_000), append: latency(2_300_000, 5_600_000) }),
        load: LoadWindow { load_average: Some([0.25, 0.5, 0.75]), ..LoadWindow::default() },
        warnings: vec![Warning {
            code: WarningCode::Powersave,
            message: "the frequency governor is powersave: the clock is low when work begins".into(),
            remedy: "set it to performance while measuring".into(),
        }],
    }
}

pub fn runner() -> Description {
    let driver = |name: &str, sqlite| DriverDescription {
        name: name.into(),
        version: "1.2.3".into(),
        sqlite,
        sharings: vec!["own-connection".into()],
        executors: vec![],
        interface: None,
        dialect: litelab_protocol::Dialect::Sqlite,
    };
    let build =
        SqliteBuild { version: "3.54.0".into(), source_id: "2026-01-01 abcdef".into(), compile_options: vec![] };
    Description {
        protocol: 1,
        runner: "rust".into(),
        language: "rust".into(),
        runtime: "rustc 1.95.0".into(),
        drivers: vec![driver("rusqlite", Some(build)), driver("noop", None)],
    }
}
