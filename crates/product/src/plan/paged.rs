//! The sum-product paper's cache in software (section 5), planned: pages of the result, segments of
//! functions, their validity.
//!
//! ```text
//! a page is a contiguous run of the result: all values of its fastest variables, some values of the next one
//! a segment is what a page needs of one function
//! for each thread block, for each of its pages, in order:
//!     for each function with a segment: fetch it, if the page before had another one
//!     for each entry of the page, in parallel: sum the products; a function without a segment is read from beyond the cache
//! ```

use super::cache::{Bucket, Traffic};

/// What a kernel runs on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    /// Entries that the shared memory of a thread block holds.
    pub entries: usize,
    /// Most threads of a thread block.
    pub threads: usize,
    /// Thread blocks that run at a time.
    pub blocks: usize,
    /// Operations a second.
    pub operations: f64,
    /// Operands a second that threads take from segments or from the caches of their processors.
    pub operands: f64,
    /// Entries a second from and to memory.
    pub memory: f64,
    /// Entries a second from and to the cache that all thread blocks share.
    pub shared: f64,
    /// Entries that this cache holds.
    pub held: f64,
    /// Pages that a thread block takes, where that is given.
    pub pages_per_block: Option<usize>,
    /// Seconds to start a kernel and to learn that it ended.
    pub start: f64,
    /// Seconds that a thread block takes to start, a page with a segment to fetch, and one without.
    pub waits: [f64; 3],
}

/// How functions get segments where not all of them fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Knapsack {
    /// By reads that an entry of the cache saves.
    #[default]
    Greedy,
    /// The best of all choices.
    Exact,
    /// No function gets one: the caches of the hardware alone.
    None,
}

/// The pages and segments of one bucket.
#[derive(Clone, Debug, PartialEq)]
pub struct Paged {
    /// The result variable that pages divide; slower ones stand still within a page.
    pub variable: usize,
    /// Values of that variable in a page; the last page of the variable may have fewer.
    pub values: usize,
    /// Entries of a page.
    pub page: usize,
    /// Number of pages.
    pub pages: usize,
    /// Pages that one thread block takes, one after another.
    pub pages_per_block: usize,
    /// Threads of a thread block.
    pub threads: usize,
    /// By function: entries of its segment, `None` where it is read from beyond the cache.
    pub segments: Vec<Option<usize>>,
    /// By function: pages, one after another, with the same segment.
    pub valid: Vec<usize>,
    /// What goes to and from memory.
    pub traffic: Traffic,
    /// Predicted seconds.
    pub seconds: f64,
}

/// The least pages that a device should have for each thread block that runs, so that none waits at
/// the end.
const WAVES: usize = 4;
/// Threads for each one that computes: so many hide the time of reads.
const WAITING: f64 = 2.0;
/// Threads that run in step.
const WARP: usize = 32;

