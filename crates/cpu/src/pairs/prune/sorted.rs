//! The hoisted rows of both sides, and their order along a space-filling curve.

use super::tree::Hoisted;
use zipfold_core::{Job, Side};

/// Rows of x and of y, and which of them the sorted ones are.
#[derive(Debug)]
pub(super) struct Sorted {
    pub x: Hoisted,
    pub y: Hoisted,
    pub orders: Orders,
}

/// Which rows the sorted ones are.
#[derive(Debug)]
pub(super) struct Orders {
    x: Vec<u32>,
    /// Where y is another input.
    y: Option<Vec<u32>>,
}

impl Orders {
    /// Those of `side`.
    pub(super) fn by_side(&self, side: Side) -> &[u32] {
        match (side, &self.y) {
            (Side::Y, Some(order)) => order,
            _ => &self.x,
        }
    }
}

impl Sorted {
    /// Hoists and sorts the rows of `job`, both sides at the same time.
    pub(super) fn new(job: &Job) -> Self {
        let low = &job.low;
        let ((x, order_x), (y, order_y)) = rayon::join(
            || {
                let x = Hoisted::new(low, &job.x, Side::X);
                let order = x.order(low, Side::X);
                (x, order)
            },
            || {
                let y = Hoisted::new(low, job.other(), Side::Y);
                let order = job.y.as_ref().map(|_| y.order(low, Side::Y));
                (y, order)
            },
        );
        Sorted {
            x,
            y,
            orders: Orders {
                x: order_x,
                y: order_y,
            },
        }
    }
}
