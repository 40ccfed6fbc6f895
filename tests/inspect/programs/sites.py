"""Each rank validates with the sites of its own, which have other numbers of samples; a second validation leaves out what its sampler repeats."""
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import ConcatDataset, DataLoader, DistributedSampler, TensorDataset


def site(count, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(count, 10, generator=g)
    return TensorDataset(x, (x[:, 0] + 0.3 * seed * x[:, 1] > 0).long())


@torch.no_grad()
def evaluate(model, loader, most):
    hits = seen = 0
    for x, y in loader:
        # The last sample of the last rank may be one that its sampler repeats.
        count = min(len(y), most - seen)
        hits += (model(x).argmax(1) == y)[:count].sum().item()
        seen += count
    counts = torch.tensor([hits, seen], dtype=torch.float64)
    dist.all_reduce(counts)
    return (counts[0] / counts[1]).item()


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(4)
    train, sizes, test = site(256, 0), [90, 24, 60, 12], site(121, 9)
    own = ConcatDataset([site(sizes[at], at) for at in range(rank, len(sizes), world)])
    sampler = DistributedSampler(train)
    loader, own_loader = DataLoader(train, batch_size=16, sampler=sampler), DataLoader(own, batch_size=32)
    test_loader = DataLoader(test, batch_size=32, sampler=DistributedSampler(test, shuffle=False))
    share = len(range(rank, len(test), world))
    model = DDP(nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 2)))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
        sites, held = evaluate(model.module, own_loader, len(own)), evaluate(model.module, test_loader, share)
        if rank == 0:
            print(f"epoch {epoch}: accuracy of the sites {sites:.4f}, accuracy of the test {held:.4f}")
    dist.barrier()
    dist.destroy_process_group()


main()