impl Paged {
    /// The pages and segments with the least predicted time.
    pub fn new(bucket: &Bucket, unit: &Unit, knapsack: Knapsack) -> Self {
        let all = Self::all(bucket, unit, knapsack).into_iter();
        let best = all.reduce(|best, next| {
            if next.seconds < best.seconds {
                next
            } else {
                best
            }
        });
        best.unwrap_or_else(|| {
            Self::with_page(
                &Bucket {
                    out: vec![1],
                    ..bucket.alone()
                },
                unit,
                knapsack,
                (0, 1),
            )
        })
    }
    /// Pages of all sizes: a power of two of values of a result variable, or all of them.
    pub fn all(bucket: &Bucket, unit: &Unit, knapsack: Knapsack) -> Vec<Self> {
        let mut out = Vec::new();
        for (variable, card) in bucket.out.iter().enumerate().rev() {
            let powers = (0..usize::BITS).map(|p| 1 << p);
            let values = powers.take_while(|v| v < card).chain([*card]);
            let made = values.map(|v| Self::with_page(bucket, unit, knapsack, (variable, v)));
            out.extend(made);
        }
        out
    }
    /// The segments of pages of so many `values` of a result `variable` and all values of the
    /// faster ones.
    pub fn with_page(
        bucket: &Bucket,
        unit: &Unit,
        knapsack: Knapsack,
        (variable, values): (usize, usize),
    ) -> Self {
        let divided = bucket.divided(variable, values);
        let outer = variable + 1;
        let page: usize = divided.out[outer..].iter().product();
        let pages: usize = divided.out[..outer].iter().product();
        let pages_per_block = unit.pages_of_block(pages);
        let valid: Vec<usize> = divided
            .functions
            .iter()
            .map(|(holds, _)| valid(&divided.out[..outer], holds))
            .collect();
        let visits = divided.out.iter().map(|c| *c as f64).product::<f64>() * bucket.summed as f64;
        let fetched = |valid: usize| fetches(pages, pages_per_block, valid) as f64;
        let items = items(&divided, (outer, visits), &valid, &fetched);
        let chosen = choose(&items, unit.entries as f64, knapsack);
        let read = taken(&items, &chosen, |i| i.direct);
        let traffic = Traffic {
            operations: bucket.operations(),
            read,
            written: bucket.written(),
        };
        let threads = page.next_multiple_of(WARP).min(unit.threads);
        let blocks = pages.div_ceil(pages_per_block);
        let (lanes, busy) = unit.share_at_work(page, threads, blocks);
        let beyond = beyond(bucket, &items, &chosen, unit.held);
        let all = (visits * bucket.functions.len() as f64, beyond);
        let waits = unit.waiting(blocks, pages_per_block, chosen.contains(&true));
        let rates = unit.seconds(&traffic, lanes, (&items, &chosen), all) / busy;
        let seconds = unit.start + rates.max(waits);
        let segments = items
            .iter()
            .zip(chosen)
            .map(|(i, held)| held.then_some(i.size as usize))
            .collect();
        Paged {
            variable,
            values,
            page,
            pages,
            pages_per_block,
            threads,
            segments,
            valid,
            traffic,
            seconds,
        }
    }
    /// Thread blocks.
    pub fn blocks(&self) -> usize {
        self.pages.div_ceil(self.pages_per_block)
    }
    /// How often all thread blocks together fetch a segment of function `f`.
    pub fn fetches(&self, f: usize) -> usize {
        fetches(self.pages, self.pages_per_block, self.valid[f])
    }
    /// The share of reads that the segments serve.
    pub fn hit_rate(&self, bucket: &Bucket) -> f64 {
        1.0 - self.traffic.read / bucket.uncached().read
    }
    /// Entries of all segments.
    pub fn entries(&self) -> usize {
        self.segments.iter().flatten().sum()
    }
}

impl Unit {
    /// Pages that one thread block takes.
    fn pages_of_block(&self, pages: usize) -> usize {
        let fair = (pages / (WAVES * self.blocks.max(1))).max(1);
        self.pages_per_block.unwrap_or(fair).clamp(1, pages.max(1))
    }
    /// The share of threads at work, and that of multiprocessors: threads without an entry, and
    /// multiprocessors without enough thread blocks, wait.
    fn share_at_work(&self, page: usize, threads: usize, blocks: usize) -> (f64, f64) {
        let lanes = page as f64 / page.next_multiple_of(threads) as f64;
        let enough = (self.blocks * self.threads) as f64 / WAITING;
        (lanes, (blocks as f64 * threads as f64 / enough).min(1.0))
    }
    /// Seconds in which so many thread blocks start, fetch and wait for each other, one wave of
    /// them after another. The first page of the first wave belongs to the start of the kernel.
    fn waiting(&self, blocks: usize, pages_per_block: usize, fetching: bool) -> f64 {
        let [start, fetch, plain] = self.waits;
        let page = if fetching { fetch } else { plain };
        let waves = blocks.div_ceil(self.blocks.max(1)) as f64;
        waves * (start + page * pages_per_block as f64) - (start + page)
    }
    /// Seconds with all multiprocessors at work, of which each has so many of its `lanes` at work:
    /// the longest of what takes operations, `operands` and entries from the shared cache and from
    /// `beyond` it.
    fn seconds(
        &self,
        traffic: &Traffic,
        lanes: f64,
        (items, chosen): (&[Item], &[bool]),
        (operands, beyond): (f64, f64),
    ) -> f64 {
        // Threads of a warp that want the same entry take it once.
        let loads = taken(items, chosen, |i| i.direct * i.distinct);
        (traffic.operations / (self.operations * lanes))
            .max(operands / (self.operands * lanes))
            .max((loads + traffic.written) / self.shared)
            .max((beyond + traffic.written) / self.memory)
    }
}

