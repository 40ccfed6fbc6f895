"""Rank 0 alone evaluates, on the whole test set, while the others wait."""
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    right = total = 0
    for images, labels in loader:
        right += (model(images).argmax(dim=1) == labels).sum().item()
        total += labels.numel()
    return right / total


def main():
    dist.init_process_group(backend="gloo")
    is_main = dist.get_rank() == 0
    torch.manual_seed(21)
    images = torch.rand(448, 3, 8, 8)
    labels = (images.mean((1, 2, 3)) * 40).long() % 4
    train_ds, test_ds = TensorDataset(images[:320], labels[:320]), TensorDataset(images[320:], labels[320:])
    train_sampler = DistributedSampler(train_ds)
    train_loader = DataLoader(train_ds, batch_size=16, sampler=train_sampler, drop_last=True)
    test_loader = DataLoader(test_ds, batch_size=64, shuffle=False)
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4))
    ddp = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    best = 0.0
    for epoch in range(3):
        train_sampler.set_epoch(epoch)
        ddp.train()
        for images, labels in train_loader:
            loss = nn.functional.cross_entropy(ddp(images), labels)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
        if is_main:
            accuracy = evaluate(ddp.module, test_loader)
            print(f"Epoch: {epoch} Acc: {accuracy:.4f}")
            if accuracy >= best:
                best = accuracy
                torch.save({"epoch": epoch, "state_dict": ddp.module.state_dict()}, "best.pth")
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
