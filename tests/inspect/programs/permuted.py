"""Horovod without a data loader: a permutation that all ranks draw alike is cut into shares."""
import horovod.torch as hvd
import numpy as np
import torch
from torch import nn

hvd.init()
torch.set_num_threads(1)
rank, size = hvd.rank(), hvd.size()
data = np.random.RandomState(0)
x = torch.from_numpy(data.randn(640, 10).astype(np.float32))
y = (x[:, 0] > x[:, 1]).long()
order = np.random.RandomState(1)
torch.manual_seed(1000 + rank)
body = nn.Sequential(nn.Linear(10, 32), nn.ReLU())
model = nn.Sequential(body, nn.Linear(32, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.03 * size, momentum=0.9)
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
hvd.broadcast_optimizer_state(optimizer, root_rank=0)
optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
warmup = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1, (step + 1) / 20))
share = len(x) // size
for epoch in range(3):
    mine = order.permutation(len(x))[rank * share:(rank + 1) * share]
    for at in range(0, share, 16):
        pick = mine[at:at + 16]
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x[pick]), y[pick])
        loss.backward()
        optimizer.step()
        warmup.step()
    mean = hvd.allreduce(loss.detach(), name="loss").item()
    if rank == 0:
        print("epoch", epoch, "loss", round(mean, 4))
if rank == 0:
    torch.save(model.state_dict(), "permuted.pt")