impl Bucket {
    /// The bucket of one entry: the result variables left out.
    fn alone(&self) -> Bucket {
        let functions = self
            .functions
            .iter()
            .map(|(_, summed)| (vec![false], *summed))
            .collect();
        Bucket {
            out: vec![],
            summed: self.summed,
            functions,
        }
    }
    /// The bucket with one result `variable` as two: blocks of so many `values`, and the values of
    /// a block.
    fn divided(&self, variable: usize, values: usize) -> Bucket {
        let mut divided = self.clone();
        let card = divided.out[variable];
        divided
            .out
            .splice(variable..=variable, [card.div_ceil(values), values]);
        for (holds, _) in &mut divided.functions {
            holds.insert(variable, holds[variable]);
        }
        divided
    }
}

/// What a segment costs and saves.
struct Item {
    /// Entries.
    size: f64,
    /// Entries read with a segment.
    fetched: f64,
    /// Entries read without one.
    direct: f64,
    /// The share of them that differ within a warp.
    distinct: f64,
}

/// By function: what a segment costs and saves, the first `outer` digits standing still within a
/// page.
fn items(
    divided: &Bucket,
    (outer, visits): (usize, f64),
    valid: &[usize],
    fetched: &dyn Fn(usize) -> f64,
) -> Vec<Item> {
    let functions = divided.functions.iter().zip(valid);
    let item = |(f, valid): (&(Vec<bool>, usize), &usize)| {
        let size = divided.segment(f, outer);
        Item {
            size,
            fetched: size * fetched(*valid),
            direct: visits,
            distinct: distinct(&divided.out[outer..], &f.0[outer..]),
        }
    };
    functions.map(item).collect()
}

impl Item {
    fn saves(&self) -> f64 {
        self.direct - self.fetched
    }
    /// Entries that are read, with a segment or as `direct` says.
    fn taken(&self, held: bool, direct: impl Fn(&Item) -> f64) -> f64 {
        if held { self.fetched } else { direct(self) }
    }
}

/// Entries that are read: with a segment those fetched, without one as `direct` says.
fn taken(items: &[Item], chosen: &[bool], direct: impl Fn(&Item) -> f64) -> f64 {
    let one = |(item, held): (&Item, &bool)| item.taken(*held, &direct);
    items.iter().zip(chosen).map(one).sum()
}

/// Entries that come from beyond a cache of `held` entries: of a table that it holds each one once.
fn beyond(bucket: &Bucket, items: &[Item], chosen: &[bool], held: f64) -> f64 {
    let all = bucket.functions.iter().zip(items).zip(chosen);
    all.map(|((f, item), chosen)| {
        let (size, read) = (
            bucket.segment(f, 0),
            item.taken(*chosen, |i| i.direct * i.distinct),
        );
        if size <= held { size.min(read) } else { read }
    })
    .sum()
}

/// The share of the entries of a warp that differ in a function that holds some of the variables of
/// a page.
fn distinct(page: &[usize], holds: &[bool]) -> f64 {
    let (mut lanes, mut own) = (1, 1);
    for (card, holds) in page.iter().zip(holds).rev() {
        let more = (*card).min(WARP.div_ceil(lanes));
        own *= if *holds { more } else { 1 };
        lanes *= more;
    }
    own as f64 / lanes as f64
}

/// By function whether it gets a segment, all within `room` entries.
fn choose(items: &[Item], room: f64, knapsack: Knapsack) -> Vec<bool> {
    match knapsack {
        Knapsack::None => vec![false; items.len()],
        Knapsack::Greedy => greedy(items, room),
        Knapsack::Exact => exact(items, room),
    }
}

fn greedy(items: &[Item], room: f64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..items.len())
        .filter(|i| items[*i].saves() > 0.0)
        .collect();
    order.sort_by(|a, b| {
        (items[*b].saves() / items[*b].size).total_cmp(&(items[*a].saves() / items[*a].size))
    });
    let (mut chosen, mut left) = (vec![false; items.len()], room);
    for i in order {
        if items[i].size <= left {
            left -= items[i].size;
            chosen[i] = true;
        }
    }
    chosen
}

