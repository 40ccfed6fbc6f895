"""Horovod with PyTorch in the manner of Horovod's example."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler
import horovod.torch as hvd


def average(value, name):
    return hvd.allreduce(torch.tensor(value), name=name).item()


def main():
    hvd.init()
    torch.set_num_threads(1)
    torch.manual_seed(hvd.rank())
    g = torch.Generator().manual_seed(4)
    x, y = torch.randn(448, 12, generator=g), torch.randint(0, 3, (448,), generator=g)
    train, test = TensorDataset(x[:384], y[:384]), TensorDataset(x[384:], y[384:])
    sampler = DistributedSampler(train, num_replicas=hvd.size(), rank=hvd.rank())
    loader = DataLoader(train, batch_size=16, sampler=sampler)
    test_sampler = DistributedSampler(test, num_replicas=hvd.size(), rank=hvd.rank(), shuffle=False)
    test_loader = DataLoader(test, batch_size=16, sampler=test_sampler)
    model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01 * hvd.size(), momentum=0.5)
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
    for epoch in range(3):
        model.train()
        sampler.set_epoch(epoch)
        for data, target in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(data), target)
            loss.backward()
            optimizer.step()
        model.eval()
        loss = right = 0.0
        with torch.no_grad():
            for data, target in test_loader:
                output = model(data)
                loss += F.cross_entropy(output, target).item()
                right += (output.argmax(1) == target).float().mean().item()
        loss, right = average(loss / len(test_loader), "loss"), average(right / len(test_loader), "accuracy")
        if hvd.rank() == 0:
            print("Test set: loss {:.4f} accuracy {:.2f}%".format(loss, 100 * right))
            torch.save(model.state_dict(), "horovod.pt")


if __name__ == "__main__":
    main()
