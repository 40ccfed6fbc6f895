"""Horovod with PyTorch in a class: start and optimizer state are broadcast, metrics are averaged, rank 0 saves."""
import argparse
import os

import horovod.torch as hvd
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


class Metric:
    def __init__(self, name):
        self.name, self.sum, self.n = name, torch.tensor(0.0), torch.tensor(0.0)

    def update(self, value):
        self.sum += hvd.allreduce(value.detach().cpu(), name=self.name)
        self.n += 1

    @property
    def avg(self):
        return (self.sum / self.n).item()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 6, 3)
        self.bn = nn.BatchNorm2d(6)
        self.fc = nn.Linear(6 * 36, 4)

    def forward(self, x):
        return self.fc(F.relu(self.bn(self.conv(x))).flatten(1))


def data():
    g = torch.Generator().manual_seed(4)
    x = torch.rand(288, 1, 8, 8, generator=g)
    y = torch.randint(0, 4, (288,), generator=g)
    return TensorDataset(x[:224], y[:224]), TensorDataset(x[224:], y[224:])


def resume(model, optimizer, path):
    epoch = 0
    if hvd.rank() == 0 and os.path.exists(path):
        state = torch.load(path)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        epoch = state["epoch"]
    return hvd.broadcast_object(epoch, root_rank=0, name="epoch")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    args = parser.parse_args()
    hvd.init()
    torch.manual_seed(hvd.rank())
    torch.set_num_threads(1)
    train, test = data()
    sampler = DistributedSampler(train, num_replicas=hvd.size(), rank=hvd.rank())
    loader = DataLoader(train, batch_size=16, sampler=sampler)
    test_sampler = DistributedSampler(test, num_replicas=hvd.size(), rank=hvd.rank(), shuffle=False)
    test_loader = DataLoader(test, batch_size=16, sampler=test_sampler)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01 * hvd.size(), momentum=0.9)
    optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters(), compression=hvd.Compression.fp16)
    start = resume(model, optimizer, "none.pt")
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    for epoch in range(start, args.epochs):
        model.train()
        sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
        model.eval()
        accuracy = Metric("accuracy")
        with torch.no_grad():
            for x, y in test_loader:
                accuracy.update((model(x).argmax(1) == y).float().mean())
        if hvd.rank() == 0:
            print("epoch", epoch, "loss", loss.item(), "test accuracy", accuracy.avg)
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch + 1}, "checkpoint.pt")


if __name__ == "__main__":
    main()