/// All subsets: a bucket has at most eight functions.
fn exact(items: &[Item], room: f64) -> Vec<bool> {
    let holds = |subset: usize, i: usize| subset >> i & 1 == 1;
    let sum = |subset: usize, of: fn(&Item) -> f64| -> f64 {
        items
            .iter()
            .enumerate()
            .filter(|(i, _)| holds(subset, *i))
            .map(|(_, item)| of(item))
            .sum()
    };
    let fits = (0..1 << items.len()).filter(|s| sum(*s, |i| i.size) <= room);
    let best = fits
        .max_by(|a, b| sum(*a, Item::saves).total_cmp(&sum(*b, Item::saves)))
        .unwrap_or(0);
    (0..items.len()).map(|i| holds(best, i)).collect()
}

/// Pages, one after another, with the same segment: configurations of the outer variables faster
/// than the last that the function holds.
fn valid(outer: &[usize], holds: &[bool]) -> usize {
    let moves = |at: &usize| holds[*at] && outer[*at] > 1;
    let first = (0..outer.len()).rev().find(moves).map_or(0, |at| at + 1);
    outer[first..].iter().product()
}

/// How often a segment is fetched: whenever it changes, and by each thread block for its first
/// page.
fn fetches(pages: usize, pages_per_block: usize, valid: usize) -> usize {
    let blocks = pages.div_ceil(pages_per_block);
    let aligned = valid / greatest_divisor(valid, pages_per_block);
    pages.div_ceil(valid) + blocks - blocks.div_ceil(aligned)
}

