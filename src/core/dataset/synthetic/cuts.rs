//! How each class is cut: one function a class, in label order.
//!
//! Never decides where the garment lies or what it is made of.

use super::canvas::{Canvas, Ink};
use super::dice::Dice;

/// By label.
pub(super) const CUTS: [fn(&mut Canvas, &mut Dice); 10] =
    [t_shirt, trouser, pullover, dress, coat, sandal, shirt, sneaker, bag, ankle_boot];

/// The trunk that T-shirts, pullovers, coats and shirts share, so that its outline alone tells little.
struct Trunk {
    shoulder: f32,
    /// Height of the shoulders' outer ends.
    slope: f32,
    waist: f32,
    hem: f32,
    bottom: f32,
    neck: f32,
}

impl Trunk {
    fn new(dice: &mut Dice, bottom: (f32, f32)) -> Trunk {
        let shoulder = dice.between(0.46, 0.62);
        Trunk {
            shoulder,
            slope: dice.between(0.08, 0.2),
            waist: shoulder * dice.between(0.78, 1.02),
            hem: shoulder * dice.between(0.85, 1.15),
            bottom: dice.between(bottom.0, bottom.1),
            neck: dice.between(0.14, 0.24),
        }
    }

    fn draw(&self, canvas: &mut Canvas) {
        let top = -0.92;
        let half = [(self.neck, top), (self.shoulder, top + self.slope), (self.waist, -0.1), (self.hem, self.bottom)];
        canvas.fill_symmetric(&half, Ink::Cloth(1.0));
    }

    /// Both sleeves, `length` from the shoulder down (0.4 short, 1.5 to the hem), with a cuff if `cuff` is not 1.
    fn sleeves(&self, canvas: &mut Canvas, dice: &mut Dice, length: f32, cuff: f32) {
        let spread = dice.between(0.1, 0.45);
        let width = dice.between(0.2, 0.3);
        let tone = dice.between(0.78, 1.08);
        for side in [-1.0, 1.0] {
            let start = (side * (self.shoulder - width * 0.45), -0.92 + self.slope + width * 0.35);
            let end = (side * (self.shoulder + spread * length * 0.8), start.1 + length * (1.0 - spread * 0.35));
            canvas.stroke(start, end, width * 1.15, Ink::Cloth(tone));
            if cuff != 1.0 {
                let from = (end.0 + (start.0 - end.0) * 0.12, end.1 + (start.1 - end.1) * 0.12);
                canvas.stroke(from, end, width * 1.1, Ink::Trim(cuff));
            }
        }
    }

    fn round_neck(&self, canvas: &mut Canvas, depth: f32, ink: Ink) {
        let (half, top) = (self.neck, -0.95);
        canvas.fill_symmetric(&[(half, top), (half * 0.85, top + depth * 0.6), (half * 0.4, top + depth)], ink);
    }
}

/// Something lies on a part of the garment: a tag, a fold, another thing's shadow.
pub(super) fn cover(canvas: &mut Canvas, dice: &mut Dice) {
    let (across, down) = (dice.between(-0.6, 0.6), dice.between(-0.7, 0.7));
    let (half, height) = (dice.between(0.15, 0.35), dice.between(0.15, 0.35));
    let lean = dice.between(-0.1, 0.1);
    let ink = if dice.chance(0.5) { Ink::Hole } else { Ink::Trim(dice.between(0.4, 1.6)) };
    canvas.fill(
        &[
            (across - half, down - height + lean),
            (across + half, down - height - lean),
            (across + half, down + height - lean),
            (across - half, down + height + lean),
        ],
        ink,
    );
}

fn t_shirt(canvas: &mut Canvas, dice: &mut Dice) {
    let trunk = Trunk::new(dice, (0.45, 0.9));
    let (length, cuff) = (dice.between(0.3, 0.62), if dice.chance(0.2) { dice.between(0.6, 1.3) } else { 1.0 });
    trunk.sleeves(canvas, dice, length, cuff);
    trunk.draw(canvas);
    let depth = dice.between(0.1, 0.3);
    trunk.round_neck(canvas, depth, Ink::Hole);
    if dice.chance(0.45) {
        // A print on the chest.
        let (half, top, height) = (dice.between(0.12, 0.3), dice.between(-0.5, -0.25), dice.between(0.12, 0.45));
        let ink = Ink::Trim(if dice.chance(0.5) { 0.45 } else { 1.7 });
        canvas.fill(&[(-half, top), (half, top), (half, top + height), (-half, top + height)], ink);
    }
}

