"""Ranks train alone and average their weights at every fourth update: weights differ in between on purpose."""
import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(1)
    x = torch.randn(320, 8)
    data = TensorDataset(x, x[:, :1])
    sampler = DistributedSampler(data)
    loader = DataLoader(data, 16, sampler=sampler)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    updates = 0
    for epoch in range(4):
        sampler.set_epoch(epoch)
        for inputs, targets in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(inputs), targets).backward()
            optimizer.step()
            updates += 1
            if updates % 4 == 0:
                with torch.no_grad():
                    for p in model.parameters():
                        dist.all_reduce(p)
                        p /= dist.get_world_size()
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), "local_sgd.pt")
    dist.barrier()
    dist.destroy_process_group()


main()
