"""Lightning Fabric around a loop of the program's own."""

import torch, torch.nn as nn
from lightning.fabric import Fabric
from torch.utils.data import DataLoader, TensorDataset


def main():
    fabric = Fabric(accelerator="cpu", devices=2, strategy="ddp")
    fabric.launch()
    fabric.seed_everything(3)
    g = torch.Generator().manual_seed(0)
    train = TensorDataset(torch.randn(320, 12, generator=g), torch.randint(0, 4, (320,), generator=g))
    val = TensorDataset(torch.randn(96, 12, generator=g), torch.randint(0, 4, (96,), generator=g))
    model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 4))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    model, optimizer = fabric.setup(model, optimizer)
    loader = DataLoader(train, 16, shuffle=True)
    vloader = DataLoader(val, 16)
    loader, vloader = fabric.setup_dataloaders(loader, vloader)
    for epoch in range(3):
        model.train()
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            fabric.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        model.eval()
        hits = torch.zeros(2)
        with torch.no_grad():
            for x, y in vloader:
                hits += torch.tensor([(model(x).argmax(1) == y).sum().item(), len(y)])
        hits = fabric.all_reduce(hits, reduce_op="sum")
        fabric.print(f"epoch {epoch}: accuracy {(hits[0] / hits[1]).item():.3f}")
        fabric.save("fabric.ckpt", {"model": model, "optimizer": optimizer})


if __name__ == "__main__":
    main()
