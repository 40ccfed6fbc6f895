//! Hugging Face's Trainer: a dictionary a line; since transformers 5 its numbers are strings.

use super::family::Family;

pub(super) const HUGGING_FACE: Family = Family {
    name: "Hugging Face",
    lines: &[
        r"^\{'eval_(?:.*?'eval_samples_per_second': '?(?P<val_images_per_sec>NUM))?.*?'epoch': '?(?P<epoch>NUM)'?(?P<val>)\}",
        r"^\{'train_runtime': .*'train_samples_per_second': '?(?P<total_rate>NUM)'?,.*'epoch': '?(?P<epoch>NUM)'?\}",
        r"^\{.*'loss': .*'epoch': '?(?P<epoch>NUM)'?\}",
    ],
    has_words: true,
};
