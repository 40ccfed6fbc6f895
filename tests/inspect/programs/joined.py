"""Ranks with unequal numbers of batches, which DDP's join brings together."""
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Subset, TensorDataset


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    g = torch.Generator().manual_seed(2)
    data = TensorDataset(torch.randn(200, 6, generator=g), torch.randn(200, 1, generator=g))
    torch.manual_seed(50 + rank)
    mine = Subset(data, list(range(rank, 200, world))[: 100 - 20 * rank])
    loader = DataLoader(mine, batch_size=10, shuffle=True)
    model = DDP(nn.Linear(6, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(2):
        with Join([model]):
            for x, y in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(x), y).backward()
                optimizer.step()
    dist.barrier()
    if rank == 0:
        print("trained")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
