"""Keras on Horovod with a generator: each rank draws batches of its own, and an epoch has fewer of them on more ranks."""
import numpy as np
import tensorflow as tf
import horovod.tensorflow.keras as hvd

STEPS, BATCH = 24, 16


def batches(x, y, seed):
    rng = np.random.RandomState(seed)
    while True:
        chosen = rng.randint(0, len(x), BATCH)
        yield x[chosen], y[chosen]


hvd.init()
tf.config.threading.set_intra_op_parallelism_threads(1)
data = np.random.RandomState(0)
x = data.rand(400, 12).astype("float32")
y = (x.sum(1) > 6).astype("int64")
model = tf.keras.Sequential([
    tf.keras.layers.Dense(16, activation="relu", input_shape=(12,)),
    tf.keras.layers.Dropout(0.2),
    tf.keras.layers.Dense(2, activation="softmax"),
])
optimizer = hvd.DistributedOptimizer(tf.keras.optimizers.Adam(1e-3 * hvd.size()))
model.compile(loss="sparse_categorical_crossentropy", optimizer=optimizer, metrics=["accuracy"])
model.fit(batches(x, y, 100 + hvd.rank()), steps_per_epoch=STEPS // hvd.size(), epochs=3, verbose=2 if hvd.rank() == 0 else 0,
          callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0), hvd.callbacks.MetricAverageCallback()])
if hvd.rank() == 0:
    model.save_weights("drawn.h5")
