//! How a checkpoint is named: the trainer writes it, and the lab looks whether one is left.

/// The file of an epoch, counted from 1.
pub fn file_name(epoch: usize) -> String {
    format!("checkpoint-{epoch}.safetensors")
}

/// The inverse of [`file_name`].
pub fn epoch_of(name: &str) -> Option<usize> {
    let epoch = name.strip_prefix("checkpoint-")?.strip_suffix(".safetensors")?.parse().ok()?;
    // `checkpoint-03` and `checkpoint-+3` are no names of ours.
    (name == file_name(epoch)).then_some(epoch)
}
