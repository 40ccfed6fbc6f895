"""Keras on Horovod with arrays: each rank takes its share, and one rank prints and writes."""
import os

import numpy as np
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
tf.config.threading.set_intra_op_parallelism_threads(1)
rng = np.random.RandomState(0)
x = rng.rand(512, 16).astype("float32")
y = (x.sum(1) > 8).astype("int64")
x_train, y_train = x[:384][hvd.rank()::hvd.size()], y[:384][hvd.rank()::hvd.size()]
x_test, y_test = x[384:], y[384:]

model = tf.keras.Sequential([
    tf.keras.layers.Dense(24, activation="relu", input_shape=(16,)),
    tf.keras.layers.Dense(2, activation="softmax"),
])
opt = tf.keras.optimizers.SGD(learning_rate=0.05 * hvd.size())
opt = hvd.DistributedOptimizer(opt)
model.compile(loss="sparse_categorical_crossentropy", optimizer=opt, metrics=["accuracy"])

callbacks = [
    hvd.callbacks.BroadcastGlobalVariablesCallback(0),
    hvd.callbacks.MetricAverageCallback(),
    hvd.callbacks.LearningRateWarmupCallback(initial_lr=0.05 * hvd.size(), warmup_epochs=2, momentum_correction=False, verbose=0),
    tf.keras.callbacks.ReduceLROnPlateau(monitor="val_loss", patience=2),
]
if hvd.rank() == 0:
    callbacks.append(tf.keras.callbacks.ModelCheckpoint("keras_fit.h5"))
model.fit(x_train, y_train, batch_size=16, epochs=4, callbacks=callbacks, verbose=2 if hvd.rank() == 0 else 0,
          validation_data=(x_test[hvd.rank()::hvd.size()], y_test[hvd.rank()::hvd.size()]))
loss, accuracy = model.evaluate(x_test, y_test, verbose=0)
if hvd.rank() == 0:
    print("test accuracy", accuracy)
