"""A batch sampler of the user's own puts samples of about the same length together and deals the batches out to the ranks."""
import random

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset


class Sentences(Dataset):
    def __init__(self, count):
        rng = random.Random(5)
        self.rows = [[rng.randrange(1, 50) for _ in range(rng.randrange(3, 20))] for _ in range(count)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        row = self.rows[i]
        return torch.tensor(row), float(sum(row) % 2)


class LengthBatches:
    """Yields lists of indices; every rank makes the same lists, and takes each world-size-th of them."""

    def __init__(self, lengths, batch_size, rank, world, seed=0):
        self.lengths, self.batch_size, self.rank, self.world, self.seed = lengths, batch_size, rank, world, seed
        self.epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __iter__(self):
        order = sorted(range(len(self.lengths)), key=lambda i: self.lengths[i])
        lists = [order[i:i + self.batch_size] for i in range(0, len(order), self.batch_size)]
        random.Random(self.seed + self.epoch).shuffle(lists)
        lists = lists[:len(lists) // self.world * self.world]
        return iter(lists[self.rank::self.world])

    def __len__(self):
        return len(self.lengths) // self.batch_size // self.world


class Parity(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 12, padding_idx=0)
        self.rnn = nn.GRU(12, 16, batch_first=True)
        self.head = nn.Linear(16, 1)

    def forward(self, tokens):
        _, state = self.rnn(self.embed(tokens))
        return self.head(state[-1]).squeeze(-1)


def pad(rows):
    tokens, targets = zip(*rows)
    return pad_sequence(tokens, batch_first=True), torch.tensor(targets)


if __name__ == "__main__":
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    data = Sentences(192)
    sampler = LengthBatches([len(row) for row in data.rows], 12, rank, world)
    loader = DataLoader(data, batch_sampler=sampler, collate_fn=pad)
    model = nn.parallel.DistributedDataParallel(Parity())
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for tokens, targets in loader:
            optimizer.zero_grad()
            nn.functional.binary_cross_entropy_with_logits(model(tokens), targets).backward()
            optimizer.step()
    if rank == 0:
        torch.save(model.module.state_dict(), "parity.pt")
    dist.destroy_process_group()
