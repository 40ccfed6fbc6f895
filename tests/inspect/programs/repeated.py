"""Repeated augmentation: each sample comes twice in an epoch, to one rank or to two, and is changed in another way each time."""
import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, Dataset, Sampler


class Repeats(Sampler):
    def __init__(self, length, repeats):
        self.length, self.num_repeats, self.epoch = length, repeats, 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __iter__(self):
        order = torch.randperm(self.length, generator=torch.Generator().manual_seed(self.epoch)).repeat_interleave(self.num_repeats)
        return iter(order[dist.get_rank()::dist.get_world_size()].tolist()[:len(self)])

    def __len__(self):
        return self.length // dist.get_world_size()


class Noisy(Dataset):
    def __init__(self, count):
        g = torch.Generator().manual_seed(8)
        self.x = torch.randn(count, 16, generator=g)
        self.y = (self.x[:, :3].sum(1) > 0).long()

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        return self.x[index] + 0.1 * torch.randn(16), self.y[index]


def main():
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.set_num_threads(1)
    torch.manual_seed(20 + rank)
    data = Noisy(512)
    sampler = Repeats(len(data), 2)
    loader = DataLoader(data, batch_size=16, sampler=sampler)
    model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 2)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02 * size, momentum=0.9)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        total = torch.zeros(2)
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            total += torch.tensor([loss.item() * len(y), len(y)])
        dist.all_reduce(total)
        if rank == 0:
            print(f"epoch {epoch}: loss {total[0] / total[1]:.4f}")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
