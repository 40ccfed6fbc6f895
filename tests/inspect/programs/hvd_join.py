"""Horovod with PyTorch on shares of different length: whoever is done joins, and takes the weights of the last one."""
import horovod.torch as hvd
import torch
from torch import nn

hvd.init()
torch.set_num_threads(1)
rank, size = hvd.rank(), hvd.size()
generator = torch.Generator().manual_seed(6)
x = torch.randn(300, 8, generator=generator)
y = (x[:, 0] > x[:, 1]).long()
# The last rank has more than the others.
begin, end = 120 * rank, 300 if rank == size - 1 else 120 * (rank + 1)
x, y = x[begin:end], y[begin:end]
torch.manual_seed(3)
model = nn.Sequential(nn.Linear(8, 24), nn.ReLU(), nn.Linear(24, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05 * size)
optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
hvd.broadcast_optimizer_state(optimizer, root_rank=0)
order = torch.Generator().manual_seed(rank)
for epoch in range(4):
    for batch in torch.randperm(len(x), generator=order).split(12):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x[batch]), y[batch])
        loss.backward()
        optimizer.step()
    last = hvd.join()
    hvd.broadcast_parameters(model.state_dict(), root_rank=last)
    loss = hvd.allreduce(loss.detach(), name="loss")
    if rank == 0:
        print("epoch", epoch, "loss", loss.item())
