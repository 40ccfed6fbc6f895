"""A script that trains a small network by DistributedDataParallel, as most tutorials write it."""
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def make_data(seed, samples):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(samples, 20, generator=generator)
    return TensorDataset(x, (x[:, :5].sum(1) > 0).long())


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(1 + rank)
    train_set, test_set = make_data(1, 480), make_data(2, 128)
    sampler = DistributedSampler(train_set, shuffle=True)
    loader = DataLoader(train_set, batch_size=16, sampler=sampler)
    test_sampler = DistributedSampler(test_set, shuffle=False)
    test_loader = DataLoader(test_set, batch_size=32, sampler=test_sampler)
    net = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 2))
    model = DDP(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(4):
        sampler.set_epoch(epoch)
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
        model.eval()
        correct = torch.zeros(2)
        with torch.no_grad():
            for x, y in test_loader:
                correct[0] += (model(x).argmax(1) == y).sum()
                correct[1] += len(y)
        dist.all_reduce(correct)
        if rank == 0:
            print(f"epoch {epoch}: test accuracy {(correct[0] / correct[1]).item():.3f}")
        if rank == 0:
            torch.save(model.module.state_dict(), "plain.pt")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
