//! States of the screen for tests: a fresh lab, a run in progress, finished and failed ones.
//!
//! Never used outside tests; every figure in it is made up.

use crate::course::{Catalog, Judged, Lesson, Level, Outcome, Reading as ProgressReading, Verdict};
use crate::domain::device::{DeviceKind, DeviceProcess, DeviceSample, Reading, TelemetrySample};
use crate::domain::event::{ConfigReport, EpochReport, Event, EventLine, Metrics, TopologyReport};
use crate::domain::job::TrainingJob;
use crate::domain::model::ModelSpec;
use crate::domain::phase::PhaseSeconds;
use crate::domain::run::{RunState, RunStatus};
use crate::domain::speedup::Figures;
use crate::domain::step::{Step, StepSet};
use crate::domain::topology::{LocalRank, Rank, Topology, WorldSize};
use crate::domain::training::TrainingSpec;
use crate::launch::{Preset, Ranks};
use crate::runs::{Attempt, RunId, RunRecord, RunRequest, RunSummary, RunUpdate, Tally};
use crate::tui::app::start;
use crate::tui::app::update::update;
use crate::tui::message::Message;
use crate::tui::state::State;
use crate::tui::testing::printed::Printed;
use crate::tui::widgets::Theme;

pub const START: f64 = 1_700_000_000.0;

pub fn presets() -> Vec<Preset> {
    let cpu = spec(2, StepSet::ALL);
    let model = ModelSpec::wrn(16, 10);
    let gpu = cpu.clone().with(|job| {
        job.resources.np = 4;
        job.workload = TrainingSpec { batch_size: 512, model, train_images: None, epochs: 12, ..job.workload.clone() };
    });
    let (cores, gpus) = (Ranks::Cores, Ranks::Gpus);
    let table = [("cpu", cores, cpu), ("gpu", gpus, gpu)];
    table.map(|(name, ranks, spec)| Preset { name: name.into(), description: String::new(), ranks, max_ranks: 64, spec }).into()
}

pub fn spec(np: usize, steps: StepSet) -> TrainingJob {
    TrainingJob::sample().with(|job| {
        job.resources.np = np;
        job.workload = TrainingSpec { steps, validation_images: None, seed: 7, ..job.workload.clone() };
    })
}

pub fn theme() -> Theme {
    Theme { colour: true, ..Theme::default() }
}

/// The first frame: nothing known yet.
pub fn fresh() -> State {
    start::blank(theme(), presets(), presets().remove(0))
}

/// A lab that was never used, with everything read.
pub fn never_used() -> State {
    let mut state = fresh();
    say(&mut state, Message::Runs(Vec::new()));
    say(&mut state, Message::Data("Fashion-MNIST".into()));
    say(&mut state, Message::Telemetry(cpu_sample(&[])));
    state
}

/// Run 1 finished on one rank, run 2 is in its second epoch on two.
pub fn running() -> State {
    let mut state = never_used();
    let going = summary(2, 2, status(RunState::Running, "training"), None);
    say(&mut state, Message::Runs(vec![finished(1, 1, 1023.0), going]));
    say(&mut state, Message::Tick(START + 12.0));
    say(&mut state, Message::Updates(RunId(2), updates(2, 2, 60)));
    say(&mut state, Message::Telemetry(cpu_sample(&[(0, 412), (1, 413)])));
    say(&mut state, Message::Curves(RunId(1), curves(1).into()));
    printed(2, 1).show(&mut state);
    state
}

/// Several finished runs, the last one on the screen.
pub fn compared() -> State {
    let mut state = never_used();
    let mut other_model = finished(4, 2, 320.0);
    other_model.record.as_mut().unwrap().request.spec.workload.training_mut().unwrap().model = ModelSpec::wrn(16, 4);
    let mut generated = finished(5, 2, 1950.0);
    generated.record.as_mut().unwrap().data_label = "generated garments".into();
    say(
        &mut state,
        Message::Runs(vec![finished(1, 1, 1023.0), finished(2, 2, 1964.0), finished(3, 4, 1990.0), other_model, generated]),
    );
    let mut updates = updates(2, 4, 0);
    updates.push(RunUpdate::Status(status(RunState::Finished, "finished")));
    say(&mut state, Message::Updates(RunId(5), updates));
    say(&mut state, Message::Curves(RunId(1), curves(1).into()));
    printed(5, 3).show(&mut state);
    state
}

