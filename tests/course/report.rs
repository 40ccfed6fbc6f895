//! What is handed in is whole, means itself in every format, and tells nothing that is nobody's business.
//!
//! Never starts a run: records and figures are made.

use std::fs;

use hvd_lab_terminal::course::{
    Catalog, Class, InspectedRow, Level, MachineRow, Prediction, Private, Progress, Report, Sources, State, check_all,
};
use hvd_lab_terminal::domain::benchmark::NumberFormat;
use hvd_lab_terminal::domain::event::Metrics;
use hvd_lab_terminal::domain::job::TrainingJob;
use hvd_lab_terminal::domain::run::{RunState, RunStatus};
use hvd_lab_terminal::domain::speedup::Figures;
use hvd_lab_terminal::domain::step::{Step, StepSet};
use hvd_lab_terminal::runs::{Attempt, RunId, RunRecord, RunRequest, RunSummary, Tally, Trial};
use serde_json::Value;

use super::asked;
use super::good::{evidence, spec};
use crate::support::lab::{Lab, stderr, stdout};

const NOW_S: f64 = 1_798_761_600.0;
const EVIL: &str = "<script>alert('1')</script> | `a` & \"b\" _c_ \u{1b}[2J\n# d";

fn run(id: u32, spec: TrainingJob, images_per_sec: f64) -> RunSummary {
    let request = RunRequest {
        name: Some(EVIL.into()),
        note: Some("a note of one's own".into()),
        data_dir: Some("/home/ada/secret".into()),
        ..RunRequest::new(spec, "cpu")
    };
    let record = RunRecord {
        id: RunId(id),
        created_s: NOW_S - 100.0,
        host: "node7".into(),
        ..RunRecord::new(request, "generated garments", vec!["libtorch 2.11.0".into()])
    };
    let tally = Tally {
        last_epoch: 2,
        test: Some(Metrics { loss: 0.5, accuracy: 0.8125 }),
        figures: Figures { np: record.np(), images_per_sec: Some(images_per_sec), seconds_to_target: None },
        training_seconds: Some(12.5),
        ..Tally::default()
    };
    let status = RunStatus::new(RunState::Finished, "/home/ada/lab: finished on node7", NOW_S);
    RunSummary { id: RunId(id), record: Some(record), status, tally, elsewhere: None }
}

fn runs() -> Vec<RunSummary> {
    let apart = spec(2).with(|job| job.workload.steps = "1,2".parse().unwrap());
    let other = spec(4).with(|job| job.workload.batch_size = 7);
    vec![run(1, spec(1), 900.0), run(2, spec(1), 1000.0), run(3, spec(2), 1900.0), run(4, apart, 1999.0), run(5, other, 3.0)]
}

fn report(progress: &Progress) -> Report {
    Report::new(Sources {
        learner: Some(EVIL.into()),
        now_s: NOW_S,
        progress,
        lessons: &Catalog::embedded().unwrap(),
        runs: &runs(),
        inspected: vec![
            InspectedRow {
                run: RunId(6),
                topics: 9,
                wrong: vec![format!("data: {EVIL}: /home/ada/train.py:31")],
                look: Vec::new(),
            },
            InspectedRow { run: RunId(7), topics: 9, wrong: Vec::new(), look: Vec::new() },
            InspectedRow {
                run: RunId(8),
                topics: 9,
                wrong: Vec::new(),
                look: vec![format!("metrics: {EVIL}: /home/ada/train.py:40")],
            },
        ],
        machine: MachineRow { cores: 2, no_gpus: Some("none: no driver".into()), ..MachineRow::default() },
        private: Private { folders: vec![("/home/ada".into(), "~")], hosts: vec!["node7".into()] },
    })
}

fn progress() -> Progress {
    let mut progress = Progress::default();
    let mut verdicts = check_all(&evidence());
    verdicts[2].evidence = EVIL.into();
    progress.note(&verdicts, StepSet::first(9), RunId(3));
    progress.predict(asked(4), Prediction::Choice(0), false);
    progress.predict(asked(4), Prediction::Choice(1), true);
    progress.predict(asked(99), Prediction::Number(2.5), false);
    progress
}