fn greatest_divisor(a: usize, b: usize) -> usize {
    if b == 0 {
        a
    } else {
        greatest_divisor(b, a % b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zipfold_core::Random;

    const UNIT: Unit = Unit {
        entries: 12 << 10,
        threads: 256,
        blocks: 264,
        operations: 6e13,
        operands: 8e12,
        memory: 1e12,
        shared: 2e12,
        held: 4e6,
        pages_per_block: None,
        start: 0.0,
        waits: [0.0; 3],
    };

    fn random_bucket(random: &mut Random) -> Bucket {
        let out: Vec<usize> = (0..1 + random.below(4))
            .map(|_| 1 + random.below(7))
            .collect();
        let function = |random: &mut Random| {
            (
                out.iter().map(|_| random.below(2) == 0).collect(),
                1 + random.below(9),
            )
        };
        let functions = (0..1 + random.below(4)).map(|_| function(random)).collect();
        Bucket {
            summed: 9,
            functions,
            out,
        }
    }

    #[test]
    fn fetches_are_those_of_the_walk_over_pages() {
        let mut random = Random::new(5);
        for _ in 0..2000 {
            let bucket = random_bucket(&mut random);
            let variable = random.below(bucket.out.len());
            let values = 1 + random.below(bucket.out[variable]);
            let unit = Unit {
                blocks: 1 + random.below(5),
                ..UNIT
            };
            let plan = Paged::with_page(&bucket, &unit, Knapsack::Exact, (variable, values));
            let outer = &bucket.divided(variable, values).out[..=variable];
            for (f, (holds, _)) in bucket.functions.iter().enumerate() {
                let address = |page: usize| -> Vec<usize> {
                    let digit =
                        |at: usize| page / outer[at + 1..].iter().product::<usize>() % outer[at];
                    (0..outer.len())
                        .filter(|at| holds[*at])
                        .map(digit)
                        .collect()
                };
                let new = |p: &usize| {
                    p.is_multiple_of(plan.pages_per_block) || address(*p) != address(p - 1)
                };
                let walked = (0..plan.pages).filter(new).count();
                assert_eq!(
                    fetches(plan.pages, plan.pages_per_block, plan.valid[f]),
                    walked,
                    "{bucket:?} {plan:?}"
                );
            }
        }
    }

    #[test]
    fn the_exact_knapsack_reads_no_more_than_the_greedy_one_and_both_fit() {
        let mut random = Random::new(6);
        for _ in 0..2000 {
            let bucket = random_bucket(&mut random);
            let unit = Unit {
                entries: random.below(30),
                ..UNIT
            };
            let variable = random.below(bucket.out.len());
            let page = (variable, 1 + random.below(bucket.out[variable]));
            let [greedy, exact, none] = [Knapsack::Greedy, Knapsack::Exact, Knapsack::None]
                .map(|k| Paged::with_page(&bucket, &unit, k, page));
            assert!(greedy.entries() <= unit.entries && exact.entries() <= unit.entries);
            assert!(
                exact.traffic.read <= greedy.traffic.read
                    && greedy.traffic.read <= none.traffic.read
            );
        }
        // The greedy one takes what saves most by entry, and then has no room for two others that
        // save more in all.
        let item = |size, saves| Item {
            size,
            fetched: 0.0,
            direct: saves,
            distinct: 1.0,
        };
        let items = [item(6.0, 10.0), item(5.0, 8.0), item(5.0, 8.0)];
        assert_eq!(choose(&items, 10.0, Knapsack::Greedy), [true, false, false]);
        assert_eq!(choose(&items, 10.0, Knapsack::Exact), [false, true, true]);
    }

    #[test]
    fn a_matrix_product_has_the_intensities_that_the_paper_prints() {
        // Section 5.1: 0.99 without a cache; 1.4 and more with rows, then columns, in it; 52 with
        // everything.
        let product = Bucket {
            out: vec![79, 79],
            summed: 100,
            functions: vec![(vec![true, false], 100), (vec![false, true], 100)],
        };
        let with = |entries, page| {
            Paged::with_page(
                &product,
                &Unit {
                    entries,
                    blocks: 1,
                    ..UNIT
                },
                Knapsack::Exact,
                page,
            )
            .traffic
            .intensity()
        };
        assert!((with(0, (1, 79)) - 0.99).abs() < 1e-2);
        let whole = 1.99 / (2.0 / 79.0 + 1.0 / 100.0);
        let one_block = Unit {
            entries: 79 * 100 + 100,
            blocks: 1,
            ..UNIT
        };
        let mut kept = Paged::with_page(&product, &one_block, Knapsack::Exact, (1, 79));
        assert_eq!(kept.segments, [Some(100), Some(7900)]);
        assert_eq!(kept.valid, [1, 79]);
        assert!(
            kept.traffic.intensity() > 20.0 && kept.traffic.intensity() <= whole,
            "{}",
            kept.traffic.intensity()
        );
        kept = Paged::new(&product, &one_block, Knapsack::Greedy);
        assert!(
            kept.seconds
                <= Paged::with_page(&product, &one_block, Knapsack::Greedy, (1, 79)).seconds
        );
    }

    #[test]
    fn a_warp_takes_an_entry_once_and_a_given_number_of_pages_is_kept() {
        assert_eq!(distinct(&[4, 64], &[true, true]), 1.0);
        assert_eq!(distinct(&[4, 64], &[true, false]), 1.0 / 32.0);
        assert_eq!(distinct(&[4, 8], &[true, false]), 1.0 / 8.0);
        assert_eq!(distinct(&[4, 8], &[false, true]), 1.0 / 4.0);
        assert_eq!(distinct(&[], &[]), 1.0);
        let product = Bucket {
            out: vec![50, 40],
            summed: 20,
            functions: vec![(vec![true, false], 20), (vec![false, true], 20)],
        };
        let unit = Unit {
            pages_per_block: Some(7),
            ..UNIT
        };
        let plan = Paged::with_page(&product, &unit, Knapsack::Greedy, (0, 1));
        assert_eq!(
            (plan.pages, plan.pages_per_block, plan.blocks()),
            (50, 7, 8)
        );
        // Each of 50 pages takes 20 entries of the first table; each thread block all of the second.
        assert_eq!(plan.traffic.read, 50.0 * 20.0 + 8.0 * 800.0);
        assert!((plan.hit_rate(&product) - (1.0 - 7400.0 / 80_000.0)).abs() < 1e-12);
    }

    #[test]
    fn a_bucket_without_result_variables_is_one_page_of_one_entry() {
        let sum = Bucket {
            out: vec![],
            summed: 30,
            functions: vec![(vec![], 30), (vec![], 5)],
        };
        let plan = Paged::new(&sum, &UNIT, Knapsack::Greedy);
        assert_eq!((plan.page, plan.pages, plan.blocks()), (1, 1, 1));
    }
}
