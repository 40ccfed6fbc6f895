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


# Step 1/10: find the other ranks, and compute on a device of your own.
# PyTorch: dist.init_process_group(), then torch.cuda.set_device(LOCAL_RANK), or torch.set_num_threads for a share of the cores
# Horovod: hvd.init(), then hvd.rank(), hvd.size() and hvd.local_rank()
# torchrun tells each rank its numbers in the environment. Without: copies of a serial program, and each thinks it is rank 0 of 1.
dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
rank, size = dist.get_rank(), dist.get_world_size()
if torch.cuda.is_available():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
else:
    torch.set_num_threads(max(1, os.cpu_count() // int(os.environ["LOCAL_WORLD_SIZE"])))

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

# Step 2/10: print on rank 0 only.
# PyTorch: is_root = dist.get_rank() == 0
# Horovod: verbose = 1 if hvd.rank() == 0 else 0
# Without: every line comes as many times as there are ranks.
is_root = rank == 0

train, test = images_of("train"), images_of("t10k")

# Step 5/10: divide the epoch among the ranks.
# PyTorch: DistributedSampler(train), and DistributedSampler(test, shuffle=False)
# Horovod: the same, or steps_per_epoch=len(train_iter) // hvd.size()
# Without: every rank trains on all images, and together they do the same work many times.
sampler = DistributedSampler(train)
test_sampler = DistributedSampler(test, shuffle=False)

train_loader = DataLoader(train, args.batch_size, shuffle=sampler is None, sampler=sampler)
test_loader = DataLoader(test, 250, sampler=test_sampler)

# Every rank draws its own weights here: see step 4.
model = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(4),
    nn.Flatten(), nn.Linear(512, 10),
).to(device)

# Step 8/10: scale the learning rate by the number of ranks.
# PyTorch: lr = args.base_lr * dist.get_world_size()
# Horovod: lr = args.base_lr * hvd.size()
# All ranks together take size times more images into one update, so there are fewer updates. Larger ones make up for it.
lr = args.base_lr * size

# Step 10/10: an optimizer for large batches.
# PyTorch: has none of its own: NovoGrad stands above
# Horovod: opt = NovoGrad(learning_rate=lr)
# With SGD, accuracy falls as batches grow. NovoGrad normalises the gradient tensor by tensor, and loses less.
optimizer = NovoGrad(model.parameters(), lr)

# Another optimizer keeps another state, and so another file.
checkpoint, path = None, os.path.join(args.log_dir, f"{type(optimizer).__name__}.pt")

# Step 7/10: only the root reads and writes checkpoints.
# PyTorch: if dist.get_rank() == 0: torch.save(...), here for reading and at the end of the epoch for writing
# Horovod: if hvd.rank() == 0: callbacks.append(ModelCheckpoint(...))
# Without: all ranks write the same file at once, and what is left may be whole or not.
if is_root and os.path.exists(path):
    checkpoint = torch.load(path)

# Step 4/10: begin from the root's state.
# PyTorch: dist.broadcast_object_list. DistributedDataParallel sends the weights of rank 0, and neither optimizer nor epoch
# Horovod: hvd.broadcast_parameters, hvd.broadcast_optimizer_state and hvd.broadcast_object(epoch)
# Equal gradients keep ranks equal only if they start equal. Without: the root alone goes on from the checkpoint.
found = [checkpoint]
dist.broadcast_object_list(found, src=0)
checkpoint = found[0]

first_epoch = 0
if checkpoint is not None:
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    first_epoch = checkpoint["epochs"]

# Step 3/10: average gradients over the ranks before every update.
# PyTorch: DistributedDataParallel(model), and the training calls what it returns
# Horovod: opt = hvd.DistributedOptimizer(opt, named_parameters=model.named_parameters())
# Without: each rank trains alone, and the root's model has seen only the root's images.
replica = DistributedDataParallel(model)

# Step 9/10: warm the learning rate up.
# PyTorch: LinearLR, from a single rank's rate to the scaled one, and a step of it after every batch
# Horovod: hvd.callbacks.LearningRateWarmupCallback(initial_lr=lr, warmup_epochs=args.warmup_epochs)
# Fresh weights cannot handle the full rate: it starts at a single rank's rate and climbs, batch by batch.
if first_epoch < args.warmup_epochs:
    warmup = LinearLR(optimizer, start_factor=1 / size, total_iters=args.warmup_epochs * len(train_loader))
else:
    warmup = None

for epoch in range(first_epoch, args.epochs):
    # Step 5/10, second half: another order in every epoch.
    # PyTorch: sampler.set_epoch(epoch)
    # Horovod: the same
    # Without: each rank sees its images in the same order again and again.
    sampler.set_epoch(epoch)

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

    # Step 6/10: add up the results of all ranks, before anything is said or decided.
    # PyTorch: dist.all_reduce(right)
    # Horovod: callbacks.append(hvd.callbacks.MetricAverageCallback())
    # Without: each rank goes by its own share of the test images.
    dist.all_reduce(right)

    accuracy = (right[0] / right[1]).item()
    if is_root:
        print(f"Epoch {epoch + 1}/{args.epochs}  loss {loss.item():.4f}  val_accuracy {accuracy:.4f}", flush=True)

    # Step 7/10, second half: the root writes.
    # PyTorch: if dist.get_rank() == 0: torch.save(...)
    # Horovod: the same
    if is_root:
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epochs": epoch + 1}, path)

if dist.is_initialized():
    dist.barrier()
    dist.destroy_process_group()
