"""Rank 0 validates and decides when to stop; the others are told."""
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, random_split, TensorDataset


class EarlyStopping:
    def __init__(self, patience):
        self.patience, self.best, self.bad = patience, None, 0

    def step(self, value):
        if self.best is None or value < self.best:
            self.best, self.bad = value, 0
        else:
            self.bad += 1
        return self.bad >= self.patience


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(33)
    x = torch.randn(500, 8)
    train, val = random_split(TensorDataset(x, x.prod(1, keepdim=True)), [400, 100], generator=torch.Generator().manual_seed(0))
    sampler = DistributedSampler(train)
    loader = DataLoader(train, batch_size=25, sampler=sampler)
    val_loader = DataLoader(val, batch_size=50)
    model = DDP(nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    stopper = EarlyStopping(2)
    stop = torch.zeros(1)
    for epoch in range(8):
        sampler.set_epoch(epoch)
        model.train()
        for inputs, targets in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(inputs), targets).backward()
            optimizer.step()
        if rank == 0:
            model.eval()
            with torch.no_grad():
                loss = sum(nn.functional.mse_loss(model.module(a), b).item() for a, b in val_loader) / len(val_loader)
            print(f"epoch {epoch} validation {loss:.4f}")
            stop += stopper.step(loss)
        dist.broadcast(stop, src=0)
        if stop.item():
            break
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
