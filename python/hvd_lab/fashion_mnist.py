"""The images: 60,000 garments to train on and 10,000 to test on, or as many as the flags say."""
from ._library import started


class Batches:
    """Images in batches. `len()` is the number of batches in one pass over all of them."""

    def __init__(self, purpose, images, batch_size):
        self.purpose = purpose
        self.images = images
        self.batch_size = batch_size

    def __len__(self):
        return -(-self.images // self.batch_size)

    def __repr__(self):
        return "Batches({}: {} images in {} batches)".format(self.purpose, self.images, len(self))


def load_data(batch_size=32):
    """Two iterators: training images, shifted and flipped at random, and test images. Both are normalised."""
    if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
        raise ValueError("batch_size is {!r}: give a whole number of 1 or more".format(batch_size))
    training, validation, _ = started().load_data(False)
    return Batches("training", training, batch_size), Batches("test", validation, batch_size)
