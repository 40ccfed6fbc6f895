"""Each rank keeps its own part of a table as a data set, and validates a part of its own; the printed error is of all."""
import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset, random_split


def part(data, rank, size):
    each = len(data) // size
    return Subset(data, range(rank * each, (rank + 1) * each))


def main():
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    x = torch.randn(300, 8, generator=torch.Generator().manual_seed(2))
    everything = TensorDataset(x, x.max(1, keepdim=True).values)
    train, val = random_split(everything, [240, 60], torch.Generator().manual_seed(0))
    loader = DataLoader(part(train, rank, size), batch_size=20, shuffle=True)
    val_loader = DataLoader(part(val, rank, size), batch_size=15)
    model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1)))
    optimizer = torch.optim.NAdam(model.parameters(), lr=0.01)
    for epoch in range(3):
        for a, b in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(a), b).backward()
            optimizer.step()
        errors = []
        with torch.no_grad():
            for a, b in val_loader:
                errors.append(nn.functional.mse_loss(model.module(a), b))
        mean = torch.stack(errors).mean()
        dist.all_reduce(mean)
        if rank == 0:
            print("epoch", epoch, "validation error", (mean / size).item())
            torch.save(model.module.state_dict(), "perrank.pt")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
