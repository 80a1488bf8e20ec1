//! Extraction of the most informative line from the standard error of a program that died.

/// Starts of the line with which a C library, a runtime or a language reports the cause of an abort, before any stack
/// trace: assert(3) of glibc and musl, Node.js (`FATAL ERROR`, `Assertion failed`), Go (`panic:`, `fatal error:`),
/// sanitizers.
const CAUSES: [&str; 7] = [
    "Assertion",
    "assertion failed",
    "FATAL ERROR",
    "panic: ",
    "fatal error: ",
    "ERROR: AddressSanitizer",
    "terminate called",
];

/// The line that names the cause, with the message in the case of a Rust panic; else the last line that is neither a
/// stack frame nor a hint.
#[must_use]
pub(crate) fn telling(stderr: &str) -> Option<String> {
    let lines: Vec<&str> = stderr.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    if let Some(at) = lines.iter().position(|line| line.contains("panicked at ")) {
        let place = lines[at].trim_end_matches(':');
        return Some(match lines.get(at + 1) {
            Some(message) => format!("{place}: {message}"),
            None => place.to_owned(),
        });
    }
    let is_cause = |line: &&&str| CAUSES.iter().any(|cause| line.contains(cause));
    let is_error = |line: &&&str| line.split_once(':').is_some_and(|(name, _)| is_name_of_error(name));
    let cause = lines.iter().find(is_cause).or_else(|| lines.iter().rfind(is_error));
    cause.or_else(|| lines.iter().rfind(|line| !is_of_stack(line))).or(lines.last()).map(|line| (*line).to_owned())
}

/// Whether `name` is the name of an error type: `SqliteError`, `sqlite3.OperationalError`, `Uncaught TypeError`.
fn is_name_of_error(name: &str) -> bool {
    let name = name.strip_prefix("Uncaught ").unwrap_or(name);
    let is_word = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'));
    is_word && ["Error", "Exception", "Fault"].iter().any(|end| name.ends_with(end))
}

/// Whether a line is part of a stack trace or its surroundings: `at f (file:1:2)`, `10: 0x19c77d1 [node]`, `#3 0x…`,
/// `goroutine 1 [running]:`, `File "a.py", line 3`.
fn is_of_stack(line: &str) -> bool {
    let numbered =
        line.trim_start_matches('#').trim_start_matches(|c: char| c.is_ascii_digit()).trim_start_matches(':');
    numbered.trim_start().starts_with("0x")
        || ["at ", "File \"", "goroutine ", "note: ", "Node.js v", "-----", "stack backtrace", "^"]
            .iter()
            .any(|start| line.starts_with(start))
        || line.contains("+0x")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]
mod tests {
    use super::*;

    #[test]
    fn a_crash_is_told_by_its_cause() {
        for (stderr, wanted) in [
            // A native module in Node.js 24.
            (
                "\n  #  /node[812]: void node::RemoveEnvironmentCleanupHook(v8::Isolate*) at ../src/api/hooks.cc:142\n  \
                 #  Assertion failed: (env) != nullptr\n\n----- Native stack trace -----\n\n 1: 0xf1a3e1 node::Assert [node]\n\
                 10: 0x19c77d1  [node]\n",
                "#  Assertion failed: (env) != nullptr",
            ),
            (
                "runner: tpp.c:83: __pthread_tpp_change_priority: Assertion `previous_prio == -1' failed.\n",
                "runner: tpp.c:83: __pthread_tpp_change_priority: Assertion `previous_prio == -1' failed.",
            ),
            (
                "\nthread 'main' (7) panicked at src/main.rs:2:5:\nno such table: t\nnote: run with `RUST_BACKTRACE=1`\n",
                "thread 'main' (7) panicked at src/main.rs:2:5: no such table: t",
            ),
            (
                "panic: nil map\n\ngoroutine 1 [running]:\nmain.main()\n\t/a/main.go:5 +0x2c\nexit status 2\n",
                "panic: nil map",
            ),
            (
                "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n    f()\nValueError: no\n",
                "ValueError: no",
            ),
            (
                "file:///a.mjs:1\nthrow new Error('no')\n      ^\n\nError: no\n    at file:///a.mjs:1:7 {\n  code: 1\n}\n\n\
                 Node.js v24.1.0\n",
                "Error: no",
            ),
            ("disk is gone\n  at frame (a.js:1:2)\n", "disk is gone"),
            ("plain\nwords\n", "words"),
            ("\n10: 0x19c77d1  [node]\n", "10: 0x19c77d1  [node]"),
        ] {
            assert_eq!(telling(stderr).as_deref(), Some(wanted), "{stderr}");
        }
        assert_eq!(telling(" \n"), None);
    }
}
