"""The images: 60,000 garments to train on and 10,000 to test on, or as many as the flags say."""
from ._library import call, place
from ._numbers import positive


class Batches:
    """Images in batches. `len()` is the number of batches in one pass over all of them."""

    def __init__(self, purpose, images, batch_size, loaded):
        self.purpose = purpose
        self.images = images
        self.batch_size = batch_size
        self.loaded = loaded

    def __len__(self):
        return -(-self.images // self.batch_size)

    def __repr__(self):
        return "Batches({}: {} images in {} batches)".format(self.purpose, self.images, len(self))


def load_data(batch_size=32):
    """Two iterators: training images, shifted and flipped at random, and test images. Both are normalised."""
    batch_size = positive("batch_size", batch_size)
    with call("fashion_mnist.load_data") as native:
        training, validation, _ = native.load_data(False)
    loaded = "fashion_mnist.load_data at {}".format(place())
    return Batches("training", training, batch_size, loaded), Batches("test", validation, batch_size, loaded)
