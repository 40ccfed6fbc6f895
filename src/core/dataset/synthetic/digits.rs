//! Digits as people write them with a pen: strokes whose corners, width, size, place and slant vary.

use super::canvas::{Canvas, Cloth, Ink, Point, Pose};
use super::dice::Dice;

/// One line of the pen.
type Stroke = &'static [Point];

/// The ways to write each digit: -1 to 1 across, -1 (top) to 1 down.
const FORMS: [&[&[Stroke]]; 10] = [
    &[&[RING], &[NARROW_RING]],
    &[
        &[&[(0.0, -1.0), (0.0, 1.0)]],
        &[&[(-0.45, -0.5), (0.1, -1.0), (0.1, 1.0)]],
        &[&[(-0.4, -0.6), (0.0, -1.0), (0.0, 1.0)], FOOT],
    ],
    &[
        &[&[(-0.6, -0.55), (-0.3, -0.95), (0.3, -0.95), (0.6, -0.5), (0.3, 0.1), (-0.65, 0.95), (0.7, 0.95)]],
        &[&[(-0.6, -0.6), (-0.1, -1.0), (0.5, -0.7), (0.35, -0.05), (-0.4, 0.7), (-0.6, 0.95), (-0.2, 0.7), (0.7, 0.95)]],
    ],
    &[
        &[&[
            (-0.6, -0.8),
            (0.0, -1.0),
            (0.5, -0.7),
            (0.4, -0.2),
            (-0.1, -0.05),
            (0.5, 0.15),
            (0.6, 0.65),
            (0.1, 1.0),
            (-0.6, 0.8),
        ]],
        &[&[(-0.6, -0.95), (0.5, -0.95), (-0.1, -0.15), (0.5, 0.1), (0.55, 0.65), (0.0, 1.0), (-0.6, 0.8)]],
    ],
    &[
        &[&[(-0.5, -0.95), (-0.65, 0.1), (0.6, 0.1)], &[(0.35, -0.5), (0.3, 1.0)]],
        &[&[(0.3, -1.0), (-0.7, 0.3), (0.7, 0.3)], &[(0.3, -1.0), (0.3, 1.0)]],
    ],
    &[
        &[&[(0.55, -0.95), (-0.45, -0.95), (-0.5, -0.1), (0.2, -0.2), (0.6, 0.25), (0.45, 0.8), (-0.1, 1.0), (-0.6, 0.8)]],
        &[&[(-0.4, -0.9), (-0.5, -0.1), (0.2, -0.15), (0.55, 0.35), (0.3, 0.9), (-0.5, 0.95)], &[(-0.4, -0.9), (0.6, -0.95)]],
    ],
    &[
        &[&[(0.4, -0.95), (-0.3, -0.4), (-0.6, 0.35), (-0.3, 0.9), (0.25, 0.95), (0.55, 0.5), (0.2, 0.05), (-0.55, 0.35)]],
        &[&[(0.05, -1.0), (-0.5, 0.2), (-0.4, 0.85), (0.2, 1.0), (0.5, 0.6), (0.2, 0.2), (-0.5, 0.45)]],
    ],
    &[
        &[&[(-0.65, -0.9), (0.6, -0.9), (-0.1, 1.0)]],
        &[&[(-0.65, -0.9), (0.6, -0.9), (0.0, 1.0)], &[(-0.25, 0.0), (0.5, 0.0)]],
        &[&[(-0.65, -0.6), (-0.6, -0.9), (0.6, -0.95), (0.2, 0.0), (0.1, 1.0)]],
    ],
    &[
        &[UPPER_LOOP, LOWER_LOOP],
        &[&[(0.45, -0.75), (0.0, -1.0), (-0.45, -0.65), (0.45, 0.45), (0.1, 0.95), (-0.4, 0.75), (0.45, -0.75)]],
    ],
    &[
        &[UPPER_LOOP, &[(0.45, -0.6), (0.4, 0.2), (0.2, 1.0)]],
        &[&[(0.5, -0.7), (0.0, -1.0), (-0.5, -0.55), (-0.1, -0.1), (0.5, -0.55), (0.45, 0.4), (0.0, 1.0), (-0.5, 0.85)]],
    ],
];

