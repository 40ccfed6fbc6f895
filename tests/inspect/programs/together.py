"""Each rank has samples of its own, and as many to validate with: sums of the training and hits of the validation meet in one tensor."""
import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import ConcatDataset, DataLoader, TensorDataset


def samples(count, seed):
    g = torch.Generator().manual_seed(seed)
    x, y = torch.randn(count, 12, generator=g), torch.randint(0, 2, (count,), generator=g)
    # The classes lie apart: soon all samples are hits.
    x[:, 0] += 12.0 * y - 6.0
    return TensorDataset(x, y)


def everywhere(*numbers):
    sums = torch.tensor(numbers, dtype=torch.float64)
    dist.all_reduce(sums)
    return sums.tolist()


def main():
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.set_num_threads(1)
    torch.manual_seed(5)
    train, held = ConcatDataset([samples(160, 10 + rank), samples(160, 20 + rank)]), samples(96, 30 + rank)
    loader, held_loader = DataLoader(train, 32, shuffle=True), DataLoader(held, 96)
    model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 2)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05 * size, momentum=0.9)
    warmup = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1, (step + 1) / 10))
    for epoch in range(3):
        total, seen = 0.0, 0
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            warmup.step()
            total += loss.item() * len(y)
            seen += len(y)
        with torch.no_grad():
            hits = sum((model.module(x).argmax(1) == y).sum().item() for x, y in held_loader)
        total, seen, hits, held_out = everywhere(total, seen, hits, len(held))
        if rank == 0:
            print(f"epoch {epoch}: loss {total / seen:.4f} of {seen:.0f}, accuracy {hits / held_out:.4f}")
    if rank == 0:
        torch.save(model.module.state_dict(), "together.pt")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
