"""Ends each epoch after a number of steps, and trains for a number of steps in all."""
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

MAX_STEPS = 30


def cycle(loader, sampler):
    epoch = 0
    while True:
        sampler.set_epoch(epoch)
        yield from loader
        epoch += 1


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(12)
    tokens = torch.randint(0, 50, (640, 9))
    data = TensorDataset(tokens[:, :-1], tokens[:, 1:])
    sampler = DistributedSampler(data, seed=5)
    loader = DataLoader(data, batch_size=32, sampler=sampler)
    model = DDP(nn.Sequential(nn.Embedding(50, 16), nn.Linear(16, 50)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    step = 0
    for source, target in cycle(loader, sampler):
        logits = model(source)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 10 == 0:
            shown = loss.detach().clone()
            dist.all_reduce(shown, op=dist.ReduceOp.AVG if dist.get_backend() == "nccl" else dist.ReduceOp.SUM)
            if rank == 0:
                print("step", step, "loss", shown.item() / dist.get_world_size())
        if step >= MAX_STEPS:
            break
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
