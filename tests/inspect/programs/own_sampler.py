"""A sampler of the program's own: it counts its epochs itself, and each rank takes every size-th number."""
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, Sampler


class Waves(Dataset):
    def __len__(self):
        return 384

    def __getitem__(self, i):
        t = torch.arange(16) * (0.1 + i / 1000)
        return torch.sin(t), torch.tensor([i / 384.0])


class Share(Sampler):
    def __init__(self, count, rank, size):
        self.count, self.rank, self.size, self.epoch = count, rank, size, 0

    def __iter__(self):
        generator = torch.Generator().manual_seed(self.epoch)
        self.epoch += 1
        order = torch.randperm(self.count, generator=generator).tolist()
        return iter(order[self.rank::self.size])

    def __len__(self):
        return self.count // self.size


def build():
    net = nn.Sequential(nn.Linear(16, 24), nn.Tanh(), nn.Dropout(0.1), nn.Linear(24, 1))
    return DDP(net)


def run():
    dist.init_process_group("gloo")
    data = Waves()
    loader = DataLoader(data, batch_size=24, sampler=Share(len(data), dist.get_rank(), dist.get_world_size()))
    model = build()
    sgd = torch.optim.SGD(model.parameters(), lr=0.02)
    for epoch in range(5):
        for waves, speeds in loader:
            sgd.zero_grad(set_to_none=True)
            loss = nn.functional.mse_loss(model(waves), speeds)
            loss.backward()
            sgd.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        if dist.get_rank() == 0:
            print("loss of the last batches", mean.item() / dist.get_world_size())
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), "own_sampler.pt")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    run()
