//! PyTorch's own examples: MNIST, ImageNet, torchvision's references, the tutorials.

use super::family::Family;

pub(super) const PYTORCH: Family = Family {
    name: "PyTorch examples",
    lines: &[
        // mnist: the step counts images.
        r"^Train Epoch: (?P<epoch>\d+) \[\s*(?P<step>\d+)/(?P<steps>\d+) \(\s*\d+%\)\]\s+Loss: (?P<loss>NUM)",
        r"^Test set: Average loss: (?P<val_loss>NUM), Accuracy: \d+/\d+ \((?P<val_accuracy_percent>NUM)%\)",
        // imagenet and torchvision's references
        r"^Epoch: \[(?P<epoch>\d+)\]\s*\[\s*(?P<step>\d+)/\s*(?P<steps>\d+)\]",
        r"^(?P<val>Test): ?(?:EMA)?\s*\[\s*(?P<step>\d+)/\s*(?P<steps>\d+)\]",
        r"^(?P<val>Test): ?(?:EMA)?\s+Acc@1 (?P<val_accuracy_percent>NUM)",
        r"^\s*\*\s+(?:Prec|Acc)@1 (?P<val_accuracy_percent>NUM)",
        // the tutorials: quickstart, CIFAR10, which Swin and ConvNeXt print as well
        r"^ Accuracy: (?P<val_accuracy_percent>NUM)%, Avg loss: (?P<val_loss>NUM)(?P<val>)",
        r"^\[(?P<epoch>\d+),\s+(?P<step>\d+)\] loss: (?P<loss>NUM)",
        r"Accuracy of the (?:network|model)(?: EMA)? on (?:the )?\d+ test images: (?P<val_accuracy_percent>NUM) ?%(?P<val>)",
        // the tutorials of DistributedDataParallel: how many there will be
        r"^\[GPU\d+\] Epoch (?P<epoch>\d+) \| Batchsize: \d+ \| Steps: (?P<steps>\d+)",
    ],
    has_words: true,
};