/// Rank 1 of run 2 was killed.
pub fn failed() -> State {
    let mut state = running();
    let mut status = status(RunState::Failed, "rank 1 was ended by signal 9 (SIGKILL)");
    status.failed_process = Some(1);
    status.exit_code = Some(137);
    status.ended_s = Some(START + 13.0);
    status.last_lines = vec!["Epoch 2/3: step 40/93".into(), "out of memory: 812 MiB asked".into()];
    say(&mut state, Message::Updates(RunId(2), vec![RunUpdate::Status(status)]));
    printed(2, 1).lines([(1, "out of memory: 812 MiB asked")]).show(&mut state);
    state
}

/// Two lessons: one with a choice, one with a number to predict.
pub fn lessons() -> Catalog {
    let front = |step: usize, question: &str| {
        format!(
            "+++\ntitle = \"A sample\"\nstep = {step}\nsummary = \"What it is for, in a line.\"\nhints = [\"first\", \"second\", \
             \"third\"]\n[question]\n{question}\n[run]\nbefore = \"1-3\"\nafter = \"1-4\"\nnp = 2\nepochs = 2\n[[links]]\ntitle = \
             \"Paper\"\nurl = \"https://example.org/paper\"\n+++\n\n## The problem\n\nRanks **start apart** and `stay` apart.\n\n\
             ```text\nrank 0 -> rank 1\n```\n\n| rank | digest |\n|---|---|\n| 0 | 1f |\n"
        )
    };
    let choice = "text = \"Who is right?\"\nkind = \"choice\"\noptions = [\"root\", \"all\"]\nanswer = 1\nfeedback = [\"no, look \
                  again\", \"yes, all\"]";
    let number = "text = \"How many steps?\"\nkind = \"number\"\nanswer = 29\ntolerance = 0.5\nfeedback = [\"exactly\", \"more\", \
                  \"fewer\"]";
    let parse = |name: &str, text: String| Lesson::parse(name, &text).unwrap();
    Catalog::of([parse("lessons/04_sample.md", front(4, choice)), parse("lessons/05_sample.md", front(5, number))])
}

/// Verdicts with a made-up sentence.
pub fn verdicts(outcomes: &[(Step, Outcome)]) -> Vec<Verdict> {
    let verdict = |&(step, outcome): &(Step, Outcome)| {
        let evidence = format!("evidence of step {}", step.number());
        Verdict { number: step.number(), outcome, evidence }
    };
    outcomes.iter().map(verdict).collect()
}

/// A run with all steps on, judged: what passed is seen for the first time.
pub fn judged(run: RunId, outcomes: &[(Step, Outcome)]) -> Judged {
    let passed: StepSet = outcomes.iter().filter(|(_, outcome)| *outcome == Outcome::Passed).map(|(step, _)| *step).collect();
    let first = [(Level::Seen, passed)].into_iter().filter(|(_, steps)| !steps.is_empty()).collect();
    let record = finished(run.0, 2, 1.0).record.unwrap();
    Judged { record, verdicts: verdicts(outcomes), first, reading: ProgressReading::default() }
}

pub fn say(state: &mut State, message: Message) {
    update(state, message);
}

pub fn status(state: RunState, message: &str) -> RunStatus {
    RunStatus { supervisor_pid: 400, ended_s: state.is_over().then_some(START + 19.6), ..RunStatus::new(state, message, START) }
}

pub fn finished(id: u32, np: usize, images_per_sec: f64) -> RunSummary {
    summary(id, np, status(RunState::Finished, "finished"), Some(images_per_sec))
}

