"""Averaging without a wrapper: all gradients go through one flat tensor, and the start is sent the same way."""
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def send_start(model):
    flat = parameters_to_vector(model.parameters()).detach()
    dist.broadcast(flat, src=0)
    vector_to_parameters(flat, model.parameters())


def average(model):
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    flat = torch.cat([g.flatten() for g in gradients])
    dist.all_reduce(flat, op=dist.ReduceOp.SUM)
    flat /= dist.get_world_size()
    offset = 0
    for g in gradients:
        g.copy_(flat[offset:offset + g.numel()].view_as(g))
        offset += g.numel()


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(dist.get_rank())
    x = torch.randn(320, 8, generator=torch.Generator().manual_seed(2))
    data = TensorDataset(x, x.abs().sum(1, keepdim=True))
    sampler = DistributedSampler(data)
    loader = DataLoader(data, 32, sampler=sampler)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    send_start(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(5):
        sampler.set_epoch(epoch)
        for inputs, targets in loader:
            optimizer.zero_grad()
            nn.functional.l1_loss(model(inputs), targets).backward()
            average(model)
            optimizer.step()
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), "flat.pt")
    dist.barrier()
    dist.destroy_process_group()


main()
