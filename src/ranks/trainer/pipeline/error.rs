//! Why the image pipeline cannot begin or cannot go on, and what to do.

use crate::dataset::images::BadImage;

/// Bad images in a row after which the search for a good one ends.
pub(super) const MOST_BAD: usize = 1000;

/// What cannot be begun, or cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PipelineError {
    #[error(
        "{images} training images on {ranks} ranks are fewer than a batch of {batch_size} on each: \
         use a batch size of {} or less, or more images", images / ranks
    )]
    FewerThanABatch { images: usize, ranks: usize, batch_size: usize },

    #[error("{0}")]
    Decoder(String),

    #[error("{0}. Replace it, or leave such out with --bad-records skip")]
    Bad(BadImage),

    #[error("{MOST_BAD} images in a row cannot be used, the last one is {0}. Check the data folder")]
    AllBad(BadImage),

    #[error("the threads of the image pipeline cannot be started: {0}. Use fewer")]
    Threads(String),
}
