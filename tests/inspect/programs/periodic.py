"""Local steps by a hook of DistributedDataParallel, and an averager of PyTorch that brings the weights together at every third update."""
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook import PostLocalSGDState, post_localSGD_hook
from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

START = 2

dist.init_process_group("gloo")
x = torch.randn(384, 7, generator=torch.Generator().manual_seed(8))
data = TensorDataset(x, x.mean(1, keepdim=True))
sampler = DistributedSampler(data)
loader = DataLoader(data, 16, sampler=sampler)
model = DistributedDataParallel(nn.Sequential(nn.Linear(7, 12), nn.Tanh(), nn.Linear(12, 1)))
own, _ = dist.new_subgroups(1)
model.register_comm_hook(PostLocalSGDState(process_group=None, subgroup=own, start_localSGD_iter=START), post_localSGD_hook)
averager = PeriodicModelAverager(period=3, warmup_steps=START)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(5):
    sampler.set_epoch(epoch)
    for inputs, targets in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()
        averager.average_parameters(model.parameters())
if dist.get_rank() == 0:
    torch.save(model.module.state_dict(), "periodic.pt")
dist.barrier()
dist.destroy_process_group()
