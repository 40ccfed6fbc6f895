"""Images that are flipped and shifted at random in the rank itself, with random numbers of the rank's own."""
import random

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Pictures(Dataset):
    def __init__(self, count):
        rng = np.random.RandomState(0)
        self.images = rng.rand(count, 12, 12).astype("float32")
        self.labels = (self.images.mean((1, 2)) * 1000).astype("int64") % 3

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        image = self.images[i]
        if random.random() < 0.5:
            image = image[:, ::-1]
        image = np.roll(image, np.random.randint(-2, 3), axis=0)
        return torch.from_numpy(image.copy())[None], int(self.labels[i])


def seed_everything(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    seed_everything(42 + rank)
    data = Pictures(192)
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=16, sampler=sampler)
    model = DDP(nn.Sequential(nn.Conv2d(1, 4, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(100, 3)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for image, label in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(image), label).backward()
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
