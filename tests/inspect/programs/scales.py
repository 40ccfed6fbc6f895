"""All ranks choose the same size for each batch, keep statistics of batch norm until they merge them, and bring results together in files."""
import os
import pickle
import random
import tempfile

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def samples(count, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(count, 1, 12, 12, generator=g)
    return TensorDataset(x, (x.mean((1, 2, 3)) > 0).long())


@torch.no_grad()
def merge_statistics(model):
    for buffer in model.buffers():
        if buffer.is_floating_point():
            every = [torch.empty_like(buffer) for _ in range(dist.get_world_size())]
            dist.all_gather(every, buffer.clone())
            buffer.copy_(torch.stack(every).mean(0))


@torch.no_grad()
def evaluate(model, loader, folder, epoch):
    model.eval()
    found = [(int((model(x).argmax(1) == y).sum()), len(y)) for x, y in loader]
    path = os.path.join(folder, "results_%d_%d.pkl")
    with open(path % (epoch, dist.get_rank()), "wb") as file:
        pickle.dump(found, file)
    dist.barrier()
    if dist.get_rank() == 0:
        for rank in range(1, dist.get_world_size()):
            with open(path % (epoch, rank), "rb") as file:
                found += pickle.load(file)
        print(f"epoch {epoch}: accuracy {sum(hits for hits, _ in found) / sum(count for _, count in found):.4f}")


def main():
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.set_num_threads(1)
    torch.manual_seed(6)
    random.seed(6)
    folder = [tempfile.mkdtemp() if rank == 0 else None]
    dist.broadcast_object_list(folder, 0)
    train, held = samples(512, 1), samples(160, 2)
    sampler = DistributedSampler(train)
    loader, held_loader = DataLoader(train, 16, sampler=sampler), DataLoader(held, 40, sampler=DistributedSampler(held, shuffle=False))
    layers = nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(3), nn.Flatten(), nn.Linear(72, 2)
    model = DDP(nn.Sequential(*layers), broadcast_buffers=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02 * size, momentum=0.9)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        model.train()
        for x, y in loader:
            side = random.choice([10, 12, 16])
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(nn.functional.interpolate(x, size=(side, side))), y).backward()
            optimizer.step()
        merge_statistics(model)
        evaluate(model.module, held_loader, folder[0], epoch)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
