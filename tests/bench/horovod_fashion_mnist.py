"""Horovod's Keras peer for hvd-lab: the lab's Wide ResNet on Fashion-MNIST, on the CPU.

    mpirun -np 2 --mca mpi_yield_when_idle 1 python horovod_fashion_mnist.py --data DIR --depth 10 --width 1

The network, images, augmentation, optimizer and learning rate of ddp_fashion_mnist.py, with Horovod averaging the
gradients of a tf.function. TensorFlow 2.13, Horovod 0.28.1.
"""
import argparse
import gzip
import os
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf
from tensorflow.keras import layers as L


def parse_args():
    p = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    p.add_argument("--data", default="data", help="folder with the four Fashion-MNIST IDX .gz files")
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--batch-size", type=int, default=128, help="per rank")
    p.add_argument("--base-lr", type=float, default=0.01, help="learning rate of one rank")
    p.add_argument("--warmup-epochs", type=float, default=5)
    p.add_argument("--wd", type=float, default=5e-6)
    p.add_argument("--depth", type=int, default=10)
    p.add_argument("--width", type=int, default=1)
    p.add_argument("--dropout", type=float, default=0.01)
    p.add_argument("--train-images", type=int, default=60000)
    p.add_argument("--threads", type=int, default=1, help="per rank")
    p.add_argument("--validate", action="store_true", help="also evaluate after the last epoch")
    p.add_argument("--synthetic", action="store_true", help="a fixed random batch, no data pipeline")
    p.add_argument("--steps", type=int, default=30, help="timed steps with --synthetic, after 3 untimed")
    return p.parse_args()


def wide_resnet(depth, width, dropout):
    """conv3x3-BN-ReLU-dropout-conv3x3-BN-ReLU blocks; WRN-16-10 has 17,121,962 trained parameters."""
    def conv_norm(x, channels):
        x = L.Conv2D(channels, 3, padding="same", kernel_initializer="he_normal")(x)
        return L.ReLU()(L.BatchNormalization(momentum=0.9, epsilon=1e-5)(x))

    images = L.Input((28, 28, 1))
    x = conv_norm(images, 16)
    for group, channels in enumerate((16 * width, 32 * width, 64 * width)):
        x = L.MaxPool2D()(x) if group else x
        for _ in range((depth - 4) // 6):
            y = L.Dropout(dropout)(conv_norm(x, channels)) if dropout else conv_norm(x, channels)
            shortcut = x if x.shape[-1] == channels else L.Conv2D(channels, 1, kernel_initializer="he_normal")(x)
            x = L.Add()([conv_norm(y, channels), shortcut])
    return tf.keras.Model(images, L.Dense(10)(L.GlobalAveragePooling2D()(x)))


class NovoGrad:
    """Second moments are one number a tensor; weight decay on kernels only."""
    def __init__(self, weights, wd):
        self.weights = weights
        self.decay = [wd if len(w.shape) > 1 else 0.0 for w in weights]
        self.first = [tf.Variable(tf.zeros_like(w)) for w in weights]
        self.second = [tf.Variable(0.0) for _ in weights]

    def apply(self, gradients, lr):
        for w, g, m, v, decay in zip(self.weights, gradients, self.first, self.second, self.decay):
            norm = tf.reduce_sum(g * g)
            v.assign(tf.where(v == 0, norm, 0.98 * v + 0.02 * norm))
            m.assign(0.95 * m + g / (tf.sqrt(v) + 1e-8) + decay * w)
            w.assign_sub(lr * m)


def read_idx(folder, name):
    raw = gzip.open(os.path.join(folder, name)).read()
    dims = [int.from_bytes(raw[4 + 4 * i:8 + 4 * i], "big") for i in range(raw[3])]
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * len(dims)).reshape(dims)


def load_split(folder, prefix, limit=None):
    x, y = (read_idx(folder, prefix + kind + ".gz")[:limit] for kind in ("-images-idx3-ubyte", "-labels-idx1-ubyte"))
    return x[..., None].astype(np.float32), y.astype(np.int32)


