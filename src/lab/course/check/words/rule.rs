//! Updates that do not follow the rule of their optimizer, in words.

use super::super::numbers::digits;

pub fn not_sgd(who: &str, lr: f64) -> String {
    format!(
        "the weights of {who} after the first update are not the weights before it minus {} times the gradients: let the optimizer alone \
         change them",
        digits(lr)
    )
}

/// How far weights moved in an update, where NovoGrad moves them otherwise.
#[derive(Clone, Copy)]
pub enum Astray {
    AsSgd,
    /// So many times as far.
    Times(f64),
    /// A weight that moved by so much, and its move by the rule.
    Otherwise(f64, f64),
}

/// In an update, counted from 1.
pub fn not_novograd(who: &str, update: usize, how: Astray) -> String {
    let how = match how {
        Astray::AsSgd => "the weights moved by the rate times the gradient, as SGD moves them".into(),
        Astray::Times(times) => format!("the weights moved {times:.3} times as far as by the rule"),
        Astray::Otherwise(made, rule) => {
            format!("a weight moved by {}, and by the rule it moves by {}", digits(made), digits(rule))
        }
    };
    format!(
        "the optimizer of {who} calls itself NovoGrad and does not follow its rule: in update {update}, {how}. Use the NovoGrad of the \
         library"
    )
}
