//! A runner's program and its output.

use std::io::Write;
use std::process::{Child, Command, Output, Stdio};

use litelab_protocol::{Failed, Inspect, Inspection, Message, Ready, Tick, TransactionResult, Trial, TrialResult};

/// Line that follows the trial on a runner's standard input.
pub const GO: &str = "{\"type\":\"go\"}\n";

/// A runner, as the path of its program.
pub struct Program(pub &'static str);

/// Output of a successful trial.
pub struct Outcome {
    /// Its first line.
    pub ready: Ready,
    /// The lines between.
    pub ticks: Vec<Tick>,
    /// Its last line.
    pub result: TrialResult,
}

impl Outcome {
    /// Result of one role and transaction.
    #[must_use]
    pub fn operation(&self, role: &str, transaction: &str) -> &TransactionResult {
        let found = self.result.operations.iter().find(|o| o.role == role && o.transaction == transaction);
        found.unwrap_or_else(|| panic!("no {role} {transaction}"))
    }

    /// Result of a trial with one role and transaction.
    #[must_use]
    pub fn only(&self) -> &TransactionResult {
        assert_eq!(self.result.operations.len(), 1);
        &self.result.operations[0]
    }
}

impl Program {
    /// Starts the program with pipes as standard input and output.
    #[must_use]
    pub fn start(&self, verb: &str) -> Child {
        let mut command = Command::new(self.0);
        command.arg(verb).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("runner")
    }

    /// Runs a verb with this input, then closes the input.
    #[must_use]
    pub fn verb(&self, verb: &str, input: &str) -> Output {
        let mut child = self.start(verb);
        // A runner that refuses may not read all of the input.
        let _read = child.stdin.take().expect("stdin").write_all(input.as_bytes());
        child.wait_with_output().expect("output")
    }

    /// Runs a trial that must succeed.
    pub fn run(&self, trial: &Trial) -> Outcome {
        let output = self.verb("run", &(json(trial) + GO));
        let mut lines = lines(&output);
        assert!(output.status.success(), "{lines:?} {}", String::from_utf8_lossy(&output.stderr));
        let Some(Message::Result(result)) = lines.pop() else { panic!("no result") };
        let mut lines = lines.into_iter();
        let Some(Message::Ready(ready)) = lines.next() else { panic!("not ready") };
        let tick = |line| if let Message::Tick(tick) = line { tick } else { panic!("{line:?} among the ticks") };
        Outcome { ready, ticks: lines.map(tick).collect(), result: *result }
    }

    /// Runs a trial that must fail.
    pub fn fail(&self, trial: &Trial) -> Failed {
        let output = self.verb("run", &(json(trial) + GO));
        assert_eq!(output.status.code(), Some(1));
        match lines(&output).pop() {
            Some(Message::Failed(failed)) => failed,
            other => panic!("{other:?}"),
        }
    }

    /// Runs a trial that must be refused before `ready`.
    pub fn refuse(&self, trial: &Trial) -> Failed {
        let output = self.verb("run", &json(trial));
        assert_eq!(output.status.code(), Some(1));
        match &lines(&output)[..] {
            [Message::Failed(failed)] => failed.clone(),
            other => panic!("{other:?}"),
        }
    }

    /// Inspects. An error is what the program has printed.
    pub fn inspect(&self, request: &Inspect) -> Result<Inspection, String> {
        let output = self.verb("inspect", &serde_json::to_string(request).expect("JSON"));
        match output.status.success() {
            true => Ok(serde_json::from_slice(&output.stdout).expect("an inspection")),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    }

    /// Sends a trial and closes the input before `go`.
    #[must_use]
    pub fn run_without_go(&self, trial: &Trial) -> Output {
        self.verb("run", &json(trial))
    }
}

/// Parses the output of `run`.
#[must_use]
pub fn lines(output: &Output) -> Vec<Message> {
    let text = String::from_utf8(output.stdout.clone()).expect("UTF-8");
    text.lines().map(|line| serde_json::from_str(line).expect("a line of the protocol")).collect()
}

fn json(trial: &Trial) -> String {
    serde_json::to_string(trial).expect("JSON") + "\n"
}
