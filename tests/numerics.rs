//! The arithmetic of training: optimizers against references in double precision, and averaged gradients against whole ones.

use hvd_lab::comm::{Communicator, ReduceOp, ThreadComm};
use hvd_lab::dataset::{self, Location, SplitKind};
use hvd_lab::domain::model::ModelSpec;
use hvd_lab::trainer::batches::Images;
use hvd_lab::trainer::model::{self, Mode, Model};
use hvd_lab::trainer::params::{BLOCK, to_vec};
use hvd_lab::trainer::random::{Purpose, stream};
use tch::{Device, Kind};

use crate::support::blocks::blocks;

mod kernels;
mod laws;
mod models;
mod optimizers;

const WRN_10_1: ModelSpec = ModelSpec::wrn(10, 1);

#[test]
fn views_and_flat_tensor_are_the_same_memory() {
    let mut params = optimizers::params();
    let numbers: Vec<f32> = (0..params.flat.numel()).map(|index| index as f32).collect();
    params.set(&numbers);
    for segment in &params.segments {
        assert_eq!(segment.start % BLOCK, 0, "{} starts on a whole block", segment.name);
    }
    assert_eq!(to_vec(&params.get("bias")), [0.0, 1.0, 2.0]);
    // [5, 3, 3, 3] lies in memory as [out, h, w, in]: neighbours in width are 3 apart, in channels 1.
    let conv = to_vec(&params.get("conv").contiguous());
    assert_eq!((&conv[..2], conv[9]), ([64.0, 67.0].as_slice(), 65.0));
    let sum = |name| params.get(name).sum(Kind::Float);
    let others = sum("bias") + sum("conv") + sum("late") + sum("scale") + sum("silent") + sum("zeros");
    (sum("dense") * 2.0 + others).backward();
    let gradient = to_vec(&params.gradients);
    for segment in &params.segments {
        let (start, len) = (segment.start as usize, segment.len as usize);
        let want = if segment.name == "dense" { 2.0 } else { 1.0 };
        assert!(gradient[start..start + len].iter().all(|&number| number == want), "{}", segment.name);
        assert!(gradient[start + len..start + (segment.blocks() * BLOCK) as usize].iter().all(|&number| number == 0.0));
    }
    assert_eq!(
        (params.len(), params.flat.numel() as i64),
        (3 + 135 + 640 + 8 + 64 + 70 + 65, BLOCK * (1 + 3 + 10 + 1 + 1 + 2 + 2))
    );
}

fn fresh_model() -> Box<dyn Model> {
    model::build(WRN_10_1, &mut stream(7, 0, 0, Purpose::Weights), Device::Cpu)
}

/// Gradients of the mean loss over one batch, batch norm in evaluation mode.
///
/// In training mode batch norm takes its statistics from the rank's own batch, so two halves are normalised differently
/// from the whole, and the gradients of the mean are not the mean of the gradients: that is how data-parallel training
/// is, not an error. With fixed statistics every image stands for itself, and the two must agree.
fn gradients_of(model: &mut dyn Model, images: &Images, picks: &[u32]) -> Vec<f32> {
    let batch = images.batch(picks);
    model.params_mut().zero_gradients();
    model.forward(&batch.images, Mode::Evaluation).cross_entropy_for_logits(&batch.labels).backward();
    to_vec(&model.params().gradients)
}

#[test]
fn two_ranks_at_half_the_batch_average_to_the_gradients_of_one() {
    let images = || {
        let split = dataset::load(&Location::Generated, SplitKind::Train, Some(512)).unwrap();
        Images::training(split, Device::Cpu)
    };
    let alone = {
        let order = blocks(0, 1, 512, 2, 128);
        let mut model = fresh_model();
        order.iter().map(|picks| gradients_of(&mut *model, &images(), picks)).collect::<Vec<_>>()
    };
    let ranks: Vec<_> = ThreadComm::group(2)
        .into_iter()
        .map(|comm| {
            std::thread::spawn(move || {
                let order = blocks(comm.topology().rank.0, 2, 512, 2, 64);
                // Equal weights, as after a broadcast.
                let mut model = fresh_model();
                let average = |picks: &Vec<u32>| {
                    let mut gradients = gradients_of(&mut *model, &images(), picks);
                    comm.allreduce(&mut gradients, ReduceOp::Average).unwrap();
                    gradients
                };
                order.iter().map(average).collect::<Vec<_>>()
            })
        })
        .collect();
    let pair: Vec<_> = ranks.into_iter().map(|rank| rank.join().unwrap()).collect();
    assert_eq!(pair[0], pair[1], "both ranks hold the same bits");
    for (whole, averaged) in alone.iter().zip(&pair[0]) {
        let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|value| value * value).sum::<f64>().sqrt();
        let difference = norm(&mut whole.iter().zip(averaged).map(|(a, b)| f64::from(a - b)));
        let size = norm(&mut whole.iter().map(|&value| f64::from(value)));
        assert!(size > 1e-3 && difference / size < 1e-5, "relative difference {}", difference / size);
    }
}
