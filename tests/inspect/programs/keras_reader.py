"""Keras on Horovod with a sequence: each rank draws its part of the batches from all images, and a plateau lowers the rate late."""
import numpy as np
import tensorflow as tf
import horovod.tensorflow.keras as hvd

BATCH = 16


class Reader(tf.keras.utils.Sequence):
    def __init__(self, images, labels, seed):
        self.images, self.labels, self.batch_size = images, labels, BATCH
        self.random = np.random.RandomState(seed)

    def __len__(self):
        return len(self.images) // self.batch_size // hvd.size()

    def __getitem__(self, index):
        chosen = self.random.choice(len(self.images), self.batch_size, replace=False)
        return self.images[chosen], self.labels[chosen]


hvd.init()
tf.config.threading.set_intra_op_parallelism_threads(1)
rng = np.random.RandomState(0)
images = rng.rand(448, 6, 6, 1).astype("float32")
labels = (images.mean((1, 2, 3)) > 0.5).astype("int64")
model = tf.keras.Sequential([tf.keras.layers.Flatten(input_shape=(6, 6, 1)), tf.keras.layers.Dense(12, activation="tanh"), tf.keras.layers.Dense(2, activation="softmax")])
model.compile(loss="sparse_categorical_crossentropy", optimizer=hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.02 * hvd.size())))
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0), hvd.callbacks.MetricAverageCallback()]
callbacks.append(tf.keras.callbacks.ReduceLROnPlateau(monitor="loss", patience=5, min_delta=1.0, factor=0.5))
model.fit(Reader(images, labels, 10 + hvd.rank()), epochs=7, callbacks=callbacks, verbose=2 if hvd.rank() == 0 else 0)
if hvd.rank() == 0:
    model.save_weights("reader.h5")
