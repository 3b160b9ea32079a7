use zipfold_cpu::kernels::panels::*;
use zipfold_vector::simd::Element;

#[test]
fn panels_hold_the_rows_and_zeros() {
    for (rows, components, stride) in [(0, 3, 3), (1, 0, 4), (1, 1, 1), (13, 17, 20), (33, 40, 40)]
    {
        let data: Vec<f32> = (0..rows * stride.max(1)).map(|i| i as f32 + 1.0).collect();
        let a = PackedA::<f64>::pack(&data, rows, components, stride);
        assert_eq!(
            (a.values().len() * 8).next_multiple_of(64),
            PackedA::<f64>::bytes(rows, components)
        );
        for i in 0..rows.div_ceil(A_ROWS) * A_ROWS {
            for k in 0..components {
                // SAFETY: i and k lie within the padded panels.
                let x = unsafe { *a.address(i / A_ROWS, k).add(i % A_ROWS) };
                assert_eq!(
                    x,
                    if i < rows {
                        f64::from(data[i * stride + k])
                    } else {
                        0.0
                    }
                );
            }
        }
    }
}

#[test]
fn panels_of_strips_are_those_of_rows() {
    for (rows, components) in [
        (0usize, 3usize),
        (5, 0),
        (1, 1),
        (8, 5),
        (64, 17),
        (150, 40),
    ] {
        let data: Vec<f64> = (0..rows * components).map(|i| i as f64 * 0.3).collect();
        let mut strips = vec![-1.0; rows.div_ceil(8) * 8 * components];
        for (at, v) in data.iter().enumerate() {
            let (row, k) = (at / components, at % components);
            strips[row / 8 * 8 * components + k * 8 + row % 8] = *v;
        }
        let strip = |t: usize| &strips[t * 8 * components..][..8 * components];
        let made = PackedB::<f32>::of_strips(strip, rows, components, 8);
        let packed = PackedB::<f32>::pack(&data, rows, components, components);
        assert_eq!((made.rows(), made.components()), (rows, components));
        for (row, k) in (0..rows).flat_map(|row| (0..components).map(move |k| (row, k))) {
            let at = |p: &PackedB<f32>| {
                let width = <f32 as Element>::PANEL;
                // SAFETY: the row and the component lie within the panels.
                unsafe { *p.address(row / width, k).add(row % width) }
            };
            assert_eq!(
                at(&made),
                at(&packed),
                "row {row} component {k} of {rows} × {components}"
            );
        }
    }
}

#[test]
#[should_panic(expected = "end outside")]
fn short_data_is_refused() {
    PackedB::<f32>::pack(&[0.0f32; 5], 2, 3, 3);
}

/// Rows of a table of `components` numbers, as strips; their number is the first component.
struct Given<'a> {
    rows: &'a [f64],
    components: usize,
    strip: Vec<[f64; A_ROWS]>,
    first: [f64; A_ROWS],
}

impl Strips for Given<'_> {
    fn strip(&mut self, first: usize) -> &[[f64; A_ROWS]] {
        let row = |lane| self.rows.chunks(self.components).nth(first + lane);
        self.strip = (0..self.components)
            .map(|k| std::array::from_fn(|lane| row(lane).map_or(f64::NAN, |row| row[k])))
            .collect();
        self.first = self.strip[0];
        &self.strip
    }
    fn number(&self, _: usize) -> &[f64; A_ROWS] {
        &self.first
    }
}

#[test]
fn panels_of_computed_rows_are_those_of_rows() {
    fn check<T: Element>(rows: usize, components: usize, sides: (bool, bool)) {
        let data: Vec<f64> = (0..rows * components)
            .map(|i| i as f64 * 0.5 - 3.0)
            .collect();
        let given = || Given {
            rows: &data,
            components,
            strip: vec![],
            first: [0.0; A_ROWS],
        };
        let packed = pack_strips::<T, _>(given, (rows, components, 2), sides);
        let (a, b) = (
            PackedA::<T>::pack(&data, rows, components, components),
            PackedB::<T>::pack(&data, rows, components, components),
        );
        assert_eq!((packed.a.is_some(), packed.b.is_some()), sides);
        assert!(
            packed.a.is_none_or(|have| have.values() == a.values()),
            "{rows} × {components}"
        );
        assert!(
            packed.b.is_none_or(|have| have.values() == b.values()),
            "{rows} × {components}"
        );
        let numbers = (0..2 * rows).map(|at| T::from_f64(data[at / 2 * components]));
        assert!(
            packed.numbers.iter().copied().eq(numbers),
            "{rows} × {components}"
        );
    }
    for rows in [0, 1, 7, 8, 9, 31, 33, 64, 130] {
        for sides in [(true, true), (true, false), (false, true)] {
            check::<f32>(rows, 17, sides);
            check::<f64>(rows, 3, sides);
        }
    }
}
