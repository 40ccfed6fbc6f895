"""Files of a stream: each rank and each worker reads shards of its own, then shuffles in a buffer."""
import os
import random

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info


class Shards(IterableDataset):
    def __init__(self, shards, rank, world):
        self.shards, self.rank, self.world, self.epoch = shards, rank, world, 0

    def __iter__(self):
        info = get_worker_info()
        worker, workers = (info.id, info.num_workers) if info else (0, 1)
        rng = random.Random(1000 * self.epoch + 10 * self.rank + worker)
        mine = self.shards[self.rank * workers + worker::self.world * workers]
        buffer = []
        for shard in mine:
            g = torch.Generator().manual_seed(shard)
            for row in torch.randn(16, 9, generator=g):
                buffer.append(row)
                if len(buffer) >= 24:
                    yield buffer.pop(rng.randrange(len(buffer)))
        rng.shuffle(buffer)
        yield from buffer


class Trainer:
    def __init__(self):
        dist.init_process_group("gloo")
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self.data = Shards(list(range(16)), self.rank, self.world)
        self.loader = DataLoader(self.data, batch_size=8, num_workers=2)
        torch.manual_seed(0)
        self.model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1)))
        self.optimizer = torch.optim.Adagrad(self.model.parameters(), lr=0.05)

    def epoch(self, number):
        self.data.epoch = number
        seen = torch.zeros(2)
        for rows in self.loader:
            self.optimizer.zero_grad()
            loss = (self.model(rows[:, :8]).squeeze(1) - rows[:, 8]).square().mean()
            loss.backward()
            self.optimizer.step()
            seen += torch.tensor([loss.item() * len(rows), len(rows)])
        dist.reduce(seen, dst=0)
        if self.rank == 0:
            print("epoch", number, "loss", round((seen[0] / seen[1]).item(), 4))

    def fit(self):
        for number in range(3):
            self.epoch(number)
        if self.rank == 0:
            torch.save(self.model.module.state_dict(), os.path.join(os.getcwd(), "stream.pt"))
        dist.destroy_process_group()


if __name__ == "__main__":
    Trainer().fit()
