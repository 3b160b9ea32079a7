//! Registers of the machine for those of a listing: a linear scan over live ranges. What does not
//! fit lies in the frame, or is loaded again where it came from memory.
//!
//! ```text
//! ranges = first and last use of each virtual register, with weight 16 ^ depth of its loops
//!          a range that is live at the begin of a loop and used in it lasts to the end of the loop
//! for each range by its begin
//!     expire ranges that ended before; a register is free: take it
//!     else the cheapest of all by weight / length goes to memory: its origin, or the frame
//! masks that run out: no placement; the caller makes truth values numbers
//! ```
//!
//! Why this shape: code is straight lines and few loops, for which a linear scan finds nearly what
//! a colouring finds, and formulas are compiled while a user waits.

use super::ir::{Arg, Base, Class, Inst, Listing, Mem, NONE, Op, V};

/// Where a virtual register is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum RegisterPlace {
    /// Nowhere: never used.
    Nowhere,
    /// A register of the machine.
    Register(u8),
    /// In memory.
    Memory(Mem),
}

/// How many registers there are, and how many are kept free for operands in memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Supply {
    /// Vector registers.
    pub vectors: u8,
    /// The first mask register and their end.
    pub masks: (u8, u8),
}

/// Registers of a listing.
#[derive(Clone, Debug)]
pub(super) struct Placement {
    /// By virtual register.
    pub places: Vec<RegisterPlace>,
    /// Vectors spilled (loads that are repeated do not count).
    pub spilled: usize,
    /// Whether any register is in memory.
    pub in_memory: bool,
    /// Bytes of the frame.
    pub frame: i64,
}

/// A live range.
#[derive(Clone, Copy, Debug)]
struct Range {
    v: V,
    first: usize,
    last: usize,
    weight: f64,
}

fn registers(inst: &Inst) -> impl Iterator<Item = V> + '_ {
    let read = inst
        .src
        .iter()
        .filter_map(|a| if let Arg::V(v) = a { Some(*v) } else { None });
    read.chain((inst.dst != NONE).then_some(inst.dst))
}

/// Live ranges in the order of their begin.
fn ranges(list: &Listing) -> Vec<Range> {
    let count = list.classes.len();
    let mut out: Vec<Option<Range>> = vec![None; count];
    let mut loops = vec![];
    let mut open: Vec<usize> = vec![];
    for (at, inst) in list.insts.iter().enumerate() {
        if inst.op.begins() {
            open.push(at);
        }
        for v in registers(inst) {
            let weight = 16f64.powi(open.len() as i32);
            let range = out[v as usize].get_or_insert(Range {
                v,
                first: at,
                last: at,
                weight: 0.0,
            });
            range.last = at;
            range.weight += weight;
        }
        if inst.op.ends()
            && let Some(begin) = open.pop()
        {
            loops.push((begin, at));
        }
    }
    // Inner loops end first, so that a range may grow through several.
    let mut ranges: Vec<Range> = out.into_iter().flatten().collect();
    for (begin, end) in loops {
        ranges
            .iter_mut()
            .filter(|r| r.first < begin && r.last > begin)
            .for_each(|r| r.last = r.last.max(end));
    }
    ranges.sort_by_key(|r| r.first);
    ranges
}

/// The memory from which `v` can be loaded again: its one assignment is a load.
fn origins(list: &Listing) -> Vec<Option<Mem>> {
    let mut out: Vec<Option<Option<Mem>>> = vec![None; list.classes.len()];
    for inst in list.insts.iter().filter(|i| i.dst != NONE) {
        let from = match (inst.op, inst.src[0]) {
            (Op::Load, Arg::M(mem)) if mem.base != Base::Frame => Some(mem),
            _ => None,
        };
        let slot = &mut out[inst.dst as usize];
        *slot = Some(if slot.is_some() { None } else { from });
    }
    out.into_iter().map(Option::flatten).collect()
}

/// Places for the registers of `list`; none where masks run out.
pub(super) fn place(
    list: &Listing,
    supply: Supply,
    frame: i64,
    vector: usize,
) -> Option<Placement> {
    let mut scan = Scan {
        list,
        origins: origins(list),
        vector: vector as i64,
        active: vec![],
        free: (0..supply.vectors).rev().collect(),
        free_masks: (supply.masks.0..supply.masks.1).rev().collect(),
        out: Placement {
            places: vec![RegisterPlace::Nowhere; list.classes.len()],
            spilled: 0,
            in_memory: false,
            frame,
        },
    };
    for range in ranges(list) {
        scan.expire(range.first);
        scan.put(range)?;
    }
    Some(scan.out)
}

/// A scan over live ranges in the order of their begin.
struct Scan<'l> {
    list: &'l Listing,
    origins: Vec<Option<Mem>>,
    /// Bytes of a vector.
    vector: i64,
    /// Ranges that have registers.
    active: Vec<Range>,
    free: Vec<u8>,
    free_masks: Vec<u8>,
    out: Placement,
}

impl Scan<'_> {
    /// Frees the registers of ranges that end before instruction `at`.
    fn expire(&mut self, at: usize) {
        let (places, classes) = (&self.out.places, &self.list.classes);
        self.active.retain(|r| {
            let live = r.last > at;
            if let (false, RegisterPlace::Register(n)) = (live, places[r.v as usize]) {
                match classes[r.v as usize] {
                    Class::Vector => self.free.push(n),
                    Class::Mask => self.free_masks.push(n),
                }
            }
            live
        });
    }
    /// Finds a place for a range; none for a mask where there is no register.
    fn put(&mut self, range: Range) -> Option<()> {
        let mask = self.list.classes[range.v as usize] == Class::Mask;
        let have = if mask {
            self.free_masks.pop()
        } else {
            self.free.pop()
        };
        if let Some(n) = have {
            self.out.places[range.v as usize] = RegisterPlace::Register(n);
            self.active.push(range);
            return Some(());
        }
        if mask {
            return None;
        }
        let out = match self.cheapest() {
            Some((at, theirs)) if theirs < self.cost(&range) => {
                let victim = self.active.swap_remove(at);
                self.out.places[range.v as usize] = self.out.places[victim.v as usize];
                self.active.push(range);
                victim
            }
            _ => range,
        };
        self.out.in_memory = true;
        let from = self.origins[out.v as usize];
        self.out.places[out.v as usize] =
            RegisterPlace::Memory(from.unwrap_or_else(|| self.spill()));
        Some(())
    }
    /// What it costs to have a range in memory.
    fn cost(&self, r: &Range) -> f64 {
        let again = if self.origins[r.v as usize].is_some() {
            0.25
        } else {
            1.0
        };
        again * r.weight / (r.last - r.first + 1) as f64
    }
    /// The vector in a register that costs the least in memory: its place among the active ones.
    fn cheapest(&self) -> Option<(usize, f64)> {
        let vectors = self.active.iter().enumerate();
        let vectors = vectors.filter(|(_, r)| self.list.classes[r.v as usize] == Class::Vector);
        vectors
            .map(|(at, r)| (at, self.cost(r)))
            .min_by(|a, b| a.1.total_cmp(&b.1))
    }
    /// A place in the frame.
    fn spill(&mut self) -> Mem {
        self.out.spilled += 1;
        self.out.frame += self.vector;
        Mem {
            base: Base::Frame,
            disp: self.out.frame - self.vector,
            broadcast: false,
            by_k: false,
        }
    }
}
