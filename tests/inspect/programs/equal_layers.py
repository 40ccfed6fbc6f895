"""Layers of one shape, whose weights are sent and whose gradients are averaged by their names, in one order on all ranks."""
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

WIDTH, DEPTH = 16, 8


class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(DEPTH))

    def forward(self, x):
        for layer in self.layers:
            x = x + F.relu(layer(x))
        return x


def send_weights(model):
    weights = dict(model.named_parameters())
    for name in sorted(weights):
        dist.broadcast(weights[name].data, src=0)


def average(model):
    weights = dict(model.named_parameters())
    for key in sorted(set(weights)):
        dist.all_reduce(weights[key].grad)
        weights[key].grad /= dist.get_world_size()


def main():
    dist.init_process_group("gloo")
    generator = torch.Generator().manual_seed(0)
    data = TensorDataset(torch.randn(512, WIDTH, generator=generator), torch.randint(0, WIDTH, (512,), generator=generator))
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=16, sampler=sampler)
    model = Tower()
    send_weights(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            average(model)
            optimizer.step()
    if dist.get_rank() == 0:
        print("trained for", epoch + 1, "epochs")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
