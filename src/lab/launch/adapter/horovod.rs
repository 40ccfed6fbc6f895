//! Horovod's own examples: the synthetic benchmarks, MNIST, ImageNet.

use super::family::Family;

pub(super) const HOROVOD: Family = Family {
    name: "Horovod",
    lines: &[
        r"^Iter #(?P<step>\d+): (?P<rate>NUM) img/sec per (?:GPU|CPU)",
        r"^Img/sec per (?:GPU|CPU): (?P<rate>NUM) \+-",
        r"^Total img/sec on \d+ (?:GPU|CPU)\(s\): (?P<total_rate>NUM) \+-",
        r"^Step #(?P<step>\d+)\s+Loss: (?P<loss>NUM)",
        r"^Test set: Average loss: (?P<val_loss>NUM), Accuracy: (?P<val_accuracy_percent>NUM)%",
        // pytorch_imagenet_resnet50: bars, with the accuracy in per cent.
        r"^Train Epoch\s+#(?P<epoch>\d+):.*\| (?P<step>\d+)/(?P<steps>\d+) \[.*\bloss=(?P<loss>NUM), accuracy=(?P<accuracy_percent>NUM)",
        r"^Validate Epoch\s+#(?P<epoch>\d+):.*\bloss=(?P<val_loss>NUM), accuracy=(?P<val_accuracy_percent>NUM)",
    ],
    has_words: false,
};
