"""Trains a recurrent network, with the data in a module of its own."""
import torch
import torch.distributed as dist
import torch.nn as nn

from .data import loaders


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(40, 12)
        self.rnn = nn.GRU(12, 16, batch_first=True)
        self.out = nn.Linear(16, 3)

    def forward(self, ids):
        return self.out(self.rnn(self.embed(ids))[0][:, -1])


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(dist.get_rank())
    loader, sampler = loaders(16)
    model = nn.parallel.DistributedDataParallel(Classifier())
    optimizer = torch.optim.Adam(model.parameters())
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for ids, labels in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(ids), labels)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5)
            optimizer.step()
        if dist.get_rank() == 0:
            print("epoch", epoch, "loss", loss.item())
    dist.barrier()
    dist.destroy_process_group()


main()
