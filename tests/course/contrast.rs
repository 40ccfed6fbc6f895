//! What is said of two runs: of those that differ in a step, the difference; of equal ones, nothing that is not so.
//!
//! Never starts a run: the evidence is made and then doctored. `seen.rs` asks real runs.

use hvd_lab_terminal::course::{Contrast, Evidence, Process, contrast};
use hvd_lab_terminal::domain::event::DigestMoment;
use hvd_lab_terminal::domain::step::Step;
use hvd_lab_terminal::domain::topology::Topology;

use super::good::{NP, checkpoint, evidence};

fn every(evidence: &mut Evidence, change: impl Fn(usize, &mut Process)) {
    evidence.history.attempts[0].processes.iter_mut().for_each(|(index, process)| change(*index, process));
}

fn digests(evidence: &mut Evidence, wanted: DigestMoment) {
    every(evidence, |index, process| {
        let of = process.digests.iter_mut().filter(|(at, ..)| *at == wanted);
        of.for_each(|(.., digest)| *digest = format!("{index}{digest}"));
    });
}

/// Weights of rank n are n tenths away from rank 0's.
fn apart(evidence: &mut Evidence) {
    for moment in [DigestMoment::StartParameters, DigestMoment::EpochParameters] {
        digests(evidence, moment);
        for epoch in 0..=2 {
            every(evidence, |index, process| process.samples.push((moment, epoch, vec![0.5 + 0.1 * index as f32; 4])));
        }
    }
}

fn alike(evidence: &mut Evidence) {
    for moment in [DigestMoment::StartParameters, DigestMoment::EpochParameters] {
        for epoch in 0..=2 {
            every(evidence, |_, process| process.samples.push((moment, epoch, vec![0.5; 4])));
        }
    }
}

fn rates(evidence: &mut Evidence, lr: f64) {
    every(evidence, |_, process| process.steps.iter_mut().for_each(|step| step.lr = lr));
}

fn said(contrast: &Contrast) -> String {
    contrast.explained.join("\n")
}

/// Number of the step, what is different before, what after, and what is said of it.
type Case = (usize, fn(&mut Evidence), fn(&mut Evidence), &'static [&'static str]);

const SAME: fn(&mut Evidence) = |_| {};

const CASES: &[Case] = &[
    (
        1,
        |e| {
            every(e, |_, p| {
                let place = p.topology.as_mut().unwrap();
                (place.topology, place.cores) = (Topology::ALONE, vec![0, 1]);
            })
        },
        SAME,
        &["each of the 3 processes thought it was rank 0 of 1", "ranks 0 to 2 of 3", "same device or cores", "one model for all"],
    ),
    (
        2,
        |e| (0..NP).for_each(|rank| (1..=2).for_each(|epoch| e.take_line(rank, &format!("Epoch {epoch}/2")))),
        SAME,
        &["3 copies of the log against 1", "6 lines `Epoch`, printed by ranks 0, 1 and 2", "rank 0 prints, and there are 2"],
    ),
    (
        3,
        |e| digests(e, DigestMoment::FirstGradients),
        SAME,
        &["3 ranks applied 3 different gradients", "computed 0, 0.3000, 0.6000, and all applied 0.3000, the mean"],
    ),
    (4, apart, alike, &["0.2000 apart at the start and 0.2000 at the end", "equal bit by bit", "rank 0 drew (00aaaaaa)"]),
    (4, |e| digests(e, DigestMoment::EpochParameters), SAME, &["differ to the end", "equal bit by bit"]),
    (
        5,
        |e| every(e, |_, p| p.epochs.iter_mut().for_each(|report| (report.batches, report.images) = (13, 400))),
        SAME,
        &["1,200 images per epoch against 384, of 400", "a third of the work", "4 an epoch instead of 13"],
    ),
    (
        6,
        |e| every(e, |_, p| p.epochs.iter_mut().for_each(|report| report.averaged = None)),
        SAME,
        &["epoch 2 (0.5000, 0.6000, 0.7000)", "0.2000 apart", "all decide on 0.6000, the mean"],
    ),
    (
        7,
        |e| every(e, |_, p| p.checkpoints = vec![checkpoint(1), checkpoint(2)]),
        SAME,
        &["ranks 0, 1 and 2 each wrote every file: 6 writes for 2 files", "After, rank 0 alone wrote 2"],
    ),
    (8, |e| rates(e, 0.01), |e| rates(e, 0.03), &["0.01 in every batch against 0.03: 3 times, once for each of the 3 ranks"]),
    (8, |e| rates(e, 0.01), |e| rates(e, 0.09), &["against 0.09: 9 times."]),
    (
        9,
        |e| rates(e, 0.03),
        SAME,
        &["full rate 0.03 from the first batch", "0.011 in the first batch, 0.018 after 2 epochs", "end of epoch 5"],
    ),
    (
        10,
        |e| every(e, |_, p| p.config.as_mut().unwrap().optimizer = "sgd".into()),
        |e| every(e, |_, p| p.steps[1].loss = 9.8),
        &["same first gradients; sgd and novograd", "2.2900 with sgd, 9.8000 with novograd"],
    ),
];

#[test]
fn the_difference_that_a_step_makes_is_said_with_its_numbers() {
    for (index, (number, before, after, words)) in CASES.iter().enumerate() {
        let (mut one, mut other) = (evidence(), evidence());
        before(&mut one);
        after(&mut other);
        let found = contrast(Step::from_number(*number).unwrap(), &one, &other);
        let said = said(&found);
        for word in *words {
            assert!(said.contains(word), "case {index}, step {number}: no `{word}` in:\n{said}");
        }
        assert!(found.facts.iter().any(|fact| fact.before != fact.after), "case {index}: {:?}", found.facts);
    }
    for step in Step::ALL {
        assert!(CASES.iter().any(|(number, ..)| *number == step.number()), "no case for {step}");
    }
}

#[test]
fn of_equal_runs_no_difference_is_claimed() {
    let claims = [
        "copies of the log",
        "thought it was",
        "different gradients",
        "differ to the end",
        "each rank decides",
        "each wrote",
        "fewer updates",
        "a ramp",
        "times, once",
    ];
    for step in Step::ALL {
        let (mut one, mut other) = (evidence(), evidence());
        rates(&mut one, 0.03);
        rates(&mut other, 0.03);
        let found = contrast(step, &one, &other);
        let said = said(&found);
        assert_eq!(claims.iter().find(|claim| said.contains(**claim)), None, "{step}:\n{said}");
        assert!(found.facts.iter().all(|fact| fact.before == fact.after), "{step}: {:?}", found.facts);
    }
}

#[test]
fn what_was_not_reported_is_left_out() {
    let nothing = Evidence::new(evidence().spec);
    let mut unfinished = evidence();
    every(&mut unfinished, |index, process| process.has_finished = index != 1);
    for step in Step::ALL {
        assert!(said(&contrast(step, &nothing, &evidence())).contains("nothing to compare"));
        assert!(said(&contrast(step, &evidence(), &unfinished)).contains("after is not complete (rank 1"));
        let mut bare = evidence();
        every(&mut bare, |_, process| *process = Process { topology: process.topology.clone(), ..Process::default() });
        contrast(step, &bare, &bare);
    }
}
