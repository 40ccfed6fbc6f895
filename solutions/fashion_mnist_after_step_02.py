"""Train a Wide ResNet on Fashion-MNIST, on its way from serial to distributed.

Every process runs this same program from top to bottom. Under mpirun several of them do so at the same time. A step that
is marked `Step N/10` is done, and `TODO: Step N` is still to do. Each place says how Horovod spells it.
"""
from hvd_lab import fashion_mnist, list_physical_devices, parse_args, set_visible_devices
from hvd_lab.callbacks import LearningRateScheduler, ModelCheckpoint, StopAtAccuracy, TensorBoard
from hvd_lab.models import WideResidualNetwork
from hvd_lab.optimizers import SGD, NovoGrad

# Step 1/10: find the other processes, and compute on a device of your own.
# Horovod: import horovod.keras as hvd, then hvd.init(), then set_visible_devices(gpus[hvd.local_rank()], 'GPU')
# Here: import hvd_lab.keras as hvd, and list_physical_devices() instead of gpus
# Every process learns its rank, the number of ranks, and its local rank on this host. Where there are no GPUs, a device is
# an equal share of the cores. Without: copies of a serial program, and each thinks it is rank 0 of 1.
import hvd_lab.keras as hvd
hvd.init()
set_visible_devices(list_physical_devices()[hvd.local_rank()])

# --epochs, --batch-size, --base-lr and so on; --help lists them.
args = parse_args()

# Step 2/10: print on rank 0 only.
# Horovod: verbose = 1 if hvd.rank() == 0 else 0
# Without: every line comes as many times as there are ranks.
verbose = 1 if hvd.rank() == 0 else 0

train_iter, test_iter = fashion_mnist.load_data(batch_size=args.batch_size)

# TODO: Step 8: scale the learning rate by the number of ranks.
# Horovod: lr = args.base_lr * hvd.size()
lr = args.base_lr

# Every process draws its own weights here: see step 4.
model = WideResidualNetwork(args.model, weight_decay=args.wd)

# TODO: Step 10: an optimizer for large batches.
# Horovod: opt = NovoGrad(learning_rate=lr)
opt = SGD(learning_rate=lr, momentum=args.momentum)

# TODO: Step 3: average gradients over the ranks before every update.
# Horovod: opt = hvd.DistributedOptimizer(opt)

model.compile(optimizer=opt, loss="categorical_crossentropy", metrics=["accuracy"])


def lr_schedule(epoch):
    """The rate falls to a tenth after 15, 25 and 35 epochs."""
    if epoch < 15:
        return lr
    if epoch < 25:
        return 1e-1 * lr
    if epoch < 35:
        return 1e-2 * lr
    return 1e-3 * lr


# What happens beside training, in this order.
callbacks = [LearningRateScheduler(lr_schedule)]

# TODO: Step 9: warm the learning rate up.
# Horovod: append hvd.callbacks.LearningRateWarmupCallback(initial_lr=lr, warmup_epochs=args.warmup_epochs, verbose=verbose)

# TODO: Step 4: start from the root's weights.
# Horovod: append hvd.callbacks.BroadcastGlobalVariablesCallback(0)

# TODO: Step 6: average the validation metrics over the ranks, before anything is decided on them.
# Horovod: append hvd.callbacks.MetricAverageCallback()

callbacks.append(StopAtAccuracy(target=args.target_accuracy, patience=args.patience))

resume_from_epoch = 0

# TODO: Step 7: only the root reads and writes checkpoints.
# Horovod: if hvd.rank() == 0: callbacks.append(ModelCheckpoint(...)), then resume_from_epoch = hvd.broadcast(resume_from_epoch, 0)
if args.use_checkpointing:
    callbacks.append(ModelCheckpoint(args.log_dir))
    callbacks.append(TensorBoard(args.log_dir))
    resume_from_epoch = model.load_latest(args.log_dir, args.epochs)

# TODO: Step 5: divide the epoch among the ranks.
# Horovod: steps_per_epoch=len(train_iter) // hvd.size(), validation_steps=3 * len(test_iter) // hvd.size()
steps_per_epoch = len(train_iter)
validation_steps = len(test_iter)

model.fit(
    train_iter,
    steps_per_epoch=steps_per_epoch,
    callbacks=callbacks,
    epochs=args.epochs,
    verbose=verbose,
    initial_epoch=resume_from_epoch,
    validation_data=test_iter,
    validation_steps=validation_steps,
)

model.evaluate(test_iter, verbose=verbose)
