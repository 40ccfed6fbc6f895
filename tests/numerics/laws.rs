//! Laws that optimizers keep whatever their constants: resuming, independence of tensors, and what scaling changes.

use clap::ValueEnum;
use hvd_lab::trainer::optimizer::{self, Optimizer, OptimizerKind};
use hvd_lab::trainer::params::{BLOCK, FlatTensors, Init, TensorSpec, set, to_vec};
use hvd_lab::trainer::random::{Purpose, stream};
use tch::{Device, Tensor};

use super::optimizers::{flat_gradients, params};

const LR: f64 = 0.05;

/// The parameters and the optimizer after `steps`, with each tensor's gradients times its factor.
fn trained(rule: OptimizerKind, wd: f64, steps: usize, factor: impl Fn(&str) -> f32) -> (FlatTensors, Box<dyn Optimizer>) {
    let mut params = params();
    let mut optimizer = optimizer::build(rule, &params, 0.9, wd);
    for step in 0..steps {
        let gradients = flat_gradients(&params, step, &factor);
        optimizer.step(&mut params, &gradients, LR);
    }
    (params, optimizer)
}

/// The weights of every tensor after 30 steps, by name.
fn weights(rule: OptimizerKind, wd: f64, factor: impl Fn(&str) -> f32) -> Vec<(String, Vec<f32>)> {
    let (params, _) = trained(rule, wd, 30, factor);
    params.segments.iter().map(|segment| segment.name.clone()).zip(params.rows()).collect()
}

/// The largest difference relative to the larger of a tensor's largest weight and 1e-3.
fn difference(a: &[f32], b: &[f32]) -> f32 {
    let size = a.iter().fold(1e-3, |size: f32, number| size.max(number.abs()));
    a.iter().zip(b).map(|(a, b)| (a - b).abs() / size).fold(0.0, f32::max)
}

#[test]
fn what_the_flag_names_is_what_events_and_checkpoints_name() {
    for rule in OptimizerKind::value_variants() {
        let name = rule.to_possible_value().unwrap();
        assert_eq!(optimizer::build(*rule, &params(), 0.9, 0.0).name(), name.get_name());
    }
}

#[test]
fn state_that_was_saved_goes_on_bit_for_bit() {
    for &rule in OptimizerKind::value_variants() {
        // Cut at the very start, in the steps with special rules, and later.
        for cut in [0, 1, 2, 13] {
            let (mut whole, mut optimizer) = trained(rule, 0.01, cut, |_| 1.0);
            let saved: Vec<(&str, Vec<f32>)> = optimizer.state().into_iter().map(|(name, state)| (name, to_vec(state))).collect();
            let (mut resumed, mut restored) = (params(), optimizer::build(rule, &params(), 0.9, 0.01));
            resumed.set(&whole.to_vec());
            for ((name, state), (saved_name, numbers)) in restored.state().into_iter().zip(&saved) {
                assert_eq!((name, state.numel()), (*saved_name, numbers.len()));
                set(state, numbers);
            }
            for step in cut..cut + 3 {
                let gradients = flat_gradients(&whole, step, |_| 1.0);
                optimizer.step(&mut whole, &gradients, LR);
                restored.step(&mut resumed, &gradients, LR);
                assert_eq!(whole.to_vec(), resumed.to_vec(), "{rule:?}, cut at {cut}, step {step}");
            }
            for ((name, state), (_, other)) in optimizer.state().into_iter().zip(restored.state()) {
                assert_eq!(to_vec(state), to_vec(other), "{rule:?}: {name}");
            }
        }
    }
}

#[test]
fn the_gradients_of_one_tensor_move_no_other() {
    for &rule in OptimizerKind::value_variants() {
        let (plain, louder) =
            (weights(rule, 0.01, |_| 1.0), weights(rule, 0.01, |name| if name == "dense" { -8.0 } else { 1.0 }));
        for ((name, a), (_, b)) in plain.iter().zip(&louder) {
            assert_eq!(a != b, name == "dense", "{rule:?}: {name}");
        }
    }
}

