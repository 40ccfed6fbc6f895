//! tf_cnn_benchmarks, and NVIDIA's nvcnn, which prints much the same.

use super::family::Family;

pub(super) const TF_CNN: Family = Family {
    name: "tf_cnn_benchmarks",
    lines: &[
        // Step, Img/sec, total_loss; with --print_training_accuracy top_1 and top_5 as well.
        r"^(?P<step>\d+)\s+images/sec: (?P<rate>NUM) \+/- NUM \(jitter = NUM\)(?:\s+(?P<loss>NUM))?(?:\s+(?P<accuracy>NUM)\s+NUM)?\s*$",
        r"^total images/sec: (?P<total_rate>NUM)",
        // nvcnn, of all its GPUs
        r"^Images/sec: (?P<total_rate>NUM) \+/- NUM \(jitter = NUM\)",
        r"^Accuracy @ 1 = (?P<val_accuracy>NUM) Accuracy @ 5 = ",
    ],
    has_words: false,
};