def augment(x, shift=0.2, size=28):
    """Per-image horizontal flip and fractional shifts; bilinear, nearest fill."""
    n = tf.shape(x)[0]
    dx, dy = tf.unstack(tf.random.uniform((2, n), -shift, shift) * size)
    flip = tf.cast(tf.random.uniform((n,)) < 0.5, tf.float32)
    zero, one = tf.zeros((n,)), tf.ones((n,))
    rows = tf.stack([1 - 2 * flip, zero, dx + flip * (size - 1), zero, one, dy, zero, zero], axis=1)
    return tf.raw_ops.ImageProjectiveTransformV3(images=x, transforms=rows, output_shape=[size, size], fill_value=0.0,
                                                 interpolation="BILINEAR", fill_mode="NEAREST")


def learning_rate(args, size, epoch):
    """Horovod's warm-up from base to base*size, then the lab's step decay."""
    if epoch < args.warmup_epochs:
        return args.base_lr * (1 + epoch * (size - 1) / args.warmup_epochs)
    return args.base_lr * size * (1.0 if epoch < 15 else 1e-1 if epoch < 25 else 1e-2 if epoch < 35 else 1e-3)


def main():
    args = parse_args()
    launched = float(os.environ.get("PEER_T0", time.time()))
    hvd.init()
    rank, size, batch = hvd.rank(), hvd.size(), args.batch_size
    tf.config.threading.set_intra_op_parallelism_threads(args.threads)
    tf.config.threading.set_inter_op_parallelism_threads(args.threads)
    tf.random.set_seed(1 + rank)
    say = (lambda text: print(text, flush=True)) if rank == 0 else (lambda text: None)
    model = wide_resnet(args.depth, args.width, args.dropout)
    optimizer = NovoGrad(model.trainable_variables, args.wd)
    say("Parameters: {}".format(sum(int(np.prod(w.shape)) for w in model.trainable_variables)))
    loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function
    def train_step(x, y, lr):
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=True))
        tape = hvd.DistributedGradientTape(tape)
        optimizer.apply(tape.gradient(loss, model.trainable_variables), lr)
        return loss

    def step(x, y, lr):
        return train_step(x, y, tf.constant(lr, tf.float32))

    hvd.broadcast_variables(model.variables, root_rank=0)
    if args.synthetic:
        x, y = tf.random.normal((batch, 28, 28, 1)), tf.random.uniform((batch,), 0, 10, tf.int32)
        for index in range(3 + args.steps):
            if index == 3:
                hvd.allreduce(tf.constant(0.0))
                start = time.perf_counter()
            step(x, y, args.base_lr).numpy()
        return say("Images/sec: {:.2f}".format(size * batch * args.steps / (time.perf_counter() - start)))

    x_train, y_train = load_split(args.data, "train", args.train_images)
    mean, std = x_train.mean(dtype=np.float64), x_train.std(dtype=np.float64) + 1e-6
    prepare = tf.function(lambda x: (augment(x) - np.float32(mean)) / np.float32(std))
    order, steps = np.random.default_rng(0), len(x_train) // (batch * size)
    for epoch in range(args.epochs):
        start = time.perf_counter()
        mine = order.permutation(len(x_train))[rank::size]
        for index in range(steps):
            pick = mine[index * batch:(index + 1) * batch]
            loss = step(prepare(x_train[pick]), y_train[pick], learning_rate(args, size, epoch + index / steps))
            if epoch == index == 0:
                loss.numpy()
                say("Time to first step: {:.3f}".format(time.time() - launched))
        say("Epoch {}/{} - loss {:.4f}".format(epoch + 1, args.epochs, float(loss)))
        say("Images/sec: {:.2f}".format(steps * batch * size / (time.perf_counter() - start)))
    if args.validate:
        x, y = load_split(args.data, "t10k")
        right = tf.argmax(model.predict((x - mean) / std, batch_size=500, verbose=0), 1).numpy() == y
        say("Test accuracy: {:.4f}".format(right.mean()))
    peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
    print("Peak RSS rank {}: {:.0f} MiB".format(rank, int(peak) / 1024), flush=True)


if __name__ == "__main__":
    main()
