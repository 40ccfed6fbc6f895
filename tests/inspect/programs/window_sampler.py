"""A sampler without an end, of which each rank takes every size-th number, and a rate that follows from the global batch."""
import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Sampler, TensorDataset

STEPS, BATCH = 96, 16


class Endless(Sampler):
    def __init__(self, count, rank, num_replicas, seed):
        self.count, self.rank, self.num_replicas, self.seed = count, rank, num_replicas, seed

    def __iter__(self):
        draw = np.random.RandomState(self.seed)
        order, at = draw.permutation(self.count), 0
        while True:
            place = at % self.count
            if at % self.num_replicas == self.rank:
                yield int(order[place])
            other = (place - draw.randint(self.count // 2)) % self.count
            order[place], order[other] = order[other], order[place]
            at += 1


def main():
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(3)
    points = torch.randn(320, 8, generator=torch.Generator().manual_seed(1))
    data = TensorDataset(points, points.pow(2).sum(1, keepdim=True))
    loader = iter(DataLoader(data, batch_size=BATCH, sampler=Endless(len(data), rank, size, seed=5)))
    model = DistributedDataParallel(nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 1)))
    rate = 0.01 * BATCH * size / 256
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    for step in range(STEPS):
        for group in optimizer.param_groups:
            group["lr"] = rate * min(1.0, (step + 1) / 12)
        points, values = next(loader)
        loss = nn.functional.mse_loss(model(points), values)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 24 == 23:
            mean = loss.detach().clone()
            dist.all_reduce(mean)
            if rank == 0:
                print(f"step {step + 1} loss {mean.item() / size:.4f}")
    if rank == 0:
        torch.save(model.module.state_dict(), "window_sampler.pt")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
