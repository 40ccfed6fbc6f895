"""TensorFlow on Horovod: all ranks share the body of a model, and each has a head of its own, which nothing averages."""
import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd


def main():
    hvd.init()
    tf.config.threading.set_intra_op_parallelism_threads(1)
    generator = np.random.default_rng(3)
    x = generator.normal(size=(384, 12)).astype("float32")
    y = (x[:, :6].sum(axis=1) > x[:, 6:].sum(axis=1)).astype("int64")
    data = tf.data.Dataset.from_tensor_slices((x, y)).shard(hvd.size(), hvd.rank()).shuffle(192).batch(16)
    body = tf.keras.Sequential([tf.keras.layers.Input((12,)), tf.keras.layers.Dense(24, activation="relu")])
    head = tf.keras.layers.Dense(2)
    head.build((None, 24))
    variables = body.trainable_variables + head.trainable_variables
    optimizer = tf.keras.optimizers.SGD(0.02 * hvd.size())
    cross_entropy = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    hvd.broadcast_variables(body.variables, root_rank=0)

    @tf.function
    def update(x, y):
        with tf.GradientTape() as tape:
            loss = cross_entropy(y, head(body(x, training=True)))
        tape = hvd.PartialDistributedGradientTape(tape, local_layers=[head])
        gradients = tape.gradient(loss, variables)
        optimizer.apply_gradients(zip(gradients, variables))
        return loss

    for epoch in range(3):
        for images, labels in data:
            loss = update(images, labels)
        mean = float(hvd.allreduce(loss, name="loss"))
        if hvd.rank() == 0:
            print("epoch", epoch, "loss", mean)


main()
