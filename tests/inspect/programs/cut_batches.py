"""All ranks take the same batches, and each trains on its part of them; the results of all epochs meet at the end."""
import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def samples(count, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(count, 10, generator=g)
    return TensorDataset(x, (x[:, 0] + 0.5 * x[:, 1] ** 2 > 0.3).long())


def main():
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.set_num_threads(1)
    held = samples(200, 2)
    loader = DataLoader(samples(512, 1), 32, shuffle=True, drop_last=True, generator=torch.Generator().manual_seed(5))
    held_loader = DataLoader(held, 50, sampler=DistributedSampler(held, shuffle=False))
    torch.manual_seed(3 + rank)
    model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 2)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    history = []
    for epoch in range(4):
        total = seen = hits = count = 0
        for x, y in loader:
            x, y = x[rank::size], y[rank::size]
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
            seen += len(y)
        with torch.no_grad():
            for x, y in held_loader:
                hits += (model.module(x).argmax(1) == y).sum().item()
                count += len(y)
        history.append([total, seen, hits, count])
    table = torch.tensor(history, dtype=torch.float64)
    dist.all_reduce(table)
    if rank == 0:
        for epoch, (total, seen, hits, count) in enumerate(table.tolist()):
            print(f"epoch {epoch}: loss {total / seen:.4f}, accuracy {hits / count:.4f}")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
