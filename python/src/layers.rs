//! Layers as a program in Python writes them down, one after the other, made into a network of the library's.

use anyhow::{Context, bail, ensure};
use hvd_lab::domain::images::InputShape;
use hvd_lab::domain::model::builder::{Builder, Definition};
use hvd_lab::domain::model::network::{Network, Value, Window};
use hvd_lab::domain::model::{ModelSpec, NamedSpec};

/// What a network is called that is none of the library's.
static OWN: Definition =
    Definition { name: "sequential", input: InputShape { channels: 1, height: 28, width: 28 }, classes: 10, features: images };

fn images(_: &mut Builder, images: Value) -> Value {
    images
}

/// One layer. A convolution and a dense layer end with a ReLU, but for the last layer, which gives the scores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Written {
    Conv { outputs: usize, window: Window },
    MaxPool(Window),
    Dropout(f64),
    Flatten,
    Dense(usize),
}

impl Written {
    /// `conv` [outputs, height, width, stride, 1 if it keeps the size], `max_pool` [height, width, stride, 1 if it keeps the size],
    /// `dropout` `[rate]`, `flatten` `[]`, `dense` `[outputs]`.
    ///
    /// # Errors
    /// If it is none of these, or a number is not one that the layer can have.
    pub fn read(kind: &str, numbers: &[f64]) -> anyhow::Result<Written> {
        let window = |height: f64, width: f64, stride: f64, same: f64| -> anyhow::Result<Window> {
            let [height, width, stride] = [count(height)?, count(width)?, count(stride)?];
            Ok(Window { height, width, stride, same: same > 0.0 })
        };
        Ok(match (kind, numbers) {
            ("conv", &[outputs, height, width, stride, same]) => {
                Written::Conv { outputs: count(outputs)?, window: window(height, width, stride, same)? }
            }
            ("max_pool", &[height, width, stride, same]) => Written::MaxPool(window(height, width, stride, same)?),
            ("dropout", &[rate]) if (0.0..1.0).contains(&rate) => Written::Dropout(rate),
            ("dropout", &[rate]) => {
                bail!("a dropout of {rate} is not possible: give a number from 0 up to, but not including, 1")
            }
            ("flatten", []) => Written::Flatten,
            ("dense", &[outputs]) => Written::Dense(count(outputs)?),
            _ => bail!("{kind} with the numbers {numbers:?} is not a layer"),
        })
    }

    fn add(self, net: &mut Builder, x: Value) -> Value {
        match self {
            Written::Conv { outputs, window } => net.conv(x, outputs, window),
            Written::MaxPool(window) => net.max_pool(x, window),
            Written::Dropout(rate) => net.dropout(x, rate),
            Written::Flatten => net.flatten(x),
            Written::Dense(outputs) => net.fully_connected(x, outputs),
        }
    }
}

/// More outputs, pixels or steps than any layer has that fits into memory.
const MOST: f64 = 1e6;

fn count(number: f64) -> anyhow::Result<usize> {
    ensure!(
        (1.0..=MOST).contains(&number) && number.fract() == 0.0,
        "{number} is not possible in a layer: give a whole number of 1 or more"
    );
    Ok(number as usize)
}

/// The network of these layers, for the images of a model of the library's. It has the name of a model that is the same network,
/// or else a name of its own.
///
/// # Errors
/// Layers that do not fit the images or each other.
pub fn network(input: InputShape, images_of: ModelSpec, layers: &[Written]) -> anyhow::Result<(NamedSpec, Network)> {
    ensure!(
        input == images_of.input(),
        "the first layer takes images of {input} (channels, height, width), and there are {}",
        images_of.input()
    );
    let Some((Written::Dense(classes), hidden)) = layers.split_last() else {
        bail!("the last layer has to give a score for each class: Dense({}, activation=\"softmax\")", images_of.classes())
    };
    ensure!(
        *classes == images_of.classes(),
        "the last layer has {classes} outputs, and there are {} classes: Dense({})",
        images_of.classes(),
        images_of.classes()
    );
    let network = chain(input, *classes, hidden)?;
    let spec = NamedSpec::all().find(|spec| spec.network(input).as_ref() == Some(&network));
    Ok((spec.unwrap_or(NamedSpec::of(&OWN)), network))
}

/// The network of these layers and one more that gives the scores, under a name that the program has for it.
///
/// # Errors
/// Layers that do not fit the images or each other.
pub fn features(name: &str, input: InputShape, classes: usize, hidden: &[Written]) -> anyhow::Result<(NamedSpec, Network)> {
    let network = chain(input, count(classes as f64)?, hidden)?;
    // Names of models live as long as the program. It has one.
    let name = Box::leak(name.to_owned().into_boxed_str());
    Ok((NamedSpec::of(Box::leak(Box::new(Definition { name, input, classes, features: images }))), network))
}

fn chain(input: InputShape, classes: usize, hidden: &[Written]) -> anyhow::Result<Network> {
    let mut is_flat = false;
    for layer in hidden {
        match layer {
            Written::Flatten => is_flat = true,
            Written::Dense(_) => ensure!(is_flat, "a Dense layer takes one line of numbers: put Flatten() before it"),
            Written::Conv { .. } | Written::MaxPool(_) => {
                ensure!(!is_flat, "this layer takes images, and stands behind Flatten()")
            }
            Written::Dropout(_) => {}
        }
    }
    let features = |net: &mut Builder, images| hidden.iter().fold(images, |x, layer| layer.add(net, x));
    Builder::build(input, classes, features)
        .with_context(|| format!("images of {}x{} pixels are too small for these layers", input.height, input.width))
}
