//! Holds the garments to their promises: the same for everybody, hard for a linear model, sound as a data set.

use sha2::{Digest, Sha256};

use super::*;
use crate::dataset::official::hexadecimal;

fn hexadecimal_sha256(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

#[test]
fn a_limit_gives_a_prefix_and_parts_share_no_image() {
    let all = garments(SplitKind::Train, 700);
    let some = garments(SplitKind::Train, 300);
    assert_eq!(all.labels[..300], some.labels);
    assert_eq!(all.images[..300 * IMAGE_BYTES], some.images);
    assert_ne!(garments(SplitKind::Test, 300).images, some.images);
    assert!(garments(SplitKind::Train, 0).is_empty());
}

#[test]
fn the_garments_are_the_same_on_every_machine() {
    let split = garments(SplitKind::Train, 100);
    assert_eq!(hexadecimal_sha256(&split.images), "4c63f79535eaa2b6dff549e9f2a84db55a192102f54e11a52d14b44f34d4f388");
}

#[test]
fn every_class_is_drawn_about_as_often_and_inside_the_picture() {
    let split = garments(SplitKind::Train, 5000);
    let mut counts = [0; 10];
    split.labels.iter().for_each(|&label| counts[usize::from(label)] += 1);
    assert!(counts.iter().all(|count| (400..600).contains(count)), "{counts:?}");
    for index in 0..split.len() {
        let bright = split.image(index).iter().filter(|&&byte| byte > 40).count();
        assert!(bright > 25, "image {index} of class {} is nearly empty: {bright} pixels", split.labels[index]);
    }
}

#[test]
fn the_digits_are_the_same_on_every_machine_in_all_classes_and_inside_the_picture() {
    let split = digits(SplitKind::Train, 5000);
    assert_eq!(
        hexadecimal_sha256(&split.images[..100 * IMAGE_BYTES]),
        "250b7bcd4aac42c19f8cfbb474ee216cbe32f9c153f4ab43606e0687b193cffe"
    );
    assert_eq!(digits(SplitKind::Train, 300).images, split.images[..300 * IMAGE_BYTES]);
    assert_ne!(digits(SplitKind::Test, 300).images, split.images[..300 * IMAGE_BYTES]);
    let mut counts = [0; 10];
    split.labels.iter().for_each(|&label| counts[usize::from(label)] += 1);
    assert!(counts.iter().all(|count| (400..600).contains(count)), "{counts:?}");
    for index in 0..split.len() {
        let image = split.image(index);
        let bright = image.iter().filter(|&&byte| byte > 128).count();
        let at_the_edge = (0..28).flat_map(|place| [place, 27 * 28 + place, 28 * place, 28 * place + 27]);
        let outside = at_the_edge.filter(|&place| image[place] > 128).count();
        assert!(bright > 10 && outside < 24, "image {index}, a {}: {bright} pixels, {outside} at the edge", split.labels[index]);
    }
}

/// As with MNIST: a linear model does well, and leaves something to do.
#[test]
fn a_linear_model_reads_most_digits_but_not_all() {
    let accuracy = linear_accuracy(&digits(SplitKind::Train, 12000), &digits(SplitKind::Test, 2000));
    assert!((0.75..0.98).contains(&accuracy), "{accuracy}");
}

/// Softmax regression, full pixels, enough epochs to converge: the best that a linear model does.
#[test]
fn a_linear_model_stays_under_80_percent() {
    let (train, test) = (garments(SplitKind::Train, 12000), garments(SplitKind::Test, 2000));
    let accuracy = linear_accuracy(&train, &test);
    assert!(accuracy < 0.80, "too easy: {accuracy}");
    assert!(accuracy > 0.25, "not learnable at all: {accuracy}");
}

fn linear_accuracy(train: &Split, test: &Split) -> f64 {
    const INPUTS: usize = IMAGE_BYTES + 1;
    let mut weights = vec![0.0_f32; 10 * INPUTS];
    let scores = |weights: &[f32], image: &[u8]| -> [f32; 10] {
        std::array::from_fn(|class| {
            let row = &weights[class * INPUTS..][..INPUTS];
            row[IMAGE_BYTES] + row.iter().zip(image).map(|(weight, &byte)| weight * (f32::from(byte) / 255.0)).sum::<f32>()
        })
    };
    for epoch in 0..8 {
        let rate = 0.02 / (1.0 + epoch as f32);
        for index in 0..train.len() {
            let image = train.image(index);
            let scores = scores(&weights, image);
            let top = scores.iter().copied().fold(f32::MIN, f32::max);
            let parts = scores.map(|score| (score - top).exp());
            let sum: f32 = parts.iter().sum();
            for class in 0..10 {
                let target = if usize::from(train.labels[index]) == class { 1.0 } else { 0.0 };
                let error = (parts[class] / sum - target) * rate;
                let row = &mut weights[class * INPUTS..][..INPUTS];
                row[IMAGE_BYTES] -= error;
                row.iter_mut().zip(image).for_each(|(weight, &byte)| *weight -= error * (f32::from(byte) / 255.0));
            }
        }
    }
    let right = (0..test.len()).filter(|&index| {
        let scores = scores(&weights, test.image(index));
        (0..10).max_by(|&a, &b| scores[a].total_cmp(&scores[b])) == Some(usize::from(test.labels[index]))
    });
    right.count() as f64 / test.len() as f64
}
