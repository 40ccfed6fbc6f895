"""Gradients that are divided or added up on purpose, in four ways: none of them counts a rank or a batch twice."""
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
size = dist.get_world_size()
x = torch.randn(256, 6, generator=torch.Generator().manual_seed(1))
data = TensorDataset(x, x.sum(1, keepdim=True))
samplers = [DistributedSampler(data, seed=seed) for seed in (1, 2)]
loaders = [DataLoader(data, 8, sampler=sampler) for sampler in samplers]
torch.manual_seed(0)
model = DDP(nn.Linear(6, 1))
alone = nn.Linear(6, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
others = [torch.optim.SGD(of.parameters(), lr=0.02) for of in (model, model, alone)]


def divide(by):
    for p in model.parameters():
        p.grad /= by


def add_task(inputs, targets):
    nn.functional.l1_loss(model(inputs), targets).backward()


def shuffle(number):
    for sampler in samplers:
        sampler.set_epoch(number)


for epoch in range(3):
    shuffle(4 * epoch)
    # Two batches add up, and their gradients are divided instead of their losses: by as many as there are ranks.
    for step, (inputs, targets) in enumerate(loaders[0], 1):
        nn.functional.mse_loss(model(inputs), targets).backward()
        if step % 2 == 0:
            divide(2)
            optimizer.step()
            optimizer.zero_grad()
    shuffle(4 * epoch + 1)
    # The sum of two tasks, each with a loader of its own.
    other_task = iter(loaders[1])
    for batch in loaders[0]:
        add_task(*batch)
        add_task(*next(other_task))
        others[0].step()
        others[0].zero_grad()
    shuffle(4 * epoch + 2)
    # A loss that is multiplied by the number of ranks, as where it is a sum over all of them.
    for inputs, targets in loaders[0]:
        loss = nn.functional.mse_loss(model(inputs), targets) * size
        loss.backward()
        divide(size)
        others[1].step()
        others[1].zero_grad()
    shuffle(4 * epoch + 3)
    # The losses are divided, so that their gradients only need to be added up.
    for inputs, targets in loaders[1]:
        loss = nn.functional.mse_loss(alone(inputs), targets) / size
        loss.backward()
        for p in alone.parameters():
            dist.all_reduce(p.grad)
        others[2].step()
        others[2].zero_grad()
if dist.get_rank() == 0:
    print("weights", model.module.weight.tolist(), alone.weight.tolist())
dist.barrier()
dist.destroy_process_group()
