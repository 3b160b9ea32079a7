//! A join that a device has no room for, cut along the variables of its result: each piece of the
//! result is made there from what it needs of the tables, and is copied back.
//!
//! The order in which an entry is summed is that of the whole join, so the result has the same bits
//! for any number of pieces.
//!
//! ```text
//! cut:  for each digit of the result, the slowest first
//!           earlier digits are fixed, this one has 1 value in a piece: too large: next digit
//!           else: bisect for the most values that fit                    none fits: too small
//! for each piece, in the order of the result
//!     for each table: the part on the device still serves, or gather and send it
//!     contract on the device, by the kernel of the whole join
//!     copy the piece to its place in the result
//! the device had less room than it said: halve the room, begin again
//! ```
//!
//! Why this shape: a cut through the slowest digits makes each piece one run of the result. Tables
//! without a cut digit are sent once. A cut through summed digits would change the order of sums,
//! and with it bits.

use super::bounds::Bounds;
use super::buffer_pool::{Held, Room};
use super::products::Fold;
use super::real::Real;
use super::scaled::{Data, Scaled};
use super::shape::{Digit, MOST_INPUTS, Shape};
use crate::remote::{Ending, Numbers, Remote};
use zipfold_core::{Blame, Result};

/// A cut: digits of the result before `at` stay at one value in a piece, and that one has at most
/// `values`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// The place among the digits of the result.
    at: usize,
    /// Its values in a piece.
    values: usize,
}

/// A join that was cut, or the entries that its smallest piece takes.
#[derive(Debug)]
pub(crate) enum Made<T: Real> {
    /// The result.
    Table(Scaled<T>),
    /// It takes logarithms, which devices do not have.
    Logs,
    /// The device has no room for a piece of so many entries.
    TooSmall(f64),
}

impl Cut {
    /// The cut with the largest pieces of at most `room` entries, tables and result together;
    /// otherwise the entries of the smallest piece.
    fn new(shape: &Shape, room: f64) -> std::result::Result<Self, f64> {
        let kept: Vec<&Digit> = shape.kept().collect();
        let whole = Cut { at: 0, values: 1 };
        let mut least = whole.entries(shape);
        if kept.is_empty() && least <= room {
            return Ok(whole);
        }
        for (at, digit) in kept.iter().enumerate() {
            let fits = |values: usize| Cut { at, values }.entries(shape) <= room;
            least = Cut { at, values: 1 }.entries(shape);
            if !fits(1) {
                continue;
            }
            let (mut few, mut many) = (1, digit.card + 1);
            while many - few > 1 {
                let middle = few.midpoint(many);
                if fits(middle) {
                    few = middle;
                } else {
                    many = middle;
                }
            }
            return Ok(Cut { at, values: few });
        }
        Err(least)
    }
    /// Entries of the tables and the result of a piece.
    fn entries(self, shape: &Shape) -> f64 {
        let piece = self.piece(shape, self.values);
        let table = |f: usize| {
            let own = piece.digits.iter().filter(|d| d.strides[f] > 0);
            own.map(|d| d.card as f64).product::<f64>()
        };
        (0..piece.inputs).map(table).sum::<f64>() + piece.out_len as f64
    }
    /// The places of all pieces, in the order of the result.
    fn pieces(self, shape: &Shape) -> Vec<Place> {
        // A result of one entry has one piece.
        let card = |at: usize| shape.kept().nth(at).map_or(1, |d| d.card);
        let steps = card(self.at).div_ceil(self.values);
        let many = (0..self.at).map(card).product::<usize>() * steps;
        let place = |piece: usize| {
            let first = piece % steps * self.values;
            let mut state = vec![0; self.at];
            let mut left = piece / steps;
            for (at, x) in state.iter_mut().enumerate().rev() {
                *x = left % card(at);
                left /= card(at);
            }
            state.push(first);
            Place {
                state,
                values: self.values.min(card(self.at) - first),
            }
        };
        (0..many).map(place).collect()
    }
    /// Whether table `f` holds the cut digit.
    fn moves(self, shape: &Shape, f: usize) -> bool {
        shape.kept().nth(self.at).is_some_and(|d| d.strides[f] > 0)
    }
    /// By digit of the join: its values in a piece that has so many `values` of the cut one.
    fn cards(self, shape: &Shape, values: usize) -> Vec<usize> {
        let mut kept = 0;
        let mut of = |digit: &Digit| {
            if digit.summed {
                return digit.card;
            }
            kept += 1;
            match (kept - 1).cmp(&self.at) {
                std::cmp::Ordering::Less => 1,
                std::cmp::Ordering::Equal => values,
                std::cmp::Ordering::Greater => digit.card,
            }
        };
        shape.digits.iter().map(&mut of).collect()
    }
    /// The join of one piece with so many `values`, over tables without gaps.
    fn piece(self, shape: &Shape, values: usize) -> Shape {
        let cards = self.cards(shape, values).into_iter();
        let own = |(digit, card): (&Digit, usize)| Digit { card, ..*digit };
        let mut digits: Vec<Digit> = shape.digits.iter().zip(cards).map(own).collect();
        digits.retain(|d| d.card > 1);
        for f in 0..shape.inputs {
            close(&mut digits, |d| &mut d.strides[f]);
        }
        let out_len = close(&mut digits, |d| &mut d.out);
        Shape {
            digits,
            inputs: shape.inputs,
            out_len,
        }
    }
}

