//! Choices by name: the macro that makes such enums, and the choices of a benchmark.

/// Makes an enum whose values have names: in flags, in records, and in what refuses others.
macro_rules! choices {
    ($(#[$doc:meta])* $name:ident ($what:literal) { $($(#[$value_doc:meta])* $value:ident = $text:literal,)+ }) => {
        $crate::named! {
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
            #[serde(try_from = "String", into = "String")]
            $name { $($(#[$value_doc])* $value = $text,)+ }
        }

        impl $name {
            pub fn names() -> Vec<String> {
                $name::ALL.iter().map($name::to_string).collect()
            }
        }

        impl std::str::FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<$name, String> {
                let found = $name::ALL.iter().copied().find(|value| value.name() == text);
                let names = || $name::ALL.iter().map(|value| value.name()).collect::<Vec<_>>().join(", ");
                found.ok_or_else(|| format!(concat!("`{}` is not ", $what, ": use {}"), text, names()))
            }
        }

        impl crate::domain::setting::Named for $name {}

        crate::domain::named::as_text!($name);

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

pub(in crate::domain) use choices;

choices! {
    /// Whose lines are printed, and whose defaults hold.
    Style("a style") {
        /// Horovod's examples/pytorch/pytorch_synthetic_benchmark.py.
        Horovod = "horovod",
        /// tf_cnn_benchmarks.py of github.com/tensorflow/benchmarks.
        TfCnn = "tf-cnn",
        /// nvcnn_hvd_simplified.py of NVIDIA's lab.
        Nvcnn = "nvcnn",
        /// One JSON object at the end.
        Json = "json",
    }
}

choices! {
    /// In what numbers the model computes.
    #[derive(Default)]
    NumberFormat("a precision") {
        #[default]
        Fp32 = "fp32",
        Tf32 = "tf32",
        Bf16 = "bf16",
    }
}

impl NumberFormat {
    /// Whether the trainer computes in it without being asked.
    pub fn is_default(&self) -> bool {
        *self == NumberFormat::default()
    }

    /// Why it cannot be used on a host with this number of GPUs.
    pub fn misfit(self, gpus: usize) -> Option<String> {
        (self == NumberFormat::Tf32 && gpus == 0)
            .then(|| "--precision tf32 needs an NVIDIA GPU: use fp32 or bf16 here".to_owned())
    }
}

choices! {
    /// The optimizer.
    UpdateRule("an optimizer of a benchmark") {
        /// Plain SGD, as Horovod's benchmark has it.
        Sgd = "sgd",
        /// SGD with a momentum of 0.9.
        Momentum = "momentum",
    }
}

choices! {
    /// Which cores a rank may run on.
    Binding("a binding") {
        /// Each rank takes an equal share of the cores that it finds, as hvd-train does.
        Share = "share",
        /// Any core that the launcher may use.
        Unbound = "none",
        Hwthread = "hwthread",
        Core = "core",
        L3Cache = "l3cache",
        Numa = "numa",
        Package = "package",
    }
}

impl UpdateRule {
    pub fn momentum(self) -> f64 {
        match self {
            UpdateRule::Sgd => 0.0,
            UpdateRule::Momentum => 0.9,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_written_as_they_are_read() {
        assert_eq!("tf-cnn".parse(), Ok(Style::TfCnn));
        assert_eq!("sneeze".parse::<Style>().unwrap_err(), "`sneeze` is not a style: use horovod, tf-cnn, nvcnn, json");
        assert_eq!(serde_json::to_string(&Binding::Unbound).unwrap(), r#""none""#);
        assert_eq!(serde_json::from_str::<Binding>(r#""numa""#).unwrap(), Binding::Numa);
        assert!(serde_json::from_str::<NumberFormat>(r#""fp64""#).is_err());
    }
}
