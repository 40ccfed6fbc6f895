"""Each rank shuffles a Subset of its own and makes noise with seeds of its own; the network starts from a file of rank 0."""
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Subset, TensorDataset

rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
torch.set_num_threads(1)
dist.init_process_group("gloo", rank=rank, world_size=size)
g = torch.Generator().manual_seed(11)
x = torch.randn(256, 6, generator=g)
y = (x[:, 0] > x[:, 1]).float()
mine = Subset(TensorDataset(x, y), range(rank, 256, size))
torch.manual_seed(100 + rank)
loader = DataLoader(mine, batch_size=16, shuffle=True)
net = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 1))
if rank == 0:
    torch.save(net.state_dict(), "start.pt")
dist.barrier()
net.load_state_dict(torch.load("start.pt"))
ddp = DDP(net)
opt = torch.optim.RMSprop(ddp.parameters(), lr=1e-3)
for epoch in range(5):
    hits = torch.zeros(2)
    for a, b in loader:
        out = ddp(a + 0.05 * torch.randn_like(a)).squeeze(1)
        loss = nn.functional.binary_cross_entropy_with_logits(out, b)
        opt.zero_grad()
        loss.backward()
        opt.step()
        hits += torch.tensor([((out > 0) == (b > 0.5)).sum().item(), len(b)])
    dist.reduce(hits, dst=0)
    if rank == 0:
        print(f"{epoch}: {hits[0].item() / hits[1].item():.2f}")
dist.barrier()
dist.destroy_process_group()