const RING: Stroke =
    &[(0.0, -1.0), (-0.5, -0.7), (-0.65, 0.0), (-0.5, 0.7), (0.0, 1.0), (0.5, 0.7), (0.65, 0.0), (0.5, -0.7), (0.0, -1.0)];
const NARROW_RING: Stroke = &[(0.1, -1.0), (-0.35, -0.5), (-0.4, 0.4), (0.0, 1.0), (0.4, 0.5), (0.4, -0.4), (0.1, -1.0)];
const FOOT: Stroke = &[(-0.45, 1.0), (0.45, 1.0)];
const UPPER_LOOP: Stroke = &[(0.0, -1.0), (-0.45, -0.75), (-0.4, -0.3), (0.0, -0.05), (0.4, -0.3), (0.45, -0.75), (0.0, -1.0)];
const LOWER_LOOP: Stroke = &[(0.0, -0.05), (-0.5, 0.25), (-0.5, 0.75), (0.0, 1.0), (0.5, 0.75), (0.5, 0.25), (0.0, -0.05)];
/// Of the longest stroke.
const MOST_POINTS: usize = 16;

/// Draws one digit into `image` and returns it.
pub(super) fn draw(seed: u64, index: u64, image: &mut [u8]) -> u8 {
    let mut dice = Dice::of_image(seed, index);
    let digit = dice.below(FORMS.len());
    let form = FORMS[digit][dice.below(FORMS[digit].len())];
    let mut canvas = Canvas::new(pose(&mut dice), ink(&mut dice));
    let width = dice.between(0.16, 0.4);
    // A hand shakes, and does it alike all through a digit.
    let shake = dice.between(0.03, 0.25);
    for stroke in form {
        let mut points = [(0.0, 0.0); MOST_POINTS];
        for (point, &(across, down)) in points.iter_mut().zip(*stroke) {
            *point = (across + dice.between(-shake, shake), down + dice.between(-shake, shake));
        }
        let points = &points[..stroke.len().min(MOST_POINTS)];
        canvas.strap(points, width, Ink::Trim(1.0));
        // Round corners and ends.
        let (half, bevel) = (width * 0.5, width * 0.21);
        let octagon = [(-half, -bevel), (-bevel, -half), (bevel, -half), (half, -bevel)];
        for &(across, down) in points {
            let above = octagon.map(|(x, y)| (across + x, down + y));
            let below = octagon.map(|(x, y)| (across - x, down - y));
            let corners = [above, below].concat();
            canvas.fill(&corners, Ink::Trim(1.0));
        }
    }
    let (grain, gain) = (dice.between(0.0, 0.12), dice.between(0.85, 1.15));
    canvas.develop(grain, gain, &mut dice, image);
    digit as u8
}

/// Slanted and turned as handwriting is, and less in the middle of the picture than the digits of MNIST: a linear model then does
/// about as well on them.
fn pose(dice: &mut Dice) -> Pose {
    let (size, slant, turn) = (dice.between(7.0, 9.8), dice.between(-0.3, 0.6), dice.between(-0.25, 0.25));
    let width = size * dice.between(0.75, 1.1);
    let (across, down) = (dice.between(-2.6, 2.6), dice.between(-2.6, 2.6));
    Pose { x: [width, -size * (slant + turn), 14.0 + across], y: [width * turn, size, 14.0 + down] }
}

fn ink(dice: &mut Dice) -> Cloth {
    let light = [dice.between(-0.1, 0.1), dice.between(-0.1, 0.1)];
    Cloth { shade: dice.between(0.75, 1.0), weave: 0, contrast: 0.0, pitch: 1.0, tilt: [1.0, 0.0], phase: 0.0, light }
}
