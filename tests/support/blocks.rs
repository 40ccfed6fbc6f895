//! One order of images for all ranks, cut so that one rank at batch 2B and two ranks at batch B see the same images in the
//! same global step.

/// The batches of one rank: `steps` lists of `batch_size` indices, of which the ranks hold blocks side by side.
pub fn blocks(rank: usize, size: usize, images: usize, steps: usize, batch_size: usize) -> Vec<Vec<u32>> {
    let batch = |step: usize| {
        let start = (step * size + rank) * batch_size;
        (start..start + batch_size).map(|index| (index % images) as u32).collect()
    };
    (0..steps).map(batch).collect()
}

#[test]
fn blocks_of_two_ranks_are_the_batches_of_one() {
    let alone = blocks(0, 1, 1000, 4, 128);
    let pair: Vec<_> = (0..2).map(|rank| blocks(rank, 2, 1000, 4, 64)).collect();
    for step in 0..4 {
        assert_eq!(alone[step], [pair[0][step].clone(), pair[1][step].clone()].concat());
    }
}