pub fn summary(id: u32, np: usize, status: RunStatus, images_per_sec: Option<f64>) -> RunSummary {
    let argv = format!("/opt/openmpi/bin/mpirun -np {np} --tag-output hvd-train --steps 1-10 --epochs 3 --batch-size 64");
    let metrics = |loss, accuracy| images_per_sec.map(|_| Metrics { loss, accuracy });
    RunSummary {
        id: RunId(id),
        record: Some(RunRecord {
            id: RunId(id),
            created_s: START,
            host: "node".into(),
            attempts: vec![Attempt {
                argv: argv.split(' ').map(String::from).collect(),
                env: vec![("OMP_NUM_THREADS".into(), "1".into())],
                started_s: START,
                epochs: 3,
                ..Attempt::default()
            }],
            ..RunRecord::new(
                RunRequest::new(spec(np, StepSet::ALL), "cpu"),
                "Fashion-MNIST",
                vec!["libtorch 2.11.0".into(), "Open MPI 5.0.11".into()],
            )
        }),
        status,
        elsewhere: None,
        tally: Tally {
            last_epoch: if images_per_sec.is_some() { 3 } else { 1 },
            train: metrics(0.81, 0.71),
            validation: metrics(0.83, 0.70),
            test: metrics(0.85, 0.694),
            figures: Figures { np, images_per_sec, seconds_to_target: None },
            training_seconds: images_per_sec.map(|rate| 36_000.0 / rate),
            ..Tally::default()
        },
    }
}

/// What the ranks of run `id` printed in so many epochs, for a screen that shows it.
fn printed(id: u32, epochs: usize) -> Printed {
    let line = |epoch| format!("Epoch {epoch}/3  loss 0.49  Images/sec 1964  Cumulative training time {}.2 s", 6 * epoch);
    let lines: Vec<String> = (1..=epochs).map(line).collect();
    let root = lines.iter().map(|line| (0, line.as_str()));
    Printed::new(id).lines(root.chain([(1, "\x1b[31mwarning\x1b[0m: rank 1 speaks")]))
}

/// Rank 0 of run 2 printed so many lines.
pub fn print_many(state: &mut State, lines: usize) {
    let lines: Vec<String> = (0..lines).map(|line| format!("line {line}")).collect();
    Printed::new(2).lines(lines.iter().map(|line| (0, line.as_str()))).show(state);
}

fn event(process: usize, event: Event) -> RunUpdate {
    after(0.0, process, event)
}

fn after(seconds: f64, process: usize, event: Event) -> RunUpdate {
    RunUpdate::Event(EventLine { time_s: START + seconds, process, event })
}

/// What `np` ranks write: one epoch, and `batches` steps of the second.
pub fn updates(np: usize, epochs: usize, batches: usize) -> Vec<RunUpdate> {
    let mut all = vec![RunUpdate::Status(status(RunState::Running, "training"))];
    for process in 0..np {
        all.push(event(process, topology(process, np)));
    }
    all.push(event(0, Event::Config(config(3))));
    let whole = if batches > 0 { 1 } else { epochs.min(3) };
    for epoch in 0..whole {
        steps(&mut all, epoch, 93, np);
        let accuracy = 0.5 + 0.1 * epoch as f64;
        let report = epoch_report(epoch + 1, accuracy);
        all.push(after((epoch + 1) as f64 * epoch_seconds(np), 0, Event::Epoch(report)));
    }
    steps(&mut all, whole, batches, np);
    all
}

pub fn topology(process: usize, np: usize) -> Event {
    let place = Topology { rank: Rank(process), size: WorldSize(np), local_rank: LocalRank(process), local_size: WorldSize(np) };
    Event::Topology(TopologyReport {
        topology: place,
        host: "node".into(),
        pid: 412 + process as u32,
        communicator: "mpi".into(),
        device: "cpu".into(),
        device_uuid: None,
        cores: vec![process],
        devices_found: Some(np),
        threads: 1,
        versions: Vec::new(),
        is_watched: false,
    })
}