#[test]
fn no_gradients_and_no_decay_move_nothing() {
    for &rule in OptimizerKind::value_variants() {
        let (after, _) = trained(rule, 0.0, 5, |_| 0.0);
        assert_eq!(after.to_vec(), params().to_vec(), "{rule:?}");
    }
}

/// The weights, after three steps, of a tensor of ones behind `ahead` numbers of another.
fn behind(rule: OptimizerKind, ahead: i64) -> Vec<f32> {
    let spec = |name: &str, len| TensorSpec { name: name.into(), shape: vec![len], init: Init::Ones, is_kernel: true };
    let specs = vec![spec("ahead", ahead), spec("late", 200)];
    let mut params = FlatTensors::build(specs, &mut stream(3, 0, 0, Purpose::Weights), true, Device::Cpu);
    let mut optimizer = optimizer::build(rule, &params, 0.9, 0.01);
    let start = params.segments[1].start as usize;
    for step in 0..3 {
        let mut gradients = vec![0.0; params.flat.numel()];
        gradients[start..][..200].iter_mut().enumerate().for_each(|(index, number)| *number = ((index + step) % 7) as f32 - 2.0);
        optimizer.step(&mut params, &Tensor::from_slice(&gradients), LR);
    }
    params.rows().remove(1)
}

/// Optimizers work on 2^18 numbers at a time where there are few threads: the tensor lies in two of these pieces, or one.
#[test]
fn the_place_of_a_tensor_among_others_changes_nothing() {
    tch::set_num_threads(1);
    for &rule in OptimizerKind::value_variants() {
        assert!(behind(rule, (1 << 18) - 128) == behind(rule, BLOCK), "{rule:?}");
    }
}

/// Powers of two change no digit of a float, so only eps can tell the runs apart, and it is far below the gradients.
#[test]
fn normalised_updates_do_not_know_the_size_of_gradients() {
    for rule in [OptimizerKind::NovoGrad, OptimizerKind::Lamb, OptimizerKind::Adadelta] {
        // With decay, Adadelta adds weights to gradients, whose size then matters.
        let wd = if rule == OptimizerKind::Adadelta { 0.0 } else { 0.01 };
        let plain = weights(rule, wd, |_| 256.0);
        let scaled = weights(rule, wd, |name| if name == "conv" { 262_144.0 } else { 65_536.0 });
        for ((name, a), (_, b)) in plain.iter().zip(&scaled) {
            assert!(difference(a, b) < 3e-3, "{rule:?}: {name} differs by {}", difference(a, b));
        }
    }
    let (plain, scaled) = (weights(OptimizerKind::Sgd, 0.0, |_| 1.0), weights(OptimizerKind::Sgd, 0.0, |_| 2.0));
    assert!(plain.iter().zip(&scaled).any(|((_, a), (_, b))| difference(a, b) > 0.1), "SGD does know it");
}

/// LAMB's first step moves every kernel that has a gradient by the same fraction of its norm: the learning rate.
#[test]
fn lambs_stride_is_the_learning_rate_times_the_norm() {
    let (before, (after, _)) = (params(), trained(OptimizerKind::Lamb, 0.01, 1, |_| 1.0));
    let norm = |numbers: &mut dyn Iterator<Item = f32>| numbers.map(|number| f64::from(number).powi(2)).sum::<f64>().sqrt();
    for ((segment, old), new) in before.segments.iter().zip(before.rows()).zip(after.rows()) {
        let moved = norm(&mut old.iter().zip(&new).map(|(old, new)| new - old));
        let size = norm(&mut old.iter().copied());
        match segment.name.as_str() {
            "conv" | "dense" => assert!((moved / size - LR).abs() < 1e-6, "{}: {}", segment.name, moved / size),
            // Neither kernel nor nought: Adam's first step, the learning rate for every number with a gradient.
            "bias" => {
                let with_gradient = old.iter().zip(&new).filter(|(old, new)| old != new).count() as f64;
                assert!(with_gradient > 1.0 && (moved - LR * with_gradient.sqrt()).abs() < 1e-4, "{moved}");
            }
            _ => {}
        }
    }
}
