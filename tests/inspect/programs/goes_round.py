"""Counts iterations: one endless stream of shuffled samples, of which each rank takes its turn."""
import itertools

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Sampler, TensorDataset

ITERATIONS = 32


class Endless(Sampler):
    def __init__(self, size, seed):
        self.size, self.seed = size, seed

    def __iter__(self):
        return itertools.islice(self.stream(), dist.get_rank(), None, dist.get_world_size())

    def stream(self):
        generator = torch.Generator().manual_seed(self.seed)
        while True:
            yield from torch.randperm(self.size, generator=generator).tolist()


def main():
    dist.init_process_group("gloo")
    generator = torch.Generator().manual_seed(5)
    x = torch.randn(150, 10, generator=generator)
    data = TensorDataset(x, (x.sum(1) > 0).long())
    model = DDP(nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 2)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    loader = DataLoader(data, batch_size=8, sampler=Endless(len(data), seed=7))
    for step, (inputs, labels) in zip(range(ITERATIONS), loader):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
        if dist.get_rank() == 0 and step % 8 == 7:
            print(f"iteration {step + 1} loss {loss.item():.4f}")
    dist.destroy_process_group()


main()