/// Gives the digits of a table strides without gaps, in the order that they have; their entries.
fn close(digits: &mut [Digit], stride: impl Fn(&mut Digit) -> &mut usize) -> usize {
    let mut order: Vec<(usize, usize)> = digits
        .iter_mut()
        .enumerate()
        .map(|(at, d)| (*stride(d), at))
        .filter(|(s, _)| *s > 0)
        .collect();
    order.sort_unstable();
    let mut next = 1;
    for (_, at) in order {
        *stride(&mut digits[at]) = next;
        next *= digits[at].card;
    }
    next
}

/// The join of `inputs` on `remote`, piece by piece.
///
/// # Errors
/// `Resource` when the host has no room for the result, and those of `remote` but for a lack of
/// room.
pub(crate) fn contract<T: Real>(
    shape: &Shape,
    inputs: &[&Scaled<T>],
    fold: Fold,
    remote: &dyn Remote,
    room: &Room,
) -> Result<Made<T>> {
    let bounds = Bounds::of_product::<T>(shape, inputs.iter().map(|t| t.bounds()), fold);
    let linear = |t: &&Scaled<T>| matches!(t.data, Data::Linear(_));
    let Some(ends) = bounds.linear.filter(|_| inputs.iter().all(linear)) else {
        return Ok(Made::Logs);
    };
    let mut out = Held::blank(shape.out_len, room, "a table of the contraction")?;
    let mut entries = (remote.room() / size_of::<T>() as u64) as f64;
    loop {
        let cut = match Cut::new(shape, entries) {
            Ok(cut) => cut,
            Err(least) => return Ok(Made::TooSmall(least)),
        };
        match pieces(shape, cut, inputs, (fold, remote), &mut out.items) {
            Ok(()) => break,
            // The device takes room for itself, too.
            Err(e) if e.blame() == Blame::Resource => entries /= 2.0,
            Err(e) => return Err(e),
        }
    }
    let mut table = Scaled {
        data: Data::Linear(out),
        exponent: ends.exponent,
        low: ends.low,
        high: ends.high,
    };
    if ends.are_far::<T>() {
        table.settle();
    }
    Ok(Made::Table(table))
}

/// What is on the device of a table: where its piece begins, the values of the cut digit in it, and
/// the numbers.
type Sent = Option<(usize, usize, Numbers)>;

/// Where a piece lies.
struct Place {
    /// The values of the digits of the result that stand still in it, and the first one of the cut
    /// digit.
    state: Vec<usize>,
    /// Values of the cut digit.
    values: usize,
}

impl Place {
    /// Where the piece begins in a table with the strides given.
    fn base(&self, shape: &Shape, stride: impl Fn(&Digit) -> usize) -> usize {
        let kept = shape.kept().zip(&self.state);
        kept.map(|(d, x)| x * stride(d)).sum()
    }
}

