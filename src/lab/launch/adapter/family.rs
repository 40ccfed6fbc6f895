//! The families of programs whose lines look alike, and the shapes of those lines.

/// A family of programs that print alike.
pub(super) struct Family {
    pub name: &'static str,
    /// The shapes of its lines: the first that fits a line reads it. A group has the name of a field, perhaps with `_percent`.
    /// `total_rate` and `rate` are images a second, of all ranks or of one; `val` marks a line of validation. `NUM` is a number.
    pub lines: &'static [&'static str],
    /// Whether what a shape does not name may be looked for by its words.
    pub has_words: bool,
}

/// A line that two families could read belongs to the first one.
pub(super) const FAMILIES: [Family; 9] = [
    // tf_cnn_benchmarks, and NVIDIA's nvcnn, which prints much the same.
    Family {
        name: "tf_cnn_benchmarks",
        has_words: false,
        lines: &[
            // Step, Img/sec, total_loss; with --print_training_accuracy top_1 and top_5 as well.
            r"^(?P<step>\d+)\s+images/sec: (?P<rate>NUM) \+/- NUM \(jitter = NUM\)(?:\s+(?P<loss>NUM))?(?:\s+(?P<accuracy>NUM)\s+NUM)?\s*$",
            r"^total images/sec: (?P<total_rate>NUM)",
            // nvcnn, of all its GPUs
            r"^Images/sec: (?P<total_rate>NUM) \+/- NUM \(jitter = NUM\)",
            r"^Accuracy @ 1 = (?P<val_accuracy>NUM) Accuracy @ 5 = ",
        ],
    },
    // Horovod's own examples: the synthetic benchmarks, MNIST, ImageNet.
    Family {
        name: "Horovod",
        has_words: false,
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
    },
    // Keras 2 and 3: `model.fit` with any `verbose`, and what its callbacks print. hvd-train prints the same.
    Family {
        name: "Keras",
        has_words: true,
        lines: &[
            r"^Epoch (?P<epoch>\d+)/(?P<epochs>\d+)\s*$",
            // 468/468 [====] - 5s 10ms/step - loss: 0.3; 5/5 ━━━━ 0s 2ms/step - loss: 0.3; 5/5 - 0s - loss: 0.3
            r"^\s*(?P<step>\d+)/(?P<steps>\d+) (?:\[[=>.]+\]|[━╸╺][━╸╺ ]*|-)(?:.*\d(?:m?s|us)(?:/step|/epoch)?\b|.*ETA:).*",
            r"^Epoch 0*(?P<epoch>\d+): \w+ (?:improved from|did not improve|reached)\b",
        ],
    },
    // Hugging Face's Trainer: a dictionary a line; since transformers 5 its numbers are strings.
    Family {
        name: "Hugging Face",
        has_words: true,
        lines: &[
            r"^\{'eval_(?:.*?'eval_samples_per_second': '?(?P<val_images_per_sec>NUM))?.*?'epoch': '?(?P<epoch>NUM)'?(?P<val>)\}",
            r"^\{'train_runtime': .*'train_samples_per_second': '?(?P<total_rate>NUM)'?,.*'epoch': '?(?P<epoch>NUM)'?\}",
            r"^\{.*'loss': .*'epoch': '?(?P<epoch>NUM)'?\}",
        ],
    },
    // PyTorch Lightning: its bars by tqdm and by rich, and the table behind a test.
    Family {
        name: "Lightning",
        has_words: true,
        lines: &[
            r"^Epoch (?P<epoch>\d+):\s+\d+%\|.*\| (?P<step>\d+)/(?P<steps>\d+) \[",
            r"^Epoch (?P<epoch>\d+)(?:/\d+)?\s+[━╸╺ ]+(?P<step>\d+)/(?P<steps>\d+) ",
            r"^(?P<val>Validation|Validating|Testing|Sanity Checking)\b.*(?:\||━)",
            r"^\s*[│|]?\s*(?:test|val)_acc(?:uracy)?\s+[│|]?\s*(?P<val_accuracy>NUM)\s*[│|]?\s*$",
            r"^\s*[│|]?\s*(?:test|val)_loss\s+[│|]?\s*(?P<val_loss>NUM)\s*[│|]?\s*$",
        ],
    },
    // timm's train.py and validate.py: accuracies in per cent, the rate of all ranks behind the seconds of a batch.
    Family {
        name: "timm",
        has_words: true,
        lines: &[
            r"^Train: (?P<epoch>\d+) \[\s*(?P<step>\d+)/\s*(?P<steps>\d+)\s*\(\s*\d+%\)\]\s+Loss:\s*(?P<loss>NUM).*?(?:,\s*(?P<total_rate>NUM)/s)",
            r"^(?P<val>Test(?: \(EMA\))?): \[\s*(?P<step>\d+)/\s*(?P<steps>\d+)\]\s+Time: .*Loss:",
            r"^\s*\* Acc@1 (?P<val_accuracy_percent>NUM) \(NUM\) Acc@5 ",
        ],
    },
    // Ultralytics' YOLO and YOLOv5: a row of a table with a bar for each epoch, with one loss or several.
    Family {
        name: "Ultralytics",
        has_words: false,
        lines: &[
            r"^\s+(?P<epoch>\d+)/(?P<epochs>\d+)\s+[\d.]+G\s+(?P<loss>NUM)\s+\d+\s+\d+:\s+\d+%.*\s(?P<step>\d+)/(?P<steps>\d+)\b",
            r"^\s+(?P<epoch>\d+)/(?P<epochs>\d+)\s+[\d.]+G\s+(?:NUM\s+)+\d+:\s+\d+%.*\s(?P<step>\d+)/(?P<steps>\d+)\b",
            // Of a classification: the accuracy by the first guess, and by five.
            r"^\s+all\s+(?P<val_accuracy>[01](?:\.\d+)?)\s+[01](?:\.\d+)?\s*$",
            r"^\s+(?:all|[a-z ]+)\s+\d+\s+\d+(?:\s+NUM){4,}\s*$",
        ],
    },
    // DeepSpeed: the rates of its timer and of its pipelines are of all ranks.
    Family {
        name: "DeepSpeed",
        has_words: false,
        lines: &[
            r"\bepoch=(?P<epoch>\d+)/micro_step=\d+/global_step=(?P<step>\d+), RunningAvgSamplesPerSec=(?P<total_rate>NUM)",
            r"^steps: (?P<step>\d+) loss: (?P<loss>NUM) .*iter time \(s\): NUM samples/sec: (?P<total_rate>NUM)",
        ],
    },
    // PyTorch's own examples: MNIST, ImageNet, torchvision's references, the tutorials.
    Family {
        name: "PyTorch examples",
        has_words: true,
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
    },
];
