"""A network that leaves out layers at random, alike on all ranks, and says so to DDP."""
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Depth(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(12, 12) for _ in range(depth))
        self.out = nn.Linear(12, 3)
        self.random = torch.Generator().manual_seed(0)

    def forward(self, x):
        for layer in self.layers:
            if not self.training or torch.rand(1, generator=self.random) < 0.7:
                x = x + torch.relu(layer(x))
        return self.out(x)


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(rank)
    g = torch.Generator().manual_seed(1)
    data = TensorDataset(torch.randn(256, 12, generator=g), torch.randint(0, 3, (256,), generator=g))
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=16, sampler=sampler)
    model = DDP(Depth(3), find_unused_parameters=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
    if rank == 0:
        print("loss", loss.item())
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
