"""Data parallelism without a wrapper: starts equal by a broadcast, and averages gradients by all_reduce."""
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Subset, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 6, 3)
        self.fc = nn.Linear(6 * 6 * 6, 4)

    def forward(self, x):
        return self.fc(torch.relu(self.conv(x)).flatten(1))


def partition(dataset, rank, size, epoch):
    order = torch.randperm(len(dataset), generator=torch.Generator().manual_seed(1234 + epoch)).tolist()
    return Subset(dataset, order[rank::size])


def sync_start(model):
    for tensor in model.state_dict().values():
        dist.broadcast(tensor, src=0)


def average_gradients(model):
    size = float(dist.get_world_size())
    for param in model.parameters():
        dist.all_reduce(param.grad, op=dist.ReduceOp.SUM)
        param.grad /= size


def run(rank, size):
    torch.manual_seed(rank)
    g = torch.Generator().manual_seed(1)
    dataset = TensorDataset(torch.randn(256, 1, 8, 8, generator=g), torch.randint(0, 4, (256,), generator=g))
    model = Net()
    sync_start(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.5)
    for epoch in range(3):
        loader = DataLoader(partition(dataset, rank, size, epoch), batch_size=16)
        epoch_loss = torch.zeros(1)
        for data, target in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(data), target)
            epoch_loss += loss.detach()
            loss.backward()
            average_gradients(model)
            optimizer.step()
        dist.all_reduce(epoch_loss)
        if rank == 0:
            print("epoch", epoch, "loss", epoch_loss.item() / len(loader) / size)
    dist.barrier()


if __name__ == "__main__":
    dist.init_process_group("gloo", init_method="env://")
    run(dist.get_rank(), dist.get_world_size())
    dist.destroy_process_group()
