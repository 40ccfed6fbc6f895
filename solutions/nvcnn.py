"""A training on photos as NVIDIA's nvcnn does it, with five changes to make.

Read it from top to bottom: the models that it knows, what is done to a photo, the broadcast, and the loop. Without --data_dir it
draws a few photos itself. A change that is marked `Change N/5` is done, and `TODO: Change N` is still to do.
"""
from hvd_lab import nvcnn


def inference_lenet(net, images):
    """A small network for handwritten digits. On photos it is quick, and not good."""
    x = net.conv(images, 32, (5, 5))
    x = net.pool(x, "MAX", (2, 2))
    x = net.conv(x, 64, (5, 5))
    x = net.pool(x, "MAX", (2, 2))
    x = net.flatten(x)
    return net.fully_connected(x, 512)


# Change 1/5: AlexNet, written down like LeNet above.
# nvcnn: x = net.conv(x, 64, (11,11), (4,4), 'VALID'); x = net.pool(x, 'MAX', (3,3)); ...
# Without: the program knows no AlexNet, and ends before it trains.
def inference_alexnet_owt(net, images):
    x = net.conv(images, 64, (11, 11), (4, 4), "VALID")
    x = net.pool(x, "MAX", (3, 3))
    x = net.conv(x, 192, (5, 5))
    x = net.pool(x, "MAX", (3, 3))
    x = net.conv(x, 384, (3, 3))
    x = net.conv(x, 256, (3, 3))
    x = net.conv(x, 256, (3, 3))
    x = net.pool(x, "MAX", (3, 3))
    x = net.flatten(x)
    x = net.fully_connected(x, 4096)
    x = net.dropout(x)
    x = net.fully_connected(x, 4096)
    return net.dropout(x)

def known(name):
    """A model by its name: its layers, the size of its images, and the learning rate that it begins with."""
    if name == "lenet":
        return nvcnn.Model(inference_lenet, height=28, width=28, learning_rate=0.001)

    # Change 1/5, second half: the name of the model, and its rate.
    # nvcnn: elif model_name == 'alexnet': height, width = 227, 227; model_func = inference_alexnet_owt
    if name == "alexnet":
        return nvcnn.Model(inference_alexnet_owt, height=227, width=227, learning_rate=0.03)

    raise ValueError("Invalid model type: {}".format(name))


# What is done to a photo before the model sees it: it is decoded, and a random part of it is resized.

# Change 2/5: decode with the accurate cosine transform.
# nvcnn: tf.image.decode_jpeg(imgdata, channels=3, fancy_upscaling=False, dct_method='INTEGER_ACCURATE')
# Without: the fast one rounds more, so some values are a little off.
dct_method = "INTEGER_ACCURATE"

# Change 3/5: mirror half of the photos.
# nvcnn: image = tf.image.random_flip_left_right(image)
# Without: the model only ever sees things facing one way.
flip = 0.5

# Every rank draws its own weights here. The gradients are averaged over the ranks in every step.
args = nvcnn.parse_args()
trainer = nvcnn.Trainer(args, known(args.model), nvcnn.Preprocessing(dct_method, fancy_upscaling=False, flip=flip))

# Change 4/5: all ranks begin from the root's weights.
# nvcnn: trainer.sync(sess)
# Once is enough: equal weights and equal gradients stay equal. Without: the ranks stay different forever.
trainer.sync()

for step in trainer.steps():
    # Change 5/5: what sync() costs inside the loop, in every second step, beside those without it.
    # nvcnn: trainer.sync(sess)
    # Without: nothing is missing. It is here to be measured.
    if step % 2 == 1:
        trainer.sync()

    trainer.train_step()