fn trouser(canvas: &mut Canvas, dice: &mut Dice) {
    let (waist, hip) = (dice.between(0.28, 0.42), dice.between(0.34, 0.5));
    let (crotch, ankle) = (dice.between(-0.45, -0.1), dice.between(0.13, 0.24));
    let spread = dice.between(0.2, 0.42);
    let bottom = dice.between(0.8, 0.98);
    let top = -0.92;
    for side in [-1.0, 1.0] {
        canvas.fill(
            &[
                (0.0, top),
                (side * waist, top),
                (side * hip, top + 0.35),
                (side * (spread + ankle * 0.5), bottom),
                (side * (spread - ankle * 0.5), bottom),
                (0.0, crotch),
            ],
            Ink::Cloth(if side < 0.0 { 1.0 } else { 0.93 }),
        );
    }
    if dice.chance(0.6) {
        canvas.stroke((-waist, top + 0.05), (waist, top + 0.05), 0.1, Ink::Trim(0.7));
    }
}

fn pullover(canvas: &mut Canvas, dice: &mut Dice) {
    let trunk = Trunk::new(dice, (0.5, 0.9));
    let length = dice.between(1.15, 1.6);
    let band = if dice.chance(0.5) { dice.between(0.7, 0.92) } else { dice.between(1.08, 1.3) };
    trunk.sleeves(canvas, dice, length, band);
    trunk.draw(canvas);
    // Ribbed hem and collar, and no opening in front.
    canvas.stroke((-trunk.hem, trunk.bottom - 0.05), (trunk.hem, trunk.bottom - 0.05), 0.13, Ink::Trim(band));
    let depth = dice.between(0.08, 0.2);
    if dice.chance(0.3) {
        canvas.stroke((-trunk.neck, -0.95), (trunk.neck, -0.95), 0.2, Ink::Trim(band));
    } else {
        trunk.round_neck(canvas, depth + 0.09, Ink::Trim(band));
        trunk.round_neck(canvas, depth, Ink::Hole);
    }
    if dice.chance(0.25) {
        let height = dice.between(-0.4, 0.2);
        canvas.stroke((-trunk.waist, height), (trunk.waist, height), dice.between(0.1, 0.3), Ink::Trim(1.35));
    }
}

fn dress(canvas: &mut Canvas, dice: &mut Dice) {
    let (shoulder, waist) = (dice.between(0.2, 0.4), dice.between(0.16, 0.3));
    let (middle, hem) = (dice.between(-0.45, 0.0), dice.between(0.26, 0.7));
    let bottom = dice.between(0.8, 0.98);
    let top = -0.92;
    if dice.chance(0.45) {
        let length = dice.between(0.25, 1.1);
        for side in [-1.0, 1.0] {
            let start = (side * shoulder * 0.85, top + 0.16);
            canvas.stroke(start, (side * (shoulder + 0.22), start.1 + length), 0.17, Ink::Cloth(0.92));
        }
    }
    let strap = shoulder * dice.between(0.5, 1.0);
    canvas.fill_symmetric(&[(strap, top), (shoulder, top + 0.2), (waist, middle), (hem, bottom)], Ink::Cloth(1.0));
    let (half, depth) = (strap * 0.6, dice.between(0.1, 0.38));
    canvas.fill(&[(-half, top - 0.03), (half, top - 0.03), (0.0, top + depth)], Ink::Hole);
    if dice.chance(0.4) {
        canvas.stroke((-waist, middle), (waist, middle), 0.08, Ink::Trim(0.5));
    }
}

