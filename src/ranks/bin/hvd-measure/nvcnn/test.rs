//! `--eval`: a checkpoint tested on the validation photos, each once. All ranks share the work, which nvcnn leaves to one.

use std::time::Instant;

use hvd_lab::comm::{self, Communicator};
use hvd_lab::domain::benchmark::style::nvcnn;
use hvd_lab::domain::event::Event;
use hvd_lab::domain::nvcnn::NvcnnSpec;
use hvd_lab::trainer::device::Placement;
use hvd_lab::trainer::evaluate::TopSums;
use hvd_lab::trainer::launch::Failure;
use hvd_lab::trainer::model::{Mode, Model};
use hvd_lab::trainer::report::Reporter;

use crate::feed::Feed;

/// # Collective
/// Every rank calls it, with its own share.
pub fn test(
    spec: &NvcnnSpec,
    comm: &dyn Communicator,
    report: &Reporter,
    model: &dyn Model,
    placement: &Placement,
    feed: &mut Feed,
) -> Result<(), Failure> {
    let began = Instant::now();
    if comm.topology().size.0 > 1 {
        report.line("# all ranks share the images; the rows are of rank 0's batches, and the result is of all");
    }
    nvcnn::TESTING.iter().for_each(|line| report.line(line));
    let mut batches = Vec::new();
    while let Some(batch) = feed.next()? {
        let of_batch = tch::no_grad(|| {
            let scores = model.forward(&batch.images, Mode::Evaluation);
            let mut sums = TopSums::new(placement.device);
            sums.add(&scores, &batch, &scores.cross_entropy_for_logits(&batch.labels));
            sums.own()
        });
        batches.extend([of_batch.loss, of_batch.top_1, of_batch.top_5, of_batch.images as f64]);
        let step = batches.len() / 4;
        if step == 1 || step.is_multiple_of(spec.display_every) {
            report.line(&nvcnn::tested_step(step, of_batch.top_1, of_batch.top_5));
        }
    }
    // Of all ranks. The mean is over images: nvcnn's is over batches, and leaves the last few images out.
    let batches = comm::allgather_numbers(comm, &batches)?.concat();
    let of = |figure: usize| batches.chunks_exact(4).map(move |batch| batch[figure]);
    let images: f64 = of(3).sum();
    if images == 0.0 {
        return Err(Failure::refused("no validation image can be used: check the data folder"));
    }
    let mean = |figure: usize| of(figure).zip(of(3)).map(|(part, images)| part * images).sum::<f64>() / images;
    let [top_1, top_5] = [1, 2].map(|figure| of(figure).collect::<Vec<f64>>());
    nvcnn::tested((mean(1), &top_1), (mean(2), &top_5)).iter().for_each(|line| report.line(line));
    report.line(&format!("# loss {:.4}, over {images} images", mean(0)));
    let (loss, accuracy, seconds) = (mean(0), mean(1), began.elapsed().as_secs_f64());
    report.event(Event::Test { loss, accuracy, images: images as usize, seconds });
    Ok(())
}
