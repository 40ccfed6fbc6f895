//! How checkpoints are named: the trainer writes them, and the lab looks whether one is left.

use super::bounds::MAX_COUNT;

/// How far a training has come that a checkpoint holds, in order of progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Progress {
    /// Whole epochs.
    pub epoch: usize,
    /// Images of the next epoch that all ranks together have trained; 0 at the end of an epoch. What is written in between is a
    /// commit.
    pub images: usize,
}

impl Progress {
    /// `checkpoint-3.safetensors` at the end of an epoch, `commit-3-640.safetensors` within the next one.
    pub fn file_name(self) -> String {
        match self {
            Progress { epoch, images: 0 } => file_name(epoch),
            Progress { epoch, images } => format!("commit-{epoch}-{images}.safetensors"),
        }
    }

    /// The inverse of [`Progress::file_name`]. No training comes as far as some names say: they are not ours.
    pub fn from_file_name(name: &str) -> Option<Progress> {
        let stem = name.strip_suffix(".safetensors")?;
        let place = match stem.strip_prefix("commit-") {
            Some(numbers) => {
                let (epoch, images) = numbers.split_once('-')?;
                Progress { epoch: epoch.parse().ok()?, images: images.parse().ok()? }
            }
            None => Progress { epoch: stem.strip_prefix("checkpoint-")?.parse().ok()?, images: 0 },
        };
        // `checkpoint-03`, `checkpoint-+3` and `commit-3-0` are no names of ours.
        let is_ours = name == place.file_name() && place.epoch.max(place.images) <= MAX_COUNT;
        is_ours.then_some(place)
    }
}

/// The file of an epoch, counted from 1.
pub fn file_name(epoch: usize) -> String {
    format!("checkpoint-{epoch}.safetensors")
}

/// The inverse of [`file_name`].
pub fn epoch_of(name: &str) -> Option<usize> {
    Progress::from_file_name(name).filter(|place| place.images == 0).map(|place| place.epoch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_how_far_a_training_has_come() {
        for (name, epoch, images) in [("checkpoint-3.safetensors", 3, 0), ("commit-0-64.safetensors", 0, 64)] {
            assert_eq!(Progress::from_file_name(name), Some(Progress { epoch, images }));
            assert_eq!(Progress { epoch, images }.file_name(), name);
        }
        for foreign in ["checkpoint-03.safetensors", "commit-3-0.safetensors", "commit-3.safetensors", "commit-3-64.tmp"] {
            assert_eq!(Progress::from_file_name(foreign), None, "{foreign}");
        }
        let numbers = [
            "18446744073709551615",
            "18446744073709551616",
            "99999999999999999999",
            "281474976710657",
            "-1",
            "+1",
            "01",
            "1.0",
            "",
        ];
        for number in numbers {
            for name in [format!("checkpoint-{number}"), format!("commit-{number}-1"), format!("commit-1-{number}")] {
                assert_eq!(Progress::from_file_name(&format!("{name}.safetensors")), None, "{name}");
            }
        }
        assert!(Progress { epoch: 2, images: 900 } < Progress { epoch: 3, images: 0 });
        assert_eq!(epoch_of("commit-3-64.safetensors"), None, "it is no end of an epoch");
    }
}
