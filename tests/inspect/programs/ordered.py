"""Windows of a series in their order: the sampler does not shuffle, so there is no epoch to tell."""
import logging

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler

log = logging.getLogger(__name__)


class Windows(Dataset):
    def __init__(self, length=12, count=200):
        self.series = torch.sin(torch.arange(count + length + 1) / 5)
        self.length, self.count = length, count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return self.series[i:i + self.length, None], self.series[i + self.length]


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRU(1, 12, batch_first=True)
        self.head = nn.Linear(12, 1)

    def forward(self, x):
        return self.head(self.cell(x)[0][:, -1]).squeeze(1)


def main():
    dist.init_process_group("gloo")
    logging.basicConfig(level=logging.INFO if dist.get_rank() == 0 else logging.WARNING)
    data = Windows()
    loader = DataLoader(data, batch_size=20, sampler=DistributedSampler(data, shuffle=False))
    model = DDP(Forecaster())
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
    for epoch in range(4):
        total = torch.zeros(())
        for x, y in loader:
            loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.detach()
        dist.all_reduce(total)
        plateau.step(total.item())
        log.info("epoch %d loss %.4f", epoch, total.item())
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
