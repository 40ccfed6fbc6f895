"""Takes all batches of an epoch first, and then accumulates over four of them at a time; the last few may be less."""
import contextlib

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

AT_ONCE = 4


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    x = torch.randn(352, 12)
    data = TensorDataset(x, (x.mean(1) > 0).long())
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=16, sampler=sampler)
    net = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 2))
    model = DDP(net)
    optimizer = torch.optim.AdamW(net.parameters(), lr=3e-3)
    for epoch in range(4):
        sampler.set_epoch(epoch)
        batches = list(loader)
        for first in range(0, len(batches), AT_ONCE):
            window = batches[first : first + AT_ONCE]
            optimizer.zero_grad()
            for place, (inputs, labels) in enumerate(window, 1):
                with contextlib.nullcontext() if place == len(window) else model.no_sync():
                    loss = nn.functional.cross_entropy(model(inputs), labels)
                    (loss / len(window)).backward()
            optimizer.step()
        if dist.get_rank() == 0:
            print(f"epoch {epoch} loss {loss.item():.4f}")
    dist.barrier()
    dist.destroy_process_group()


main()