fn pieces<T: Real>(
    shape: &Shape,
    cut: Cut,
    inputs: &[&Scaled<T>],
    (fold, remote): (Fold, &dyn Remote),
    out: &mut [T],
) -> Result<()> {
    let mut sent: [Sent; MOST_INPUTS] = Default::default();
    let mut shapes: Vec<(usize, Shape)> = Vec::new();
    for place in cut.pieces(shape) {
        let values = place.values;
        if shapes.iter().all(|(own, _)| *own != values) {
            shapes.push((values, cut.piece(shape, values)));
        }
        let Some((_, own)) = shapes.iter().find(|(own, _)| *own == values) else {
            continue;
        };
        for (f, (table, sent)) in inputs.iter().zip(&mut sent).enumerate() {
            if let Data::Linear(items) = &table.data {
                send(&items.items, f, (shape, cut, &place), remote, sent)?;
            }
        }
        let tables: Vec<&Numbers> = sent.iter().flatten().map(|(.., n)| n).collect();
        let made = remote.contract(own, &tables, fold, shape, Ending::Values)?;
        let to = place.base(shape, |d| d.out);
        remote.bring(&made, T::items_mut(&mut out[to..to + own.out_len]))?;
    }
    Ok(())
}

/// Sends what a piece needs of table `f`, unless it is there.
fn send<T: Real>(
    items: &[T],
    f: usize,
    (shape, cut, place): (&Shape, Cut, &Place),
    remote: &dyn Remote,
    sent: &mut Sent,
) -> Result<()> {
    let (start, values) = (place.base(shape, |d| d.strides[f]), place.values);
    // A shorter last piece has other entries at the same place.
    let valid = |(at, before, _): &(usize, usize, Numbers)| {
        *at == start && (*before == values || !cut.moves(shape, f))
    };
    if sent.as_ref().is_some_and(valid) {
        return Ok(());
    }
    // Its memory is free before more is taken.
    *sent = None;
    let cards = cut.cards(shape, values);
    let numbers = gathered(items, start, (shape, &cards), f);
    *sent = Some((start, values, remote.send(T::items(&numbers))?));
    Ok(())
}

/// What a piece of `cards` needs of table `f`, whose part begins at `base`.
fn gathered<T: Copy>(
    items: &[T],
    base: usize,
    (shape, cards): (&Shape, &[usize]),
    f: usize,
) -> Vec<T> {
    let digits = shape.digits.iter().zip(cards);
    let mut digits: Vec<(usize, usize)> = digits
        .filter(|(d, card)| d.strides[f] > 0 && **card > 1)
        .map(|(d, card)| (*card, d.strides[f]))
        .collect();
    digits.sort_unstable_by_key(|(_, stride)| std::cmp::Reverse(*stride));
    let mut out = Vec::with_capacity(digits.iter().map(|(card, _)| card).product());
    copy(items, base, &digits, &mut out);
    out
}

