//! A batch that several threads fill at once, each its own images.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};

/// Memory for the images of a batch and their labels. Each place is handed out once.
pub(super) struct Places {
    values: UnsafeCell<Vec<f32>>,
    /// Where `values` begins: to hand out a place no reference to all of them is made.
    start: *mut f32,
    image: usize,
    taken: Vec<AtomicBool>,
    labels: Vec<AtomicI64>,
    open: AtomicUsize,
}

// SAFETY: `slot` hands out each part of the memory once, so that no two threads have the same; the rest is atomic.
unsafe impl Sync for Places {}
// SAFETY: the pointer is to memory that the value owns.
unsafe impl Send for Places {}

impl Places {
    /// `values` is what a batch before has left, to be used again: new memory costs more than a copy.
    pub(super) fn new(mut values: Vec<f32>, images: usize, image: usize) -> Places {
        values.resize(images * image, 0.0);
        let start = values.as_mut_ptr();
        Places {
            values: UnsafeCell::new(values),
            start,
            image,
            taken: (0..images).map(|_| AtomicBool::new(false)).collect(),
            labels: (0..images).map(|_| AtomicI64::new(0)).collect(),
            open: AtomicUsize::new(images),
        }
    }

    /// The memory of one image.
    ///
    /// # Panics
    /// If it is asked for twice, or there is no such place.
    #[expect(clippy::mut_from_ref, reason = "each place is handed out once")]
    pub(super) fn slot(&self, at: usize) -> &mut [f32] {
        assert!(!self.taken[at].swap(true, Ordering::AcqRel), "place {at} is taken");
        // SAFETY: `at` is below the number of images, or the line above has panicked, so this is inside of `values`, which lives
        // as long as the reference and is not touched otherwise until then. Nobody else has been given this part.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(at * self.image), self.image) }
    }

    /// Says that an image is in its place. True for the last one.
    pub(super) fn fill(&self, at: usize, label: i64) -> bool {
        self.labels[at].store(label, Ordering::Relaxed);
        self.open.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// Values and labels, once all places are filled.
    pub(super) fn into_parts(self) -> (Vec<f32>, Vec<i64>) {
        let labels = self.labels.into_iter().map(AtomicI64::into_inner).collect();
        (self.values.into_inner(), labels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_fill_their_own_places() {
        let places = Places::new(vec![9.0; 3], 8, 100);
        let last = std::thread::scope(|scope| {
            let fill = |at: usize, places: &Places| {
                places.slot(at).fill(at as f32);
                places.fill(at, 10 + at as i64)
            };
            let places = &places;
            let threads: Vec<_> = (0..8).map(|at| scope.spawn(move || fill(at, places))).collect();
            threads.into_iter().filter(|_| true).map(|thread| thread.join().unwrap()).filter(|last| *last).count()
        });
        let (values, labels) = places.into_parts();
        assert_eq!((last, labels), (1, (10..18).collect()));
        assert!(values.iter().enumerate().all(|(at, value)| *value == (at / 100) as f32));
    }

    #[test]
    #[should_panic(expected = "place 1 is taken")]
    fn no_place_is_handed_out_twice() {
        let places = Places::new(Vec::new(), 2, 1);
        places.slot(1);
        places.slot(1);
    }
}