/// Twice the ranks, half the time.
fn epoch_seconds(np: usize) -> f64 {
    12.4 / np as f64
}

fn steps(all: &mut Vec<RunUpdate>, epoch: usize, batches: usize, np: usize) {
    for batch in 0..batches {
        let x = epoch as f64 + batch as f64 / 93.0;
        let loss = 2.3 * (-x).exp() + 0.5 + 0.05 * (x * 40.0).sin();
        all.push(after((x + 1.0 / 93.0) * epoch_seconds(np), 0, Event::Step { epoch, batch, lr: 0.01, loss }));
    }
}

pub fn config(epochs: usize) -> ConfigReport {
    ConfigReport { epochs, ..ConfigReport::sample() }
}

pub fn epoch_report(epoch: usize, accuracy: f64) -> EpochReport {
    EpochReport {
        epoch,
        train: Metrics { loss: 0.9, accuracy: 0.6 },
        validation: Metrics { loss: 0.8, accuracy },
        averaged: None,
        lr: 0.01,
        batches: 93,
        images: 5_952,
        images_per_sec: 1_964.0,
        cumulative_seconds: 6.2,
        phases: PhaseSeconds::default(),
    }
}

pub fn curves(np: usize) -> crate::tui::shared::curves::Curves {
    let event = |update| {
        let RunUpdate::Event(mut line) = update else { return None };
        if let Event::Step { loss, .. } = &mut line.event {
            *loss += 0.4;
        }
        Some(line)
    };
    crate::tui::shared::curves::Curves::from_events(updates(np, 3, 0).into_iter().filter_map(event))
}

fn device(kind: DeviceKind) -> DeviceSample {
    DeviceSample {
        utilization_percent: Reading::Value(91.0),
        memory_used_bytes: Reading::Value(3 << 30),
        memory_total_bytes: Reading::Value(8 << 30),
        ..DeviceSample::silent(kind, 0, "AMD EPYC 9554 64-Core Processor", "not supported")
    }
}

fn process(rank: Option<usize>, pid: u32) -> DeviceProcess {
    DeviceProcess {
        pid,
        rank,
        command: "hvd-train".into(),
        owner: Reading::Value("learner".into()),
        memory_bytes: Reading::Value(812 << 20),
        utilization_percent: Reading::Value(98.0),
    }
}

pub fn cpu_sample(ranks: &[(usize, u32)]) -> TelemetrySample {
    let mut cpu = device(DeviceKind::Cpu);
    cpu.core_percent = vec![97.0, 85.0];
    cpu.processes = ranks.iter().map(|(rank, pid)| process(Some(*rank), *pid)).collect();
    let missing = Some("NVML is not there: libnvidia-ml.so.1 not found".into());
    TelemetrySample { time_s: START, host: "node".into(), devices: vec![cpu], gpu_missing: missing, machine: None }
}

/// Eight GPUs: one busy with a rank, one that tells little, one used by somebody else.
pub fn gpu_sample() -> TelemetrySample {
    let mut devices = Vec::new();
    for index in 0..8 {
        let mut gpu = device(DeviceKind::Gpu);
        gpu.index = index;
        gpu.name = "NVIDIA H200".into();
        gpu.utilization_percent = Reading::Value(61.0);
        gpu.temperature_celsius = Reading::Value(37.0);
        gpu.power_watts = Reading::Value(120.0);
        gpu.power_limit_watts = Reading::Value(700.0);
        gpu.memory_used_bytes = Reading::Value(41 << 30);
        gpu.memory_total_bytes = Reading::Value(139 << 30);
        gpu.processes = vec![process((index < 4).then_some(index), 412 + index as u32)];
        devices.push(gpu);
    }
    devices[6].utilization_percent = Reading::missing("a MIG device gives none");
    devices[6].power_watts = Reading::missing("not supported");
    devices[6].temperature_celsius = Reading::missing("not supported");
    devices[6].processes.clear();
    TelemetrySample { time_s: START, host: "node".into(), devices, gpu_missing: None, machine: None }
}
