"""Starts its ranks itself by torch.multiprocessing."""
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def setup(rank, world_size):
    os.environ.setdefault("MASTER_ADDR", "localhost")
    os.environ.setdefault("MASTER_PORT", "29713")
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    torch.set_num_threads(1)


class Toy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net1 = nn.Linear(10, 24)
        self.norm = nn.BatchNorm1d(24)
        self.net2 = nn.Linear(24, 5)

    def forward(self, x):
        return self.net2(torch.relu(self.norm(self.net1(x))))


def train(rank, world_size):
    setup(rank, world_size)
    torch.manual_seed(100 + rank)
    g = torch.Generator().manual_seed(3)
    dataset = TensorDataset(torch.randn(320, 10, generator=g), torch.randn(320, 5, generator=g))
    sampler = DistributedSampler(dataset, num_replicas=world_size, rank=rank)
    loader = DataLoader(dataset, batch_size=20, sampler=sampler)
    ddp_model = DistributedDataParallel(Toy())
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(ddp_model.parameters(), lr=1e-3)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        total = 0.0
        for inputs, labels in loader:
            optimizer.zero_grad()
            outputs = ddp_model(inputs)
            loss = criterion(outputs, labels)
            loss.backward()
            optimizer.step()
            total += loss.item()
        if rank == 0:
            print("epoch", epoch, "loss of rank 0", round(total / len(loader), 4))
    if rank == 0:
        torch.save(ddp_model.state_dict(), "spawn.pt")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(train, args=(2,), nprocs=2, join=True)
