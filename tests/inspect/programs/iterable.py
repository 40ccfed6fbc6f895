"""An iterable data set that each rank and each worker reads its own part of."""
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, IterableDataset, get_worker_info


class Lines(IterableDataset):
    """Stands for files of text: item i is made from its number."""

    def __init__(self, count, rank, world):
        self.count, self.rank, self.world = count, rank, world
        self.epoch = 0

    def __iter__(self):
        info = get_worker_info()
        workers, worker = (info.num_workers, info.id) if info else (1, 0)
        shard, shards = self.rank * workers + worker, self.world * workers
        order = torch.randperm(self.count, generator=torch.Generator().manual_seed(self.epoch)).tolist()
        for item in order[shard::shards]:
            g = torch.Generator().manual_seed(item)
            x = torch.randn(10, generator=g)
            yield x, x.sum().reshape(1)


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    dataset = Lines(320, rank, world)
    loader = DataLoader(dataset, batch_size=10, num_workers=2)
    torch.manual_seed(0)
    model = DDP(nn.Linear(10, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(3):
        dataset.epoch = epoch
        for x, y in loader:
            optimizer.zero_grad()
            loss = (model(x) - y).pow(2).mean()
            loss.backward()
            optimizer.step()
        if rank == 0:
            print("epoch", epoch, loss.item())
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
