"""A number of samples that the ranks do not divide: the sampler pads."""
import torch
import torch.distributed as dist
from torch import nn, optim
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Sines(Dataset):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        t = torch.linspace(0, 1, 16) * (index % 7 + 1)
        return {"signal": torch.sin(t), "label": index % 7}


def collate(items):
    return {"signal": torch.stack([i["signal"] for i in items]), "label": torch.tensor([i["label"] for i in items])}


def epoch_loss(model, loader, optimizer):
    seen, summed = 0, 0.0
    for batch in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(batch["signal"]), batch["label"])
        loss.backward()
        optimizer.step()
        seen += len(batch["label"])
        summed += loss.item() * len(batch["label"])
    return summed, seen


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(8)
    data = Sines(333)
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=20, sampler=sampler, collate_fn=collate)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 7)))
    optimizer = optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        results = [None] * dist.get_world_size()
        dist.all_gather_object(results, epoch_loss(model, loader, optimizer))
        if rank == 0:
            print("epoch", epoch, "train loss", sum(r[0] for r in results) / sum(r[1] for r in results))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