#[test]
fn the_figures_are_those_of_the_runs() {
    let report = report(&progress());
    assert_eq!(
        report.summary(),
        "seen 9, predicted 0, proven 0, written 0 of 10 steps, 0 of 2 predictions right at once, 5 runs"
    );
    let steps: Vec<&[Level]> = report.steps.iter().map(|row| row.levels.as_slice()).collect();
    assert_eq!((steps.len(), steps.iter().position(|levels| levels.is_empty())), (10, Some(9)));
    assert!(report.steps.iter().all(|row| !row.is_done), "a look at the bundled trainer is not yet done");
    let mut own = progress();
    own.note_written(&check_all(&evidence()), StepSet::ALL, RunId(4));
    own.note_pair(Step::Broadcast, RunId(2), RunId(3));
    let again = self::report(&own).progress();
    assert_eq!(again.in_words(), own.in_words(), "what is handed in says as much");
    let [first, second] = report.predictions.as_slice() else { panic!("{:?}", report.predictions) };
    assert_eq!((first.right_at_try, first.outcome.as_str(), first.tries), (Some(2), "right at try 2, after the run", 2));
    assert!(first.is_late, "the run that showed the step was there before");
    assert!(first.answers[1].starts_with("About as far apart"), "{:?}", first.answers);
    assert_eq!((second.title.as_str(), second.right_at_try), ("lesson 99", None));

    let row = &report.runs[2];
    assert_eq!((row.baseline, row.speedup, row.scaling_efficiency), (Some(RunId(2)), Some(1.9), Some(0.95)));
    assert_eq!((row.accuracy, row.epochs, row.training_seconds), (Some(0.8125), 2, Some(12.5)));
    assert_eq!(report.runs[3].speedup, None, "ranks that train apart are no faster");
    assert_eq!((report.runs[4].speedup, report.runs[4].baseline), (None, None), "nothing else does its work");
    let chart = report.speedup.unwrap();
    let bars: Vec<_> = chart.bars.iter().map(|bar| (bar.np, bar.run.0, bar.speedup, bar.ideal)).collect();
    assert_eq!(bars, [(1, 2, 1.0, 1.0), (2, 3, 1.9, 2.0)]);
}

#[test]
fn the_chart_has_bars_that_differ_in_the_number_of_ranks_alone() {
    let of = |runs: &[RunSummary]| {
        let sources = Sources {
            learner: None,
            now_s: NOW_S,
            progress: &Progress::default(),
            lessons: &Catalog::embedded().unwrap(),
            runs,
            inspected: Vec::new(),
            machine: MachineRow::default(),
            private: Private::default(),
        };
        let report = Report::new(sources);
        let bars = report.speedup.map(|chart| chart.bars.iter().map(|bar| bar.run.0).collect::<Vec<_>>()).unwrap_or_default();
        (bars, report.runs)
    };
    let with = |id, job: TrainingJob, change: &dyn Fn(&mut RunSummary)| {
        let mut run = run(id, job, 1000.0 * f64::from(id));
        change(&mut run);
        run
    };
    let record = |run: &mut RunSummary, change: &dyn Fn(&mut RunRecord)| change(run.record.as_mut().unwrap());
    let quiet = [run(1, spec(1), 900.0), run(2, spec(2), 1700.0)];
    let own = |run: &mut RunSummary| record(run, &|record| record.request.program = Some("mine".into()));
    let trial = |trial: Trial| move |run: &mut RunSummary| run.record.as_mut().unwrap().request.trial = Some(trial);
    let disturbed = |run: &mut RunSummary| {
        record(run, &|record| record.attempts = vec![Attempt { others_cpu: Some(0.8), ..Attempt::default() }]);
    };
    let flags = |words: &str| spec(2).with(|job| job.workload.trainer_flags = words.split(' ').map(String::from).collect());
    // Newer than the others, and none of them is taken.
    let others = [
        with(3, spec(2), &own),
        with(3, spec(2), &trial(Trial::First)),
        with(3, spec(2), &|run| run.status.state = RunState::Stopped),
        with(3, spec(2), &|run| run.status.state = RunState::Running),
        with(3, spec(2), &disturbed),
        with(3, spec(1), &disturbed),
    ];
    for other in others {
        let (bars, rows) = of(&[quiet.as_slice(), &[other]].concat());
        assert_eq!((bars, rows.len()), (vec![1, 2], 3));
    }
    // Each of these would be a chart with one rank, but not with the others.
    for apart in [
        flags("--compression fp16"),
        flags("--precision=bf16"),
        spec(2).with(|job| job.workload.precision = NumberFormat::Bf16),
        spec(2).with(|job| job.workload.steps = job.workload.steps.without(Step::NovoGrad)),
        spec(2).with(|job| job.resources.link = Some(100_000_000)),
    ] {
        let three = run(3, spec(3), 2500.0);
        let (bars, _) = of(&[quiet.as_slice(), &[three, run(4, apart, 100.0)]].concat());
        assert_eq!(bars, [1, 2, 3]);
    }
    let (bars, rows) = of(&[quiet.as_slice(), &[with(3, spec(3), &trial(Trial::Further))]].concat());
    assert_eq!((bars, rows.len()), (vec![1, 2], 2), "nobody asked for it");
    let (bars, _) = of(&[with(1, spec(1), &disturbed), with(2, spec(2), &disturbed)]);
    assert_eq!(bars, [1, 2], "there is nothing better");
}

