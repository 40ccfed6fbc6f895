"""Accumulates gradients over four batches, and exchanges them once."""
import contextlib

import torch
from torch import distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

ACCUMULATION = 4

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
features = torch.randn(512, 16)
dataset = TensorDataset(features, features.pow(2).sum(1, keepdim=True))
torch.manual_seed(rank)

model = DDP(nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 1)))
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
sampler = DistributedSampler(dataset, world, rank, drop_last=True)
loader = DataLoader(dataset, 8, sampler=sampler)

for epoch in range(3):
    sampler.set_epoch(epoch)
    opt.zero_grad()
    for step, (x, y) in enumerate(loader):
        last = (step + 1) % ACCUMULATION == 0
        context = contextlib.nullcontext() if last else model.no_sync()
        with context:
            loss = nn.functional.l1_loss(model(x), y) / ACCUMULATION
            loss.backward()
        if last:
            opt.step()
            opt.zero_grad()
    mean = loss.detach().clone()
    dist.all_reduce(mean)
    if rank == 0:
        print(f"[{epoch}] last loss {mean.item() / world * ACCUMULATION:.4f}", flush=True)
dist.barrier()
dist.destroy_process_group()
