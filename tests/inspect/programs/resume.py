"""Goes on from a checkpoint that all ranks read; the first part writes one."""
import os

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

CHECKPOINT = "resume.ckpt"


def build():
    return nn.Sequential(nn.Linear(12, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Linear(24, 3))


def save(model, optimizer, scheduler, epoch):
    if dist.get_rank() == 0:
        torch.save({"model": model.module.state_dict(), "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict(), "epoch": epoch}, CHECKPOINT)
    dist.barrier()


def part(until, data, rank):
    model = DDP(build())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.04, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    start_epoch = 0
    if os.path.exists(CHECKPOINT):
        checkpoint = torch.load(CHECKPOINT, map_location="cpu")
        model.module.load_state_dict(checkpoint["model"])
        optimizer.load_state_dict(checkpoint["optimizer"])
        scheduler.load_state_dict(checkpoint["scheduler"])
        start_epoch = checkpoint["epoch"] + 1
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=32, sampler=sampler)
    for epoch in range(start_epoch, until):
        sampler.set_epoch(epoch)
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
        scheduler.step()
        if rank == 0:
            print(f"epoch {epoch}: lr {scheduler.get_last_lr()[0]:.4f}")
        save(model, optimizer, scheduler, epoch)


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    g = torch.Generator().manual_seed(9)
    data = TensorDataset(torch.randn(320, 12, generator=g), torch.randint(0, 3, (320,), generator=g))
    torch.manual_seed(rank)
    part(2, data, rank)
    part(4, data, rank)
    dist.barrier()
    dist.destroy_process_group()


main()
