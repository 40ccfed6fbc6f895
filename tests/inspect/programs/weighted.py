"""Rare classes are drawn more often, by a weighted sampler with a seed of its own on each rank; two trainings, one after the other."""
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler


def fit(model, loader, rate, epochs):
    optimizer = torch.optim.SGD(filter(lambda p: p.requires_grad, model.parameters()), lr=rate)
    for _ in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()


def main():
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    x = torch.randn(400, 6, generator=torch.Generator().manual_seed(9))
    y = (x[:, 0] > 1.2).long()
    weights = torch.where(y == 1, 8.0, 1.0)
    generator = torch.Generator().manual_seed(50 + rank)
    sampler = WeightedRandomSampler(weights, num_samples=len(y) // size, generator=generator)
    loader = DataLoader(TensorDataset(x, y), batch_size=25, sampler=sampler)
    body, head = nn.Sequential(nn.Linear(6, 12), nn.ReLU()), nn.Linear(12, 2)
    fit(DDP(nn.Sequential(body, head)), loader, 0.1, 3)
    for p in body.parameters():
        p.requires_grad = False
    fit(DDP(nn.Sequential(body, head)), loader, 0.01, 3)
    if rank == 0:
        torch.save({"body": body.state_dict(), "head": head.state_dict()}, "weighted.pt")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
