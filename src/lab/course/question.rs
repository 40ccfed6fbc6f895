//! A question that a learner answers before a run, and the feedback to the answer.

use serde::{Deserialize, Serialize};

/// One question with its answer. Whole by construction: every option has its feedback, and one of them is right.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    pub text: String,
    pub answer: Answer,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// `feedback` has one text for each option; `right` is the index of an option.
    Choice { options: Vec<String>, right: usize, feedback: Vec<String> },
    /// Right within `tolerance`, absolute. Feedback for right, too low and too high.
    Number { right: f64, tolerance: f64, feedback: [String; 3] },
}

/// Which question: its lesson, and its place there from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct QuestionId {
    pub lesson: usize,
    pub question: usize,
}

/// An answer to a question.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Prediction {
    /// Index of an option, from 0.
    Choice(usize),
    Number(f64),
}

/// Whether a prediction is right, and the feedback to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judgement<'a> {
    pub is_right: bool,
    pub feedback: &'a str,
}

impl Judgement<'_> {
    /// Most answers to a right prediction begin with the word themselves.
    pub fn in_words(&self) -> String {
        let verdict = if self.is_right { "Right" } else { "Not quite" };
        if self.feedback.starts_with(verdict) { self.feedback.to_owned() } else { format!("{verdict}: {}", self.feedback) }
    }
}

impl Question {
    /// `None` for a prediction of the other kind, an option that is not there, or no number.
    pub fn judge(&self, prediction: Prediction) -> Option<Judgement<'_>> {
        match (&self.answer, prediction) {
            (Answer::Choice { right, feedback, .. }, Prediction::Choice(index)) => {
                Some(Judgement { is_right: index == *right, feedback: feedback.get(index)? })
            }
            (Answer::Number { right, tolerance, feedback }, Prediction::Number(number)) if !number.is_nan() => {
                let is_right = (number - right).abs() <= *tolerance;
                let index = match (is_right, number < *right) {
                    (true, _) => 0,
                    (false, true) => 1,
                    (false, false) => 2,
                };
                Some(Judgement { is_right, feedback: &feedback[index] })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feedback<const N: usize>() -> [String; N] {
        std::array::from_fn(|index| format!("feedback {index}"))
    }

    #[test]
    fn every_option_has_feedback_of_its_own() {
        let options = feedback::<2>().to_vec();
        let question = Question { text: "?".into(), answer: Answer::Choice { feedback: options.clone(), options, right: 1 } };
        let judge = |index| question.judge(Prediction::Choice(index)).map(|judged| (judged.is_right, judged.feedback));
        assert_eq!((judge(0), judge(1), judge(2)), (Some((false, "feedback 0")), Some((true, "feedback 1")), None));
        assert_eq!(question.judge(Prediction::Number(1.0)), None);
    }

    #[test]
    fn numbers_are_right_within_their_tolerance() {
        let question =
            Question { text: "?".into(), answer: Answer::Number { right: 29.0, tolerance: 0.5, feedback: feedback() } };
        let judge = |number| question.judge(Prediction::Number(number)).map(|judged| judged.feedback);
        let said = [29.0, 29.5, 28.0, 118.0, f64::NAN].map(judge);
        assert_eq!(said, [Some("feedback 0"), Some("feedback 0"), Some("feedback 1"), Some("feedback 2"), None]);
    }
}
