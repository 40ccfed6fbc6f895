"""Predictions of all ranks are gathered, rank 0 scores them and tells the others whether to stop."""
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset, random_split

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
x = torch.randn(400, 12)
whole = TensorDataset(x, x.sum(1, keepdim=True))
train_set, val_set = random_split(whole, [320, 80], torch.Generator().manual_seed(3))
sampler = DistributedSampler(train_set, seed=5)
loader = DataLoader(train_set, batch_size=20, sampler=sampler)
val_loader = DataLoader(val_set, batch_size=20, sampler=DistributedSampler(val_set, shuffle=False))
model = DistributedDataParallel(torch.nn.Linear(12, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
best = None
for epoch in range(6):
    sampler.set_epoch(epoch)
    for inputs, targets in loader:
        optimizer.zero_grad()
        F.mse_loss(model(inputs), targets).backward()
        optimizer.step()
    errors = []
    with torch.inference_mode():
        for inputs, targets in val_loader:
            errors += (model(inputs) - targets).pow(2).flatten().tolist()
    everyone = [None] * size
    dist.all_gather_object(everyone, errors)
    stop = [False]
    if rank == 0:
        flat = [error for part in everyone for error in part]
        score = sum(flat) / len(flat)
        print(f"epoch {epoch}: error {score:.4f}")
        best = score if best is None else best
        stop[0] = score < best * 0.7
        torch.save(model.module.state_dict(), "gathered.pt")
    dist.broadcast_object_list(stop, src=0)
    if stop[0]:
        break
dist.barrier()
dist.destroy_process_group()
