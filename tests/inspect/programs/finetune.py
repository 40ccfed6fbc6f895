"""Trains a new head and the last block of a network whose first layers are frozen, with a rate for each."""
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU())
        self.block = nn.Sequential(nn.Conv2d(8, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        return self.head(self.block(self.backbone(x)))


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(123)
    model = Net()
    for p in model.backbone.parameters():
        p.requires_grad = False
    ddp = DDP(model)
    groups = [{"params": model.block.parameters(), "lr": 1e-3}, {"params": model.head.parameters(), "lr": 1e-2}]
    optimizer = torch.optim.SGD(groups, lr=1e-2, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=3)
    images, labels = torch.randn(256, 3, 10, 10), torch.randint(0, 5, (256,))
    data = TensorDataset(images, labels)
    sampler = DistributedSampler(data, world, rank)
    loader = DataLoader(data, batch_size=32, sampler=sampler, num_workers=0)
    for epoch in range(3):
        loader.sampler.set_epoch(epoch)
        ddp.train()
        correct = torch.tensor(0)
        for image, label in loader:
            out = ddp(image)
            loss = nn.functional.cross_entropy(out, label, label_smoothing=0.1)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            correct += (out.argmax(1) == label).sum()
        scheduler.step()
        dist.all_reduce(correct)
        if rank == 0:
            print(f"Epoch {epoch}: train accuracy {correct.item() / len(data):.3f}")
    if rank == 0:
        torch.save(ddp.module.head.state_dict(), "head.pt")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
