//! The models with a fixed name: a row each in `DEFINITIONS`.

use std::fmt;

use super::builder::{Builder, Definition};
use super::network::Network;
use super::{alexnet, inception, lenet, mnist_cnn, resnet, trivial, vgg};
use crate::domain::images::InputShape;

static DEFINITIONS: [&Definition; 8] = [
    &mnist_cnn::MNIST_CNN,
    &lenet::LENET,
    &trivial::TRIVIAL,
    &alexnet::ALEXNET,
    &resnet::RESNET50,
    &resnet::RESNET101,
    &inception::INCEPTION3,
    &vgg::VGG16,
];

/// A row of `DEFINITIONS`.
#[derive(Clone, Copy)]
pub struct NamedSpec(pub(super) &'static Definition);

impl NamedSpec {
    /// Their names, for messages.
    pub(super) const FORM: &'static str = "mnist-cnn, lenet, trivial, alexnet, resnet50, resnet101, inception3 or vgg16";
    pub const MNIST_CNN: NamedSpec = NamedSpec(&mnist_cnn::MNIST_CNN);
    pub const ALEXNET: NamedSpec = NamedSpec(&alexnet::ALEXNET);

    /// A model that has no row in `DEFINITIONS`, such as one that a program writes down itself.
    pub const fn of(definition: &'static Definition) -> NamedSpec {
        NamedSpec(definition)
    }

    /// All of them, from small to large.
    pub fn all() -> impl Iterator<Item = NamedSpec> {
        DEFINITIONS.iter().map(|definition| NamedSpec(definition))
    }

    /// Its layers for images of this shape; nothing if they are too small for them.
    pub fn network(self, input: InputShape) -> Option<Network> {
        Builder::build(input, self.0.classes, self.0.features)
    }

    pub(super) fn parse(name: &str) -> Option<NamedSpec> {
        NamedSpec::all().find(|spec| spec.0.name == name)
    }
}

impl PartialEq for NamedSpec {
    fn eq(&self, other: &NamedSpec) -> bool {
        self.0.name == other.0.name
    }
}

impl Eq for NamedSpec {}

impl fmt::Debug for NamedSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name)
    }
}

impl fmt::Display for NamedSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::model::ModelSpec;

    #[test]
    fn every_name_is_in_the_message_that_lists_them() {
        let listed: Vec<&str> = NamedSpec::FORM.split([',', ' ']).filter(|word| !["", "or"].contains(word)).collect();
        assert!(NamedSpec::all().map(|spec| spec.0.name).eq(listed));
    }

    #[test]
    fn parameters_are_as_many_as_in_the_references() {
        // torchvision 0.26 (inception3 without its second head), nvcnn (alexnet, lenet, trivial), Keras' mnist_cnn.
        let published = [
            ("mnist-cnn", 1_199_882),
            ("lenet", 1_663_370),
            ("trivial", 152_529),
            ("alexnet", 61_100_840),
            ("resnet50", 25_557_032),
            ("resnet101", 44_549_160),
            ("inception3", 23_834_568),
            ("vgg16", 138_357_544),
        ];
        for (spec, (name, parameters)) in NamedSpec::all().zip(published) {
            assert_eq!((spec.to_string().as_str(), ModelSpec::Named(spec).parameters()), (name, parameters));
        }
    }
}