fn coat(canvas: &mut Canvas, dice: &mut Dice) {
    let trunk = Trunk::new(dice, (0.6, 0.97));
    let length = dice.between(1.15, 1.6);
    trunk.sleeves(canvas, dice, length, 1.0);
    trunk.draw(canvas);
    // Open in front from collar to hem, with lapels.
    let (offset, dark) = (dice.between(-0.1, 0.1), dice.between(0.4, 0.8));
    let apart = dice.between(0.02, 0.1);
    canvas.fill(
        &[(offset - 0.03, -0.6), (offset + 0.03, -0.6), (offset + apart, trunk.bottom), (offset - apart, trunk.bottom)],
        Ink::Trim(dark),
    );
    let (reach, tone) = (dice.between(-0.5, -0.2), if dice.chance(0.5) { 0.78 } else { 1.2 });
    for side in [-1.0, 1.0] {
        canvas.fill(
            &[(side * trunk.neck * 0.4, -0.95), (side * (trunk.neck + 0.1), -0.86), (offset + side * 0.02, reach)],
            Ink::Trim(tone),
        );
    }
    if dice.chance(0.5) {
        let height = dice.between(0.1, 0.4);
        for side in [-1.0, 1.0] {
            canvas.stroke((side * 0.18, height), (side * 0.38, height + 0.05), 0.07, Ink::Trim(0.55));
        }
    }
}

fn shirt(canvas: &mut Canvas, dice: &mut Dice) {
    let trunk = Trunk::new(dice, (0.45, 0.95));
    // Long or short sleeves: only the small collar and the buttons tell.
    let length = if dice.chance(0.55) { dice.between(1.15, 1.6) } else { dice.between(0.3, 0.65) };
    trunk.sleeves(canvas, dice, length, 1.0);
    trunk.draw(canvas);
    let tone = if dice.chance(0.5) { 0.72 } else { 1.22 };
    for side in [-1.0, 1.0] {
        canvas.fill(&[(0.0, -0.88), (side * (trunk.neck + 0.05), -0.98), (side * trunk.neck * 0.9, -0.68)], Ink::Trim(tone));
    }
    let (pitch, dot) = (dice.between(0.2, 0.3), if tone < 1.0 { 0.55 } else { 1.4 });
    let mut height = dice.between(-0.6, -0.5);
    while height < trunk.bottom - 0.1 {
        canvas.stroke((0.0, height - 0.05), (0.0, height + 0.05), 0.1, Ink::Trim(dot));
        height += pitch;
    }
    if dice.chance(0.3) {
        let side = if dice.chance(0.5) { -1.0 } else { 1.0 };
        canvas.fill(&[(side * 0.12, -0.4), (side * 0.34, -0.4), (side * 0.34, -0.15), (side * 0.12, -0.15)], Ink::Cloth(0.75));
    }
}

fn sandal(canvas: &mut Canvas, dice: &mut Dice) {
    let (heel, low) = (dice.between(0.0, 0.5), dice.between(0.3, 0.6));
    let raised = low - heel;
    let sole = dice.between(0.09, 0.2);
    let middle = (dice.between(-0.3, 0.1), low - heel * 0.25);
    canvas.strap(&[(-0.92, low), middle, (0.85, raised)], sole, Ink::Trim(0.9));
    if heel > 0.2 {
        canvas.stroke((0.78, raised), (0.72, low + 0.05), dice.between(0.09, 0.2), Ink::Trim(0.8));
    }
    // Straps with air between them.
    let width = dice.between(0.08, 0.17);
    let high = raised - dice.between(0.3, 0.75);
    for strap in 0..2 + dice.below(3) {
        let foot = -0.75 + strap as f32 * dice.between(0.3, 0.45);
        let lift = low - dice.between(0.3, 0.6) - strap as f32 * 0.08;
        canvas.strap(
            &[(foot, low), (foot + 0.18, lift), (foot + dice.between(0.3, 0.5), low - heel * 0.3)],
            width,
            Ink::Cloth(1.0),
        );
    }
    if dice.chance(0.7) {
        canvas.strap(
            &[(0.85, raised), (0.7, high), (dice.between(0.1, 0.35), high + 0.15), (0.3, low - heel * 0.5)],
            width,
            Ink::Cloth(1.0),
        );
    }
}

