//! Registers of the machine for those of a listing: a linear scan over live ranges. What does not
//! fit lies in the frame, or is loaded again where it came from memory.

use super::ir::{Arg, Base, Class, Inst, Listing, Mem, NONE, Op, V};

/// Where a virtual register is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Place {
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
    pub places: Vec<Place>,
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
    mut frame: i64,
    vector: usize,
) -> Option<Placement> {
    let origins = origins(list);
    let mut places = vec![Place::Nowhere; list.classes.len()];
    let mut active: Vec<Range> = vec![];
    let mut free: Vec<u8> = (0..supply.vectors).rev().collect();
    let mut free_masks: Vec<u8> = (supply.masks.0..supply.masks.1).rev().collect();
    let (mut spilled, mut in_memory) = (0, false);
    for range in ranges(list) {
        active.retain(|r| {
            let live = r.last > range.first;
            if let (false, Place::Register(n)) = (live, places[r.v as usize]) {
                match list.classes[r.v as usize] {
                    Class::Vector => free.push(n),
                    Class::Mask => free_masks.push(n),
                }
            }
            live
        });
        let class = list.classes[range.v as usize];
        let have = if class == Class::Mask {
            free_masks.pop()
        } else {
            free.pop()
        };
        if let Some(n) = have {
            places[range.v as usize] = Place::Register(n);
            active.push(range);
            continue;
        }
        if class == Class::Mask {
            return None;
        }
        let cost = |r: &Range| {
            let again = if origins[r.v as usize].is_some() {
                0.25
            } else {
                1.0
            };
            again * r.weight / (r.last - r.first + 1) as f64
        };
        let cheapest = active
            .iter()
            .enumerate()
            .filter(|(_, r)| list.classes[r.v as usize] == Class::Vector)
            .min_by(|a, b| cost(a.1).total_cmp(&cost(b.1)))
            .map(|(at, r)| (at, cost(r)));
        let out = match cheapest {
            Some((at, theirs)) if theirs < cost(&range) => {
                let victim = active.swap_remove(at);
                places[range.v as usize] = places[victim.v as usize];
                active.push(range);
                victim
            }
            _ => range,
        };
        in_memory = true;
        places[out.v as usize] = Place::Memory(match origins[out.v as usize] {
            Some(mem) => mem,
            None => {
                spilled += 1;
                frame += vector as i64;
                Mem {
                    base: Base::Frame,
                    disp: frame - vector as i64,
                    broadcast: false,
                    by_k: false,
                }
            }
        });
    }
    Some(Placement {
        places,
        spilled,
        in_memory,
        frame,
    })
}
