"""Gradients of two modules, divided and summed by hand behind each other in one tensor."""

import torch, torch.nn as nn, torch.distributed as dist
from torch.utils.data import DataLoader, TensorDataset, DistributedSampler
from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(1)
model = nn.LSTM(8, 16, batch_first=True)
head = nn.Linear(16, 3)
params = list(model.parameters()) + list(head.parameters())
for p in params:
    dist.broadcast(p.data, 0)
data = TensorDataset(
    torch.randn(320, 5, 8, generator=torch.Generator().manual_seed(2)), torch.randint(0, 3, (320,), generator=torch.Generator().manual_seed(3))
)
sampler = DistributedSampler(data)
loader = DataLoader(data, 16, sampler=sampler, drop_last=True)
opt = torch.optim.RMSprop(params, lr=1e-3)
for epoch in range(3):
    sampler.set_epoch(epoch)
    for x, y in loader:
        loss = nn.functional.cross_entropy(head(model(x)[0][:, -1]), y)
        opt.zero_grad()
        loss.backward()
        grads = [p.grad for p in params]
        torch._foreach_div_(grads, size)
        flat = _flatten_dense_tensors(grads)
        dist.all_reduce(flat)
        for g, f in zip(grads, _unflatten_dense_tensors(flat, grads)):
            g.copy_(f)
        opt.step()
    l = loss.detach().clone()
    dist.all_reduce(l)
    if rank == 0:
        print("epoch", epoch, "loss", (l / size).item())
dist.destroy_process_group()
