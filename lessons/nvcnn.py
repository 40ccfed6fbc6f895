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


# TODO: Change 1: AlexNet, written down like LeNet above.
# nvcnn: x = net.conv(x, 64, (11,11), (4,4), 'VALID'); x = net.pool(x, 'MAX', (3,3))
#        x = net.conv(x, 192, (5,5)); x = net.pool(x, 'MAX', (3,3))
#        x = net.conv(x, 384, (3,3)); x = net.conv(x, 256, (3,3)); x = net.conv(x, 256, (3,3)); x = net.pool(x, 'MAX', (3,3))
#        x = net.flatten(x); x = net.fully_connected(x, 4096); x = net.dropout(x)
#        x = net.fully_connected(x, 4096); x = net.dropout(x)
# Here: the same. Its images have 227x227 pixels, and it has 1000 classes, as every model here if nothing else is said.

def known(name):
    """A model by its name: its layers, the size of its images, and the learning rate that it begins with."""
    if name == "lenet":
        return nvcnn.Model(inference_lenet, height=28, width=28, learning_rate=0.001)

    # TODO: Change 1, second half: the name of your model. Its rate is 0.03.
    # nvcnn: elif model_name == 'alexnet': height, width = 227, 227; model_func = inference_alexnet_owt

    raise ValueError("Invalid model type: {}".format(name))


# What is done to a photo before the model sees it: it is decoded, and a random part of it is resized.

# TODO: Change 2: decode with the accurate cosine transform.
# nvcnn: tf.image.decode_jpeg(imgdata, channels=3, fancy_upscaling=False, dct_method='INTEGER_ACCURATE')
dct_method = "INTEGER_FAST"

# TODO: Change 3: mirror half of the photos. `flip` is the chance that a photo is mirrored.
# nvcnn: image = tf.image.random_flip_left_right(image)
flip = 0.0

# Every rank draws its own weights here. The gradients are averaged over the ranks in every step.
args = nvcnn.parse_args()
trainer = nvcnn.Trainer(args, known(args.model), nvcnn.Preprocessing(dct_method, fancy_upscaling=False, flip=flip))

# TODO: Change 4: sync() is called nowhere. Call it where all ranks have their weights and none has trained yet: once.
# nvcnn: trainer.sync(sess)

for step in trainer.steps():
    # TODO: Change 5: what does sync() cost inside the loop? Call it in every second step, to compare these with the others.
    # nvcnn: trainer.sync(sess)

    trainer.train_step()
