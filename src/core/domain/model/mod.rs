//! The models by name, as the command line spells them, and what each takes and gives.
//!
//! Never computes with one: the trainer does. A new model is a file here that writes its layers down with [`builder::Builder`],
//! and a row in `named`.

mod alexnet;
pub mod builder;
mod inception;
mod lenet;
mod mnist_cnn;
mod named;
pub mod network;
mod resnet;
mod trivial;
mod vgg;
mod wide_resnet;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use self::named::NamedSpec;
pub use self::wide_resnet::WideResNetSpec;
use super::images::InputShape;

/// Weights, gradients and the state of an optimizer would take ten times as many bytes and more: no machine holds that.
const MAX_PARAMETERS: u64 = 10_000_000_000;

/// A model by its family and sizes. As text: its name, such as `wrn-16-10`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum ModelSpec {
    /// The lab's Wide ResNet.
    WideResNet(WideResNetSpec),
    /// Models with a fixed name.
    Named(NamedSpec),
}

/// No published model takes larger images.
pub(super) const MAX_IMAGE_SIZE: usize = 4096;

impl ModelSpec {
    /// The smallest model of each family: what holds for all models is tested on these.
    pub const SMALLEST: [ModelSpec; 2] = [ModelSpec::wrn(10, 1), ModelSpec::MNIST_CNN];
    /// Keras' and Horovod's CNN for handwritten digits.
    pub const MNIST_CNN: ModelSpec = ModelSpec::Named(NamedSpec::MNIST_CNN);
    /// nvcnn's AlexNet.
    pub const ALEXNET: ModelSpec = ModelSpec::Named(NamedSpec::ALEXNET);

    /// The Wide ResNet of this depth and width.
    pub const fn wrn(depth: usize, width: usize) -> ModelSpec {
        ModelSpec::WideResNet(WideResNetSpec { depth, width })
    }

    /// The images that it is made for.
    pub fn input(self) -> InputShape {
        match self {
            ModelSpec::WideResNet(spec) => spec.input(),
            ModelSpec::Named(spec) => spec.0.input,
        }
    }

    /// The numbers that it learns from images of this shape; nothing if they are too small for its layers.
    pub fn parameters_at(self, input: InputShape) -> Option<u64> {
        match self {
            ModelSpec::WideResNet(spec) => spec.parameters(input),
            ModelSpec::Named(spec) => spec.network(input).map(|network| network.parameters()),
        }
    }

    /// How many classes it has.
    pub fn classes(self) -> usize {
        match self {
            ModelSpec::WideResNet(spec) => spec.classes(),
            ModelSpec::Named(spec) => spec.0.classes,
        }
    }

    /// All models with a fixed name, from small to large.
    pub fn named() -> impl Iterator<Item = ModelSpec> {
        NamedSpec::all().map(ModelSpec::Named)
    }

    /// The names that a form offers: some Wide ResNets, whose sizes are in their names, and all with a fixed name.
    pub fn choices() -> Vec<String> {
        let sized = ["wrn-10-1", "wrn-16-1", "wrn-16-4", "wrn-28-10"].map(str::to_owned);
        sized.into_iter().chain(ModelSpec::named().map(|model| model.to_string())).collect()
    }

    /// The numbers that it learns from the images that it is made for.
    pub fn parameters(self) -> u64 {
        self.parameters_at(self.input()).unwrap_or(0)
    }

    /// The images that it takes when they are to be squares of this size; without one, those that it is made for.
    ///
    /// # Errors
    /// If the images are too small for its layers, or so large that no machine could hold the model.
    pub fn input_at(self, image_size: Option<usize>) -> Result<InputShape, String> {
        let Some(size) = image_size else { return Ok(self.input()) };
        let square = |size| InputShape { height: size, width: size, ..self.input() };
        if size > MAX_IMAGE_SIZE {
            return Err(format!("images of {size} pixels are too large: use at most {MAX_IMAGE_SIZE}"));
        }
        match self.parameters_at(square(size)) {
            Some(0..=MAX_PARAMETERS) => Ok(square(size)),
            Some(many) => Err(format!(
                "{self} would have {} billion parameters with images of {size} pixels: use smaller ones, such as {}",
                many / 1_000_000_000,
                self.input().height
            )),
            None => {
                let least = (size..MAX_IMAGE_SIZE).find(|&size| self.parameters_at(square(size)).is_some());
                let least = least.unwrap_or(self.input().height);
                Err(format!("images of {size} pixels are too small for {self}: use {least} or more"))
            }
        }
    }
}

