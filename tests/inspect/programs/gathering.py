"""Accelerate: gradients of two batches are put together, samples get noise from NumPy, and a validation is gathered."""
import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Noisy(Dataset):
    def __init__(self, count, seed, noise):
        x = np.random.RandomState(seed).randn(count, 10).astype("float32")
        self.x, self.y, self.noise = x, (x.sum(axis=1) > 0).astype("int64"), noise

    def __len__(self):
        return len(self.x)

    def __getitem__(self, at):
        noise = np.random.normal(0, 0.05, self.x[at].shape).astype("float32") if self.noise else 0
        return torch.as_tensor(self.x[at] + noise), self.y[at]


def accuracy(accelerator, model, loader):
    model.eval()
    right = count = 0
    with torch.no_grad():
        for x, y in loader:
            told, y = accelerator.gather_for_metrics((model(x).argmax(1), y))
            right, count = right + (told == y).sum().item(), count + len(y)
    return right / count


def main():
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    set_seed(3)
    train = DataLoader(Noisy(320, 1, True), batch_size=10, shuffle=True)
    test = DataLoader(Noisy(101, 2, False), batch_size=10)
    model = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    model, optimizer, train, test = accelerator.prepare(model, optimizer, train, test)
    np.random.seed(3 + accelerator.process_index)
    for epoch in range(3):
        model.train()
        for x, y in train:
            with accelerator.accumulate(model):
                loss = nn.functional.cross_entropy(model(x), y)
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
        accelerator.print("epoch", epoch, "accuracy", accuracy(accelerator, model, test))
    accelerator.end_training()


if __name__ == "__main__":
    main()
