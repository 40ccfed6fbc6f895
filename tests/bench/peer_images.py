#!/usr/bin/env python3
"""The image pipeline's peers on one core: tf.data and torchvision with the same operations, by their CPU time.

    pip install tensorflow-cpu torch torchvision
    hvd-lab data make-images --out photos --images 64 && hvd-lab data tfrecord photos --out records
    python3 tests/bench/peer_images.py records photos
    cargo run --release --example bench-images -- records [--colour]
"""
import glob, os, sys, time

RECORDS, PHOTOS = sys.argv[1:3]
BATCH, SIDE, ROUNDS = 32, 224, 5


def tell(name, images, seconds):
    print(f"{name:45} {images / min(seconds):6.0f} images/s of a core", flush=True)


def tensorflow():
    os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1")
    import tensorflow as tf
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    sides = ["image/object/bbox/" + side for side in ("ymin", "xmin", "ymax", "xmax")]
    features = {"image/encoded": tf.io.FixedLenFeature([], tf.string), "image/class/label": tf.io.FixedLenFeature([1], tf.int64),
                **{side: tf.io.VarLenFeature(tf.float32) for side in sides}}

    def prepare(partial, colour):
        def one(record):
            row = tf.io.parse_single_example(record, features)
            jpeg = row["image/encoded"]
            boxes = tf.stack([row[side].values for side in sides], -1)[None]
            begin, size, _ = tf.image.sample_distorted_bounding_box(
                tf.io.extract_jpeg_shape(jpeg), boxes, min_object_covered=0.1, aspect_ratio_range=[0.8, 1.25],
                area_range=[0.1, 1.0], max_attempts=100, use_image_if_no_bounding_boxes=True)
            how = dict(channels=3, dct_method="INTEGER_FAST", fancy_upscaling=False)
            if partial:
                image = tf.io.decode_and_crop_jpeg(jpeg, tf.concat([begin[:2], size[:2]], 0), **how)
            else:
                image = tf.slice(tf.io.decode_jpeg(jpeg, **how), begin, size)
            image = tf.compat.v1.image.resize_images(image, [SIDE, SIDE], align_corners=False)
            image = tf.image.random_flip_left_right(image)
            if colour:
                image = tf.image.random_brightness(image / 255, 32 / 255)
                image = tf.image.random_saturation(image, 0.5, 1.5)
                image = tf.image.random_hue(image, 0.2)
                image = tf.image.random_contrast(image, 0.5, 1.5)
                image = tf.clip_by_value(image, 0, 1) * 255
            return image * (1 / 127.5) - 1, row["image/class/label"]
        return one

    for partial, colour in ((False, False), (True, False), (True, True)):
        data = tf.data.TFRecordDataset(sorted(glob.glob(RECORDS + "/train-*"))).repeat()
        data = data.map(prepare(partial, colour), num_parallel_calls=1).batch(BATCH)
        options = tf.data.Options()
        options.threading.private_threadpool_size = 1
        batches = iter(data.with_options(options))
        next(batches), next(batches)
        seconds = []
        for _ in range(ROUNDS):
            start = time.process_time()
            for _ in range(12):
                next(batches)
            seconds.append(time.process_time() - start)
        tell(f"tf.data {tf.__version__}{' partial' * partial}{' colour' * colour}", 12 * BATCH, seconds)


def torchvision():
    import torch
    import torchvision
    from torchvision.io import ImageReadMode, decode_jpeg
    from torchvision.transforms import v2
    torch.set_num_threads(1)
    files = sorted(glob.glob(PHOTOS + "/*/*.jpg"))
    for colour in (False, True):
        steps = [v2.RandomResizedCrop(SIDE, scale=(0.1, 1), ratio=(0.8, 1.25), antialias=False), v2.RandomHorizontalFlip()]
        steps += [v2.ColorJitter(32 / 255, 0.5, 0.5, 0.2)] * colour
        prepare = v2.Compose([*steps, v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.5] * 3, [0.5] * 3)])
        seconds = []
        for _ in range(ROUNDS + 1):
            start = time.process_time()
            for at in range(0, len(files), BATCH):
                bytes_of = [torchvision.io.read_file(file) for file in files[at:at + BATCH]]
                torch.stack([prepare(decode_jpeg(jpeg, mode=ImageReadMode.RGB)) for jpeg in bytes_of])
            seconds.append(time.process_time() - start)
        tell(f"torchvision {torchvision.__version__}{' colour' * colour}", len(files), seconds[1:])


# A process of its own for each: their libraries start threads of their own.
if len(sys.argv) > 3:
    globals()[sys.argv[3]]()
else:
    for peer in ("tensorflow", "torchvision"):
        if os.spawnvp(os.P_WAIT, sys.executable, [sys.executable, *sys.argv, peer]) != 0:
            print(f"{peer}: not measured")
