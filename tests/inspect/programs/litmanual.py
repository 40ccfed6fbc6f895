"""Lightning with a loop of its own for two optimizers: an encoder and a head, each with its own rate."""
import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class TwoParts(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.encoder = nn.Sequential(nn.Linear(8, 16), nn.Tanh())
        self.head = nn.Linear(16, 1)

    def configure_optimizers(self):
        return torch.optim.Adam(self.encoder.parameters(), lr=1e-3), torch.optim.SGD(self.head.parameters(), lr=1e-2)

    def training_step(self, batch, index):
        x, y = batch
        loss = (self.head(self.encoder(x)) - y).pow(2).mean()
        optimizers = self.optimizers()
        for optimizer in optimizers:
            optimizer.zero_grad()
        self.manual_backward(loss)
        for optimizer in optimizers:
            optimizer.step()
        return loss

    def validation_step(self, batch, index):
        x, y = batch
        out = self.head(self.encoder(x))
        self.log("val_loss", (out - y).pow(2).mean(), sync_dist=True)
        self.log("val_error", (out - y).abs().mean(), sync_dist=True)


def main():
    g = torch.Generator().manual_seed(3)
    x = torch.randn(288, 8, generator=g)
    y = x.prod(1, keepdim=True)
    train = DataLoader(TensorDataset(x[:224], y[:224]), batch_size=16, shuffle=True)
    held_out = DataLoader(TensorDataset(x[224:], y[224:]), batch_size=16)
    trainer = L.Trainer(
        accelerator="cpu", devices=2, strategy="ddp", max_epochs=3, logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
    )
    trainer.fit(TwoParts(), train, held_out)


if __name__ == "__main__":
    main()