impl fmt::Display for ModelSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ModelSpec::WideResNet(WideResNetSpec { depth, width }) => write!(f, "wrn-{depth}-{width}"),
            ModelSpec::Named(spec) => spec.fmt(f),
        }
    }
}

impl crate::domain::setting::Named for ModelSpec {}

impl FromStr for ModelSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<ModelSpec, String> {
        let sized = WideResNetSpec::parse(text).map(ModelSpec::WideResNet);
        let model = sized.or_else(|| NamedSpec::parse(text).map(ModelSpec::Named));
        match model.map(|model| (model, model.parameters())) {
            Some((model, 0..=MAX_PARAMETERS)) => Ok(model),
            Some((_, many)) => Err(format!(
                "`{text}` would have {} billion parameters, more than the {} billion that a machine may hold: use a smaller one, such \
                 as {}",
                many / 1_000_000_000,
                MAX_PARAMETERS / 1_000_000_000,
                ModelSpec::SMALLEST[0]
            )),
            None => Err(format!("`{text}` is not a model: use {}; or {}", WideResNetSpec::FORM, NamedSpec::FORM)),
        }
    }
}

super::named::as_text!(ModelSpec);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_named_by_depth_and_width() {
        assert_eq!("wrn-16-10".parse(), Ok(ModelSpec::wrn(16, 10)));
        for bad in ["wrn-12-1", "wrn-4-1", "wrn-16", "resnet-50", "wrn-16-0", "wrn--1", "wrn-16-10-1", ""] {
            assert!(bad.parse::<ModelSpec>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_model_that_no_machine_holds_is_refused_by_name() {
        assert_eq!(ModelSpec::wrn(16, 10).parameters(), 17_121_962, "as published");
        let refused = "wrn-1000-64".parse::<ModelSpec>().unwrap_err();
        assert!(refused.starts_with("`wrn-1000-64` would have ") && refused.contains("billion parameters"), "{refused}");
        for fine in ["wrn-1000-1", "wrn-28-10", "wrn-10-64"] {
            assert!(fine.parse::<ModelSpec>().is_ok(), "{fine}");
        }
    }

    #[test]
    fn every_name_is_read_back() {
        for spec in ModelSpec::SMALLEST.into_iter().chain(ModelSpec::named()) {
            assert_eq!(spec.to_string().parse(), Ok(spec));
            assert!(spec.input().numbers() > 0 && spec.classes() > 1, "{spec}");
            assert_eq!(serde_json::to_value(spec).unwrap(), spec.to_string());
        }
        let unknown = "resnet-50".parse::<ModelSpec>().unwrap_err();
        assert!(unknown.contains("wrn-DEPTH-WIDTH") && unknown.contains("resnet50"), "{unknown}");
    }

    #[test]
    fn a_model_takes_images_of_another_size_as_far_as_its_layers_allow() {
        let at = |name: &str, size| {
            let spec: ModelSpec = name.parse().unwrap();
            spec.input_at(size).map(|input| (input.to_string(), spec.parameters_at(input).unwrap()))
        };
        assert_eq!(at("resnet50", None), Ok(("3x224x224".to_owned(), 25_557_032)));
        assert_eq!(at("resnet50", Some(64)), Ok(("3x64x64".to_owned(), 25_557_032)), "the same at any size");
        assert_eq!(at("alexnet", Some(67)), Ok(("3x67x67".to_owned(), 61_100_840 - 35 * 256 * 4096)));
        assert_eq!(at("wrn-10-1", Some(32)), Ok(("1x32x32".to_owned(), ModelSpec::wrn(10, 1).parameters())));
        let too_small = "images of 66 pixels are too small for alexnet: use 67 or more";
        assert_eq!(at("alexnet", Some(66)), Err(too_small.to_owned()));
        for (name, size, least) in [("vgg16", 31, "32"), ("inception3", 10, "75"), ("mnist-cnn", 0, "6"), ("wrn-10-1", 3, "4")] {
            let refused = at(name, Some(size)).unwrap_err();
            assert!(refused.ends_with(&format!("too small for {name}: use {least} or more")), "{refused}");
        }
        assert!(at("trivial", Some(0)).unwrap_err().ends_with("use 1 or more"));
        assert!(at("alexnet", Some(4000)).unwrap_err().contains("billion parameters"));
        assert_eq!(at("resnet50", Some(5000)), Err("images of 5000 pixels are too large: use at most 4096".to_owned()));
    }
}
