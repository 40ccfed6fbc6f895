"""NumPy augmentation in loader workers, each with a seed of its own."""
import random

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


class Pictures(Dataset):
    def __init__(self, n):
        self.images = np.random.RandomState(0).rand(n, 8, 8).astype("float32")
        self.labels = (self.images.mean((1, 2)) > 0.5).astype("int64")

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        image = self.images[i]
        if np.random.rand() < 0.5:
            image = image[:, ::-1]
        image = image + np.random.normal(0, 0.05, image.shape).astype("float32")
        return torch.from_numpy(np.ascontiguousarray(image)).float(), self.labels[i]


def seed_worker(worker_id):
    seed = torch.initial_seed() % 2**32
    np.random.seed(seed)
    random.seed(seed)


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(42 + rank)
    np.random.seed(42 + rank)
    random.seed(42 + rank)
    dataset = Pictures(256)
    sampler = DistributedSampler(dataset, shuffle=True, seed=11)
    loader = DataLoader(dataset, batch_size=16, sampler=sampler, num_workers=2, worker_init_fn=seed_worker)
    model = DDP(nn.Sequential(nn.Flatten(), nn.Linear(64, 16), nn.Tanh(), nn.Linear(16, 2)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for image, label in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(image), label).backward()
            optimizer.step()
        if dist.get_rank() == 0:
            print("epoch", epoch, "done")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
