import math

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.mix, self.out = nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.out(torch.relu(self.mix(self.norm(x))))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(32, 16)
        self.blocks = nn.ModuleList([Block(16), Block(16)])
        self.head = nn.Linear(16, 32)

    def forward(self, tokens, targets=None):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        logits = self.head(x)
        loss = None if targets is None else nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        return logits, loss


@torch.compile(backend="aot_eager", fullgraph=True)
def smooth(x):
    return x * 0.9 + x.mean() * 0.1


def main():
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(3)
    tokens = torch.randint(0, 32, (96, 9))
    train = TensorDataset(tokens[:, :-1], tokens[:, 1:])
    # One graph of the whole model: whatever is called in it and cannot be compiled is an error.
    model = torch.compile(Net(), backend="aot_eager", fullgraph=True)
    ddp = DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(ddp.parameters(), lr=1e-3 * world)
    sampler = DistributedSampler(train)
    loader = DataLoader(train, batch_size=8, sampler=sampler)
    updates = 4 * len(loader)

    @torch.no_grad()
    def evaluate():
        ddp.eval()
        losses = torch.zeros(2)
        for at in range(rank, 12, world):
            x, y = tokens[at * 8:at * 8 + 8, :-1], tokens[at * 8:at * 8 + 8, 1:]
            losses += torch.tensor([model(x, y)[1].item(), 1.0])
        dist.all_reduce(losses)
        ddp.train()
        return (losses[0] / losses[1]).item()

    step = 0
    for epoch in range(4):
        sampler.set_epoch(epoch)
        for x, y in loader:
            for group in optimizer.param_groups:
                group["lr"] = 1e-3 * world * min(1.0, (step + 1) / 8) * 0.5 * (1 + math.cos(math.pi * step / updates))
            optimizer.zero_grad()
            loss = ddp(x, y)[1]
            smooth(loss).backward()
            optimizer.step()
            step += 1
        mean = evaluate()
        if rank == 0:
            print(f"epoch {epoch} loss {mean:.4f}")
    dist.destroy_process_group()


main()
