"""The original lab's own table: published elsewhere, on 4 x Tesla V100-SXM2-16GB. The same numbers as in assets/references.toml."""

SOURCE = "published elsewhere: the original lab, 4 x V100-SXM2-16GB, WRN-16-10, batch 512 per rank"

# Of four ranks after three epochs.
THREE_EPOCHS = {"1-9": 0.7489, "1-10": 0.7349}

# Its solution on one V100: images/s from the second epoch on, all seconds, the epoch after which it stopped, and test accuracy.
SOLUTION = {"images_per_sec": (1394, 1406), "seconds": 325.14, "epochs": 7, "accuracy": 0.8776}

# WRN-16-10 with biases, its multiplications and additions of one image's forward pass, and how many forward passes a training step is.
PARAMETERS = 17_121_962
FORWARD_GMAC = 1.847
FLOP_PER_IMAGE = 3 * 2 * FORWARD_GMAC * 1e9
