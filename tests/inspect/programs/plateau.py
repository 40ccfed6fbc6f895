"""A rate that falls by the validation loss of all ranks, and an end that all ranks decide alike."""
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.optim.lr_scheduler import ReduceLROnPlateau
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def dataset(seed, n):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 10, generator=g)
    return TensorDataset(x, x.sum(1, keepdim=True) + 0.1 * torch.randn(n, 1, generator=g))


def validate(model, loader):
    model.eval()
    total, count = 0.0, 0
    with torch.no_grad():
        for x, y in loader:
            total += nn.functional.mse_loss(model(x), y, reduction="sum").item()
            count += len(x)
    sums = torch.tensor([total, count], dtype=torch.float64)
    dist.all_reduce(sums)
    return (sums[0] / sums[1]).item()


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(rank)
    train, val = dataset(1, 384), dataset(2, 96)
    sampler = DistributedSampler(train, shuffle=True, drop_last=True)
    loader = DataLoader(train, batch_size=16, sampler=sampler)
    val_loader = DataLoader(val, batch_size=16, sampler=DistributedSampler(val, shuffle=False))
    model = DDP(nn.Linear(10, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    scheduler = ReduceLROnPlateau(optimizer, patience=0, factor=0.5)
    best, bad = float("inf"), 0
    for epoch in range(6):
        sampler.set_epoch(epoch)
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
        val_loss = validate(model, val_loader)
        scheduler.step(val_loss)
        bad = 0 if val_loss < best else bad + 1
        best = min(best, val_loss)
        if rank == 0:
            print(f"epoch {epoch} val_loss {val_loss:.5f}")
        if bad == 3:
            break
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