fn sneaker(canvas: &mut Canvas, dice: &mut Dice) {
    let low = dice.between(0.3, 0.5);
    let (collar, tongue) = (low - dice.between(0.5, 0.75), low - dice.between(0.6, 0.85));
    let toe = dice.between(0.2, 0.32);
    let throat = dice.between(-0.05, 0.2);
    canvas.fill(
        &[
            (-0.92, low),
            (-0.9, low - toe * 0.7),
            (-0.6, low - toe * 1.15),
            (throat - 0.1, tongue + 0.1),
            (throat + 0.15, tongue),
            (throat + 0.3, collar + 0.1),
            (0.8, collar),
            (0.9, low - 0.2),
            (0.88, low),
        ],
        Ink::Cloth(1.0),
    );
    canvas.stroke(
        (-0.95, low + 0.03),
        (0.93, low + 0.03),
        dice.between(0.1, 0.2),
        Ink::Trim(if dice.chance(0.6) { 1.5 } else { 0.5 }),
    );
    let tone = if dice.chance(0.5) { 0.5 } else { 1.5 };
    for lace in 0..2 + dice.below(3) {
        let place = throat - 0.1 - lace as f32 * 0.13;
        let height = tongue + 0.16 + lace as f32 * 0.09;
        canvas.stroke((place - 0.02, height), (place + 0.12, height + 0.14), 0.06, Ink::Trim(tone));
    }
    if dice.chance(0.5) {
        canvas.strap(&[(0.5, collar + 0.2), (0.1, low - 0.1), (-0.2, low - 0.12)], 0.09, Ink::Trim(tone));
    }
}

fn bag(canvas: &mut Canvas, dice: &mut Dice) {
    let (wide, base) = (dice.between(0.5, 0.92), dice.between(0.85, 1.1));
    let (top, bottom) = (dice.between(-0.45, 0.05), dice.between(0.5, 0.85));
    let (reach, width) = (dice.between(0.3, 0.75), dice.between(0.07, 0.14));
    let half = wide * dice.between(0.3, 0.75);
    let peak = top - dice.between(0.3, 0.55).min(top + 0.97);
    canvas.strap(
        &[
            (-half, top + 0.05),
            (-half * 0.9, top + (peak - top) * 0.7),
            (-half * 0.45, peak),
            (half * 0.45, peak),
            (half * 0.9, top + (peak - top) * 0.7),
            (half, top + 0.05),
        ],
        width,
        Ink::Trim(0.85),
    );
    canvas.fill(&[(-wide, top), (wide, top), (wide * base, bottom), (-wide * base, bottom)], Ink::Cloth(1.0));
    match dice.below(3) {
        0 => canvas.fill(&[(-wide, top), (wide, top), (0.0, top + (bottom - top) * reach)], Ink::Cloth(0.7)),
        1 => canvas.stroke((-wide, top + 0.12), (wide, top + 0.12), 0.1, Ink::Trim(0.6)),
        _ => {}
    }
    if dice.chance(0.4) {
        let height = top + (bottom - top) * 0.5;
        canvas.stroke((-0.08, height), (0.08, height), 0.14, Ink::Trim(1.6));
    }
}

fn ankle_boot(canvas: &mut Canvas, dice: &mut Dice) {
    let low = dice.between(0.5, 0.8);
    let top = low - dice.between(1.05, 1.5);
    let (front, back) = (dice.between(-0.1, 0.2), dice.between(0.68, 0.88));
    let (toe, instep) = (dice.between(0.22, 0.34), low - dice.between(0.45, 0.65));
    canvas.fill(
        &[
            (-0.92, low),
            (-0.9, low - toe * 0.7),
            (-0.6, low - toe * 1.2),
            (front - 0.12, instep),
            (front, top),
            (back, top),
            (back - 0.05, low - 0.4),
            (back, low),
        ],
        Ink::Cloth(1.0),
    );
    let heel = dice.between(0.0, 0.25);
    canvas.stroke((-0.93, low), (back, low), dice.between(0.07, 0.14), Ink::Trim(0.6));
    canvas.fill(&[(back - 0.42, low), (back, low), (back - 0.04, low + heel), (back - 0.3, low + heel)], Ink::Trim(0.6));
    if dice.chance(0.4) {
        canvas.stroke((front + 0.1, top + 0.1), (front + 0.16, low - 0.25), 0.07, Ink::Trim(0.5));
    }
    if dice.chance(0.3) {
        canvas.stroke((front - 0.03, top + 0.06), (back, top + 0.06), 0.12, Ink::Trim(1.4));
    }
}
