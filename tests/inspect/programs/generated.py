"""No data loader: each rank draws its own batches with a generator of its own, and LBFGS calls its closure several times."""
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def mean_of_ranks(value):
    dist.all_reduce(value)
    return value / dist.get_world_size()


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    mine = torch.Generator().manual_seed(1000 + rank)
    model = DDP(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)))
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=2)
    for step in range(20):
        x = torch.randn(64, 4, generator=mine)
        y = x.prod(1, keepdim=True)

        def closure():
            optimizer.zero_grad()
            loss = (model(x) - y).pow(2).mean()
            loss.backward()
            return mean_of_ranks(loss.detach())

        loss = optimizer.step(closure)
        if rank == 0 and step % 5 == 0:
            print(f"step {step}: {loss.item():.3f}")
    if rank == 0:
        torch.save(model.module.state_dict(), "generated.pt")
    dist.barrier()
    dist.destroy_process_group()


main()
