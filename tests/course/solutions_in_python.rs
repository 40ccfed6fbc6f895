//! The ten solutions in Python are the last one with later places put back, as the lab shows them.
//!
//! Never edits a program but with `HVD_LAB_DERIVE=write`, which writes the solutions 1 to 9 anew.

use hvd_lab_terminal::exercise::TEN_STEPS_IN_PYTHON;

const LAST: usize = 10;

fn path(last: usize) -> String {
    format!("{}/solutions/fashion_mnist_after_step_{last:02}.py", env!("HVD_LAB_CHECKOUT"))
}

#[test]
fn the_solutions_in_python_are_the_last_one_with_later_places_put_back() {
    for last in 1..LAST {
        let wanted = TEN_STEPS_IN_PYTHON.solution(last);
        if std::env::var("HVD_LAB_DERIVE").is_ok_and(|word| word == "write") {
            std::fs::write(path(last), &wanted).unwrap();
        }
        assert!(
            std::fs::read_to_string(path(last)).unwrap() == wanted,
            "{} has drifted. Change lessons/fashion_mnist.py and the last solution only, then: HVD_LAB_DERIVE=write cargo test \
             --test lab course::solutions",
            path(last)
        );
    }
}

#[test]
fn with_all_places_put_back_it_is_the_exercise() {
    // So the two differ in their places only.
    assert_eq!(TEN_STEPS_IN_PYTHON.solution(0), TEN_STEPS_IN_PYTHON.exercise);
}
