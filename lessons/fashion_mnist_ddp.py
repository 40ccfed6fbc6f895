"""Train a small network on Fashion-MNIST in plain PyTorch, on its way from serial to distributed.

Under torchrun every rank runs this same program from top to bottom. A step that is marked `Step N/10` is done, and `TODO: Step N`
is still to do. Each place says how PyTorch spells it, and Horovod.
"""
import argparse
import os
import struct

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.optim.lr_scheduler import LinearLR
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--data-dir", required=True, help="folder with the four files of Fashion-MNIST")
parser.add_argument("--log-dir", default=".", help="folder for the checkpoint")
parser.add_argument("--epochs", type=int, default=4)
parser.add_argument("--batch-size", type=int, default=32, help="images per batch on each rank")
parser.add_argument("--base-lr", type=float, default=0.01, help="learning rate of a single rank")
parser.add_argument("--warmup-epochs", type=int, default=1)
args = parser.parse_args()


def images_of(kind):
    """The images of `train` or `t10k` as numbers from 0 to 1, with their labels."""
    with open(os.path.join(args.data_dir, f"{kind}-images-idx3-ubyte"), "rb") as file:
        _, count, rows, columns = struct.unpack(">4I", file.read(16))
        pixels = torch.frombuffer(bytearray(file.read()), dtype=torch.uint8)
    with open(os.path.join(args.data_dir, f"{kind}-labels-idx1-ubyte"), "rb") as file:
        labels = torch.frombuffer(bytearray(file.read()[8:]), dtype=torch.uint8)
    return TensorDataset(pixels.reshape(count, 1, rows, columns) / 255.0, labels.long())


class NovoGrad(torch.optim.Optimizer):
    """Divides the gradient of each tensor by its own length before momentum (arXiv 1905.11286)."""

    def __init__(self, parameters, lr, momentum=0.95, decay=0.98):
        super().__init__(parameters, {"lr": lr, "momentum": momentum, "decay": decay})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for weight in group["params"]:
                state, square = self.state[weight], weight.grad.square().sum()
                if not state:
                    state["square"], state["velocity"] = square, torch.zeros_like(weight)
                state["square"] = group["decay"] * state["square"] + (1 - group["decay"]) * square
                state["velocity"].mul_(group["momentum"]).add_(weight.grad / (state["square"].sqrt() + 1e-8))
                weight.sub_(group["lr"] * state["velocity"])


# TODO: Step 1: find the other ranks, and compute on a device of your own.
# PyTorch: dist.init_process_group(), then torch.cuda.set_device(LOCAL_RANK), or torch.set_num_threads for a share of the cores
# Horovod: hvd.init(), then hvd.rank(), hvd.size() and hvd.local_rank()
rank, size = 0, 1

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

# TODO: Step 2: print on rank 0 only.
# PyTorch: is_root = dist.get_rank() == 0
# Horovod: verbose = 1 if hvd.rank() == 0 else 0
is_root = True

train, test = images_of("train"), images_of("t10k")

# TODO: Step 5: divide the epoch among the ranks.
# PyTorch: DistributedSampler(train), and DistributedSampler(test, shuffle=False)
# Horovod: the same, or steps_per_epoch=len(train_iter) // hvd.size()
sampler = test_sampler = None

train_loader = DataLoader(train, args.batch_size, shuffle=sampler is None, sampler=sampler)
test_loader = DataLoader(test, 250, sampler=test_sampler)

# Every rank draws its own weights here: see step 4.
model = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(4),
    nn.Flatten(), nn.Linear(512, 10),
).to(device)

# TODO: Step 8: scale the learning rate by the number of ranks.
# PyTorch: lr = args.base_lr * dist.get_world_size()
# Horovod: lr = args.base_lr * hvd.size()
lr = args.base_lr

# TODO: Step 10: an optimizer for large batches.
# PyTorch: has none of its own: NovoGrad stands above
# Horovod: opt = NovoGrad(learning_rate=lr)
optimizer = torch.optim.SGD(model.parameters(), lr, momentum=0.9)

# Another optimizer keeps another state, and so another file.
checkpoint, path = None, os.path.join(args.log_dir, f"{type(optimizer).__name__}.pt")

# TODO: Step 7: only the root reads and writes checkpoints.
# PyTorch: if dist.get_rank() == 0: torch.save(...), here for reading and at the end of the epoch for writing
# Horovod: if hvd.rank() == 0: callbacks.append(ModelCheckpoint(...))
if os.path.exists(path):
    checkpoint = torch.load(path)

# TODO: Step 4: begin from the root's state.
# PyTorch: dist.broadcast_object_list. DistributedDataParallel sends the weights of rank 0, and neither optimizer nor epoch
# Horovod: hvd.broadcast_parameters, hvd.broadcast_optimizer_state and hvd.broadcast_object(epoch)

first_epoch = 0
if checkpoint is not None:
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    first_epoch = checkpoint["epochs"]

# TODO: Step 3: average gradients over the ranks before every update.
# PyTorch: DistributedDataParallel(model), and the training calls what it returns
# Horovod: opt = hvd.DistributedOptimizer(opt, named_parameters=model.named_parameters())
replica = model

# TODO: Step 9: warm the learning rate up.
# PyTorch: LinearLR, from a single rank's rate to the scaled one, and a step of it after every batch
# Horovod: hvd.callbacks.LearningRateWarmupCallback(initial_lr=lr, warmup_epochs=args.warmup_epochs)
warmup = None

for epoch in range(first_epoch, args.epochs):
    # TODO: Step 5, second half: another order in every epoch.
    # PyTorch: sampler.set_epoch(epoch)
    # Horovod: the same

    replica.train()
    for images, labels in train_loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(replica(images.to(device)), labels.to(device))
        loss.backward()
        optimizer.step()
        if warmup is not None:
            warmup.step()

    model.eval()
    right = torch.zeros(2, device=device)
    with torch.no_grad():
        for images, labels in test_loader:
            guesses = model(images.to(device)).argmax(dim=1).cpu()
            right += torch.tensor([(guesses == labels).sum(), len(labels)], device=device)

    # TODO: Step 6: add up the results of all ranks, before anything is said or decided.
    # PyTorch: dist.all_reduce(right)
    # Horovod: callbacks.append(hvd.callbacks.MetricAverageCallback())

    accuracy = (right[0] / right[1]).item()
    if is_root:
        print(f"Epoch {epoch + 1}/{args.epochs}  loss {loss.item():.4f}  val_accuracy {accuracy:.4f}", flush=True)

    # TODO: Step 7, second half: the root writes.
    # PyTorch: if dist.get_rank() == 0: torch.save(...)
    # Horovod: the same
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epochs": epoch + 1}, path)

if dist.is_initialized():
    dist.barrier()
    dist.destroy_process_group()
