"""The MNIST program with which Horovod introduces itself, on its way from serial to distributed by four changes.

A small CNN learns handwritten digits with Adadelta, in 12 epochs of batches of 128. On one rank it trains as it stands. A
change that is marked `Change N/4` is done, and `TODO: Change N` is still to do.
"""
import math

from hvd_lab import list_physical_devices, mnist, parse_args, set_visible_devices
from hvd_lab.callbacks import ModelCheckpoint
from hvd_lab.layers import Conv2D, Dense, Dropout, Flatten, MaxPooling2D
from hvd_lab.models import Sequential
from hvd_lab.optimizers import Adadelta

# TODO: Change 1: find the other ranks, and compute on a device of your own.
# Horovod: import horovod.keras as hvd, hvd.init(), config.gpu_options.visible_device_list = str(hvd.local_rank())
# Here: import hvd_lab.keras as hvd, and set_visible_devices with one of list_physical_devices()

# What the flags are if nobody gives them.
args = parse_args(model="mnist-cnn", data_dir="generated-digits", batch_size=128, epochs=12, base_lr=1.0)

# TODO: Change 2: more ranks take larger steps, and fewer of them.
# Horovod: epochs = int(math.ceil(12.0 / hvd.size())), and opt = keras.optimizers.Adadelta(1.0 * hvd.size())
# Here: args.epochs is 12 and args.base_lr is 1.0, unless the flags say otherwise.
epochs = args.epochs
opt = Adadelta(args.base_lr)

# The images have 28x28 pixels from 0 to 1. Every rank has all of them.
(x_train, y_train), (x_test, y_test) = mnist.load_data()
print("x_train shape:", x_train.shape)
print(x_train.shape[0], "train samples")
print(x_test.shape[0], "test samples")

model = Sequential()
model.add(Conv2D(32, kernel_size=(3, 3), activation="relu", input_shape=(28, 28, 1)))
model.add(Conv2D(64, (3, 3), activation="relu"))
model.add(MaxPooling2D(pool_size=(2, 2)))
model.add(Dropout(0.25))
model.add(Flatten())
model.add(Dense(128, activation="relu"))
model.add(Dropout(0.5))
model.add(Dense(10, activation="softmax"))

# TODO: Change 3: average the gradients over the ranks before every update.
# Horovod: opt = hvd.DistributedOptimizer(opt)

# Every process draws its own weights here: see change 4.
model.compile(loss="categorical_crossentropy", optimizer=opt, metrics=["accuracy"])

# What happens beside training.
callbacks = []

# TODO: Change 4: begin from the root's weights.
# Horovod: hvd.callbacks.BroadcastGlobalVariablesCallback(0)

# TODO: Change 4, second half: only the root writes checkpoints.
# Horovod: if hvd.rank() == 0: callbacks.append(keras.callbacks.ModelCheckpoint('./checkpoint-{epoch}.h5'))
if args.use_checkpointing:
    callbacks.append(ModelCheckpoint(args.log_dir))

model.fit(
    x_train,
    y_train,
    batch_size=args.batch_size,
    callbacks=callbacks,
    epochs=epochs,
    verbose=1,
    validation_data=(x_test, y_test),
)

score = model.evaluate(x_test, y_test, verbose=0)
print("Test loss:", score[0])
print("Test accuracy:", score[1])
