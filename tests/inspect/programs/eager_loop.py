"""TensorFlow on Horovod outside of graphs: the gradients are added up over the ranks, and divided by their number."""
import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd


def main():
    hvd.init()
    tf.config.threading.set_intra_op_parallelism_threads(1)
    x = np.random.default_rng(0).normal(size=(384, 9)).astype("float32")
    y = (x[:, :3].sum(axis=1, keepdims=True) > 0).astype("float32")
    mine = tf.data.Dataset.from_tensor_slices((x, y)).shard(hvd.size(), hvd.rank()).shuffle(192).batch(16)
    model = tf.keras.Sequential([tf.keras.layers.Dense(12, activation="tanh", input_shape=(9,)), tf.keras.layers.Dense(1)])
    optimizer = tf.keras.optimizers.SGD(0.05 * hvd.size())
    hvd.broadcast_variables(model.variables, root_rank=0)
    for epoch in range(3):
        losses = []
        for samples, labels in mine:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels, model(samples, training=True)))
            own = tape.gradient(loss, model.trainable_variables)
            sums = [hvd.allreduce(gradient, op=hvd.Sum, name=f"gradient{index}") for index, gradient in enumerate(own)]
            gradients = [gradient / hvd.size() for gradient in sums]
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
            losses.append(float(loss))
        mean = float(hvd.allreduce(tf.constant(np.mean(losses)), name="loss"))
        if hvd.rank() == 0:
            print(f"epoch {epoch} loss {mean:.4f}")
    if hvd.rank() == 0:
        model.save_weights("eager.h5")


main()
