"""TensorFlow on Horovod with a loop of its own: a tape, updates within a graph, and a validation of shares that are added up."""
import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd


def samples(count, seed):
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(count, 10)).astype("float32")
    return tf.data.Dataset.from_tensor_slices((x, (x.sum(axis=1) > 0).astype("int64")))


def main():
    hvd.init()
    tf.config.threading.set_intra_op_parallelism_threads(1)
    train = samples(320, 1).shard(hvd.size(), hvd.rank()).shuffle(160).batch(16)
    test = samples(96, 2).shard(hvd.size(), hvd.rank()).batch(16)
    model = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(2)])
    optimizer = tf.keras.optimizers.SGD(0.02 * hvd.size(), momentum=0.9)
    cross_entropy = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function
    def update(x, y):
        with tf.GradientTape() as tape:
            loss = cross_entropy(y, model(x, training=True))
        tape = hvd.DistributedGradientTape(tape)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    is_first = True
    for epoch in range(3):
        for x, y in train:
            loss = update(x, y)
            if is_first:
                hvd.broadcast_variables(model.variables, root_rank=0)
                hvd.broadcast_variables(optimizer.variables, root_rank=0)
                is_first = False
        right = count = 0.0
        for x, y in test:
            right += float(tf.reduce_sum(tf.cast(tf.argmax(model(x), axis=1) == y, tf.float32)))
            count += len(y)
        right, count = hvd.allreduce(tf.constant([right, count]), op=hvd.Sum, name="counts").numpy()
        if hvd.rank() == 0:
            print("epoch", epoch, "loss", float(loss), "accuracy", right / count)
    if hvd.rank() == 0:
        model.save_weights("loop.h5")


main()