#[test]
fn nothing_is_told_that_is_nobodys_business() {
    let report = report(&progress());
    assert!(report.practice().iter().any(|line| line.starts_with("run 8: look at this: metrics: ")), "{:?}", report.practice());
    for text in [report.to_markdown(), report.to_html(), report.to_json()] {
        for secret in ["/home", "ada", "node7", "a note of", "secret", "\u{1b}"] {
            assert!(!text.contains(secret), "`{secret}` in {text}");
        }
        assert!(text.contains("generated garments") && text.contains("2027-01-01 00:00 UTC"), "{text}");
    }
}

#[test]
fn json_is_read_back_and_shows_an_instructor_the_same() {
    let report = report(&progress());
    let value: Value = serde_json::from_str(&report.to_json()).unwrap();
    assert_eq!((&value["report"], &value["steps"][3]["levels"][0]), (&1.into(), &"seen".into()));
    assert_eq!(serde_json::from_str::<Report>(&report.to_json()).unwrap(), report);
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("handed-in.json"), report.to_json()).unwrap();
    let class = Class::read(folder.path(), NOW_S).unwrap();
    let [learner] = class.learners.as_slice() else { panic!("{class:?}") };
    assert!(learner.learner.starts_with("<script>") && !learner.learner.contains('\u{1b}'), "{}", learner.learner);
    assert_eq!((learner.marks().as_str(), learner.next, learner.state), ("sssssssss.", Some(1), State::Working));
}

#[test]
fn html_is_balanced_and_holds_no_markup_but_its_own() {
    let html = report(&progress()).to_html();
    assert!(!html.contains("<script") && html.contains("&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; | `a` &amp;"), "{html}");
    assert!(html.contains("prefers-color-scheme: dark") && html.contains("@media print") && html.contains("<svg"));
    assert!(!html.contains("http") && !html.contains("src=") && !html.contains("url("), "it needs nothing beside it");
    let mut open: Vec<&str> = Vec::new();
    for tag in html.split('<').skip(2).map(|piece| piece.split_once('>').unwrap().0) {
        let name = tag.trim_start_matches('/').split(' ').next().unwrap();
        match tag {
            _ if tag.starts_with('/') => assert_eq!(open.pop(), Some(name), "{open:?}"),
            _ if tag.ends_with('/') || name == "meta" => {}
            _ => open.push(name),
        }
    }
    assert!(open.is_empty(), "{open:?}");
    let none = report(&Progress::default());
    assert!(
        none.to_html().contains("<p>None.</p>")
            && none.to_markdown().contains("seen 0, predicted 0, proven 0, written 0 of 10 steps")
    );
}

#[test]
fn markdown_keeps_its_columns() {
    let markdown = report(&progress()).to_markdown();
    assert!(markdown.starts_with("# Lab report of \\<script\\>"), "{markdown}");
    let columns = |line: &str| line.replace("\\|", "").matches('|').count();
    let steps: Vec<&str> = markdown.split("## Steps").nth(1).unwrap().lines().skip(2).take(12).collect();
    assert!(steps.iter().all(|line| columns(line) == 7), "{steps:#?}");
    assert!(markdown.contains("np   2 ######################################-- 1.90x of 2x, 1900 images/s"), "{markdown}");
}

#[test]
fn it_is_one_command() {
    let lab = Lab::with_fake_mpirun("5");
    let host = hvd_lab_terminal::host::name();
    let file = |name: &str| lab.home().join(name).display().to_string();
    for (name, begins) in [("r.html", "<!DOCTYPE html>"), ("r.json", "{"), ("r.md", "# Lab report of Ada")] {
        let made = lab.run(&["report", "--name", "Ada", "--out", &file(name)]);
        assert_eq!(made.status.code(), Some(0), "{}", stderr(&made));
        assert!(stderr(&made).contains("seen 0, predicted 0, proven 0, written 0 of 10 steps"), "{}", stderr(&made));
        let text = fs::read_to_string(file(name)).unwrap();
        assert!(text.starts_with(begins) && !text.contains(lab.home().to_str().unwrap()), "{text}");
    }
    let value = |args: &[&str]| -> Value { serde_json::from_slice(&lab.run(args).stdout).unwrap() };
    let machine = &value(&["report", "--format", "json"])["machine"];
    assert!(machine["host"].is_null() && machine["cores"].as_u64() > Some(0) && machine["memory_bytes"].as_u64() > Some(1 << 20));
    assert!(!machine["gpus"].as_array().unwrap().is_empty() || machine["no_gpus"].as_str().is_some_and(|why| why.len() > 6));
    assert_eq!(value(&["report", "--format", "json", "--host"])["machine"]["host"], *host);
    assert!(stdout(&lab.run(&["report"])).starts_with("# Lab report\n"));
    let bad = lab.run(&["report", "--format", "pdf"]);
    assert_eq!((bad.status.code(), stderr(&bad).lines().count()), (Some(2), 1), "{}", stderr(&bad));
}
