"""Started by mpirun: takes its rank from Open MPI's variables."""
import os

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

RANK = int(os.environ["OMPI_COMM_WORLD_RANK"])
WORLD = int(os.environ["OMPI_COMM_WORLD_SIZE"])


def train(args):
    torch.manual_seed(args["seed"])
    g = torch.Generator().manual_seed(1)
    train_data = TensorDataset(torch.randn(256, 3, 8, 8, generator=g), torch.randint(0, 10, (256,), generator=g))
    sampler = DistributedSampler(train_data, num_replicas=WORLD, rank=RANK)
    loader = DataLoader(train_data, batch_size=args["batch"], sampler=sampler)
    cnn = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 10))
    cnn = DDP(cnn)
    opt = torch.optim.SGD(cnn.parameters(), args["lr"], momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(args["epochs"]):
        sampler.set_epoch(epoch)
        running = 0.0
        for image, target in loader:
            output = cnn(image)
            loss = criterion(output, target)
            opt.zero_grad()
            loss.backward()
            opt.step()
            running += loss.item()
        if RANK == 0:
            print("epoch {} loss {:.3f}".format(epoch, running / len(loader)))
    if RANK == 0:
        torch.save(cnn.module, "mpi.pt")


if __name__ == "__main__":
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29877")
    dist.init_process_group("gloo", rank=RANK, world_size=WORLD)
    torch.set_num_threads(1)
    train({"seed": 1, "batch": 16, "lr": 0.01, "epochs": 3})
    dist.barrier()
    dist.destroy_process_group()