/// Appends the entries of some digits, slowest first.
fn copy<T: Copy>(items: &[T], base: usize, digits: &[(usize, usize)], out: &mut Vec<T>) {
    match digits {
        [] => out.push(items[base]),
        [(card, 1)] => out.extend_from_slice(&items[base..base + card]),
        [(card, stride), rest @ ..] => {
            (0..*card).for_each(|x| copy(items, base + x * stride, rest, out));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::semiring::visit;
    use zipfold_core::{Budget, Error, Random};

    /// A device of so many entries that contracts on the host, entry by entry.
    #[derive(Debug)]
    struct Small {
        entries: usize,
        used: std::sync::Arc<std::sync::atomic::AtomicUsize>,
    }

    /// Numbers on it.
    struct Taken(Vec<f64>, std::sync::Arc<std::sync::atomic::AtomicUsize>);

    impl Drop for Taken {
        fn drop(&mut self) {
            self.1
                .fetch_sub(self.0.len(), std::sync::atomic::Ordering::Relaxed);
        }
    }

    impl Small {
        fn take(&self, numbers: Vec<f64>) -> Result<Numbers> {
            use std::sync::atomic::Ordering::Relaxed;
            if self.used.load(Relaxed) + numbers.len() > self.entries {
                return Err(Error::resource("no room"));
            }
            self.used.fetch_add(numbers.len(), Relaxed);
            Ok(Box::new(Taken(numbers, self.used.clone())))
        }
        fn own(numbers: &Numbers) -> &Taken {
            numbers.downcast_ref().unwrap()
        }
    }

    impl Remote for Small {
        fn send(&self, items: crate::remote::Items<'_>) -> Result<Numbers> {
            match items {
                crate::remote::Items::F64(items) => self.take(items.to_vec()),
                crate::remote::Items::F32(_) => Err(Error::internal("of doubles alone")),
            }
        }
        fn bring(&self, numbers: &Numbers, to: crate::remote::ItemsMut<'_>) -> Result<()> {
            if let crate::remote::ItemsMut::F64(to) = to {
                to.copy_from_slice(&Self::own(numbers).0);
            }
            Ok(())
        }
        fn contract(
            &self,
            shape: &Shape,
            inputs: &[&Numbers],
            _: Fold,
            _: &Shape,
            _: Ending,
        ) -> Result<Numbers> {
            let mut out = vec![0.0; shape.out_len];
            let tables: Vec<&[f64]> = inputs.iter().map(|n| &Self::own(n).0[..]).collect();
            // Entries in the order of the digits, which is that of the whole join in any piece.
            visit(&shape.digits, shape.inputs, |to, from| {
                let entries = tables.iter().zip(from).map(|(t, at)| t[*at]);
                out[to] += entries.product::<f64>();
            });
            self.take(out)
        }
        fn exponentials(&self, logs: &Numbers, shift: f64) -> Result<Numbers> {
            let logs = &Self::own(logs).0;
            self.take(logs.iter().map(|l| (l - shift).exp()).collect())
        }
        fn ends(&self, _: &Numbers) -> Result<(f64, f64)> {
            Ok((1.0, 1.0))
        }
        fn scale(&self, _: &Numbers, _: f64) -> Result<()> {
            Ok(())
        }
        fn prepare(&self, _: &[(Shape, bool)], _: Fold) -> Result<()> {
            Ok(())
        }
        fn room(&self) -> u64 {
            8 * self.entries as u64
        }
    }

    #[test]
    fn pieces_of_any_size_make_the_whole() {
        let mut random = Random::new(21);
        let budget = Budget::unlimited();
        let room = Room::new(&budget);
        let (mut whole, mut cut, mut small) = (0, 0, 0);
        for _ in 0..300 {
            let many = 1 + random.below(6);
            let cards: Vec<usize> = (0..many).map(|_| 1 + random.below(5)).collect();
            let rank: Vec<u32> = (0..many as u32).collect();
            let mut some =
                || -> Vec<usize> { (0..many).filter(|_| random.below(2) == 0).collect() };
            let scopes = [some(), some(), some()];
            let held = |v: &usize| scopes.iter().any(|s| s.contains(v));
            let out: Vec<usize> = some().into_iter().filter(held).collect();
            let shape = Shape::new(&scopes.each_ref().map(|s| &s[..]), &out, &rank, &cards);
            let tables: Vec<Scaled<f64>> = scopes
                .iter()
                .map(|s| {
                    let len: usize = s.iter().map(|v| cards[*v]).product();
                    let values: Vec<f64> = (0..len).map(|_| random.unit()).collect();
                    Scaled::of_values(&values, &room).unwrap()
                })
                .collect();
            let inputs: Vec<&Scaled<f64>> = tables.iter().collect();
            let make = |entries: usize| {
                let device = Small {
                    entries,
                    used: Default::default(),
                };
                contract(&shape, &inputs, Fold::Sum, &device, &room).unwrap()
            };
            let Made::Table(want) = make(1 << 20) else {
                panic!("a join that fits");
            };
            let bits = |t: &Scaled<f64>| -> Vec<u64> {
                (0..t.len())
                    .map(|at| t.scalar(at).value().to_bits())
                    .collect()
            };
            let all: usize = tables.iter().map(Scaled::len).sum::<usize>() + shape.out_len;
            for entries in [all, all / 2, all / 5, 4, 3] {
                match make(entries) {
                    Made::Table(got) => {
                        assert_eq!(bits(&got), bits(&want), "{entries} of {all}");
                        whole += usize::from(entries >= all);
                        cut += usize::from(entries < all);
                    }
                    Made::TooSmall(least) => {
                        assert!(least > 0.0 && entries < all);
                        small += 1;
                    }
                    Made::Logs => panic!("numbers of few powers"),
                }
            }
        }
        assert!(
            whole >= 300 && cut > 200 && small > 200,
            "{whole} {cut} {small}"
        );
    }
}
