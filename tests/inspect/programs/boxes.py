"""Batches by a batch sampler, losses by name that are averaged to be shown, and results that are gathered as objects."""

import datetime, torch, torch.nn as nn, torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, BatchSampler, Dataset


class Boxes(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.x = torch.randn(n, 3, 8, 8, generator=g)
        self.y = torch.rand(n, 4, generator=g)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], {"boxes": self.y[i], "image_id": i}


def collate(batch):
    return tuple(zip(*batch))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(288, 4))

    def forward(self, images, targets=None):
        out = self.body(torch.stack(images))
        if self.training:
            t = torch.stack([t["boxes"] for t in targets])
            return {"l1": (out - t).abs().mean(), "l2": ((out - t) ** 2).mean()}
        return out


def reduce_dict(d):
    with torch.no_grad():
        names = sorted(d)
        v = torch.stack([d[k] for k in names])
        dist.all_reduce(v)
        v /= dist.get_world_size()
        return dict(zip(names, v))


def main():
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60))
    rank = dist.get_rank()
    train_set, test_set = Boxes(160, 1), Boxes(48, 2)
    torch.manual_seed(0)
    model = Net()
    sampler = DistributedSampler(train_set)
    loader = DataLoader(train_set, batch_sampler=BatchSampler(sampler, 8, drop_last=True), collate_fn=collate)
    test_loader = DataLoader(test_set, batch_size=1, sampler=DistributedSampler(test_set, shuffle=False), collate_fn=collate)
    ddp = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD([p for p in ddp.parameters() if p.requires_grad], lr=0.02, momentum=0.9)
    sched = torch.optim.lr_scheduler.MultiStepLR(optimizer, [2])
    for epoch in range(3):
        sampler.set_epoch(epoch)
        ddp.train()
        warm = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.01, total_iters=9) if epoch == 0 else None
        for images, targets in loader:
            losses = ddp(images, targets)
            total = sum(losses.values())
            shown = reduce_dict(losses)
            optimizer.zero_grad()
            total.backward()
            optimizer.step()
            if warm is not None:
                warm.step()
        sched.step()
        ddp.eval()
        results = {}
        with torch.no_grad():
            for images, targets in test_loader:
                out = ddp(images)
                for o, t in zip(out, targets):
                    results[t["image_id"]] = (o - t["boxes"]).abs().mean().item()
        everything = [None] * dist.get_world_size()
        dist.all_gather_object(everything, results)
        merged = {k: v for part in everything for k, v in part.items()}
        if rank == 0:
            print(f"Epoch {epoch} loss {sum(shown.values()).item():.4f} test error {sum(merged.values()) / len(merged):.4f}")
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, "boxes.pt")
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
