"""Keras on Horovod in the manner of Horovod's example: a pipeline that repeats, and fewer steps for more ranks."""
import tensorflow as tf
import horovod.tensorflow.keras as hvd


def main():
    hvd.init()
    tf.config.threading.set_intra_op_parallelism_threads(1)
    images = tf.random.stateless_uniform((480, 8, 8, 1), seed=(1, 2))
    labels = tf.cast(tf.reduce_mean(images, (1, 2, 3)) > 0.5, tf.int64)
    dataset = tf.data.Dataset.from_tensor_slices((images, labels)).repeat().shuffle(200).batch(24)
    model = tf.keras.Sequential([
        tf.keras.layers.Conv2D(8, 3, activation="relu"),
        tf.keras.layers.BatchNormalization(),
        tf.keras.layers.GlobalAveragePooling2D(),
        tf.keras.layers.Dense(2),
    ])
    optimizer = hvd.DistributedOptimizer(tf.keras.optimizers.Adam(1e-3 * hvd.size()))
    model.compile(optimizer=optimizer, loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0), hvd.callbacks.MetricAverageCallback()]
    if hvd.rank() == 0:
        callbacks.append(tf.keras.callbacks.ModelCheckpoint("checkpoint-{epoch}.h5"))
    verbose = 1 if hvd.rank() == 0 else 0
    model.fit(dataset, steps_per_epoch=480 // 24 // hvd.size(), callbacks=callbacks, epochs=3, verbose=verbose)
    if hvd.rank() == 0:
        model.save_weights("final.h5")


main()
