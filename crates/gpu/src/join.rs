//! Matches of joins on their way home.

use crate::points::{Launch, NONE, PAGE};
use crate::runtime::{Arg, Grid, Kernel, Memory};
use zipfold_core::fold::{Join, JoinState, Tally};
use zipfold_core::{Domain, Error, Result, Side};
use zipfold_plan::device::matrix::TILE;

impl Launch<'_> {
    /// The direct output buffer of the two-body paper: drained, and the kernel started again, until
    /// all blocks are done.
    pub(crate) fn pairs(&self, f: &Join, state: &mut JoinState) -> Result<Tally> {
        if let Some(place) = &self.pass.place {
            return self.counted_pairs(place, f, state);
        }
        let blocks = self.grid.x as usize * self.grid.y as usize;
        let pages = self.pages(blocks);
        let (pool, fills) = (self.device.allocate(4)?, self.device.allocate(pages * 4)?);
        let slots = self.device.allocate(pages * PAGE * 8)?;
        let values = self.device.allocate(if f.value.is_some() {
            pages * PAGE * 8
        } else {
            8
        })?;
        let resume = self.device.upload(&vec![0u32; blocks])?;
        let tally = self.tally()?;
        let mut places = vec![0u32; blocks];
        while places.iter().any(|p| *p != NONE) {
            self.device.clear(&pool)?;
            self.device.clear(&fills)?;
            let args = vec![
                Arg::Memory(&pool),
                Arg::Memory(&fills),
                Arg::Memory(&slots),
                Arg::Memory(&values),
                Arg::Memory(&resume),
            ];
            let mut args = args;
            args.push(Arg::U32(pages as u32));
            self.start(&self.pass.kernel, &self.with(args, &tally))?;
            self.drain(f, pages, [&pool, &fills, &slots, &values], state)?;
            self.device.read(&resume, &mut places)?;
        }
        self.tallied(&tally)
    }
    /// Pages of the pool: one for every block and more, within a sixteenth of the device's memory;
    /// the matches of a tile fit.
    fn pages(&self, blocks: usize) -> usize {
        let most =
            (self.device.facts.memory / 16).min(self.device.facts.largest) as usize / (PAGE * 8);
        (blocks + 64).clamp(TILE * TILE / PAGE, most.max(TILE * TILE / PAGE))
    }
    fn drain(
        &self,
        f: &Join,
        pages: usize,
        [pool, fills, slots, values]: [&Memory; 4],
        state: &mut JoinState,
    ) -> Result<()> {
        let mut used = [0u32];
        self.device.read(pool, &mut used)?;
        let used = (used[0] as usize).min(pages);
        let mut filled = vec![0u32; used];
        self.device.read(fills, &mut filled)?;
        let before = filled.iter().scan(0u32, |sum, fill| {
            *sum += fill;
            Some(*sum - fill)
        });
        let offsets: Vec<u32> = before.collect();
        let total: usize = filled.iter().map(|fill| *fill as usize).sum();
        if total == 0 {
            return Ok(());
        }
        let gather = self.pass.gather.as_ref();
        let gather = gather.ok_or_else(|| Error::internal("pages that no kernel gathers"))?;
        let (found, held) = (
            self.device.allocate(total * 8)?,
            self.device
                .allocate(if f.value.is_some() { total * 8 } else { 8 })?,
        );
        let offsets = self.device.upload(&offsets)?;
        let memories = [fills, &offsets, slots, values, &found, &held];
        let mut args: Vec<Arg<'_>> = memories.into_iter().map(Arg::Memory).collect();
        args.push(Arg::U32(u32::from(f.value.is_some())));
        let grid = Grid {
            x: used as u32,
            y: 1,
            threads: 256,
        };
        self.device.launch(gather, grid, &args)?;
        let mut pairs = vec![0u32; total * 2];
        self.device.read(&found, &mut pairs)?;
        let mut kept = vec![0f64; if f.value.is_some() { total } else { 0 }];
        self.device.read(&held, &mut kept)?;
        self.absorb(f, &pairs, &kept, state);
        Ok(())
    }
    /// Two passes: matches are counted by block, then computed again and put after those of the
    /// blocks before.
    fn counted_pairs(&self, place: &Kernel, f: &Join, state: &mut JoinState) -> Result<Tally> {
        let blocks = self.grid.x as usize * self.grid.y as usize;
        let counts = self.device.upload(&vec![0u32; blocks])?;
        let tally = self.tally()?;
        self.start(
            &self.pass.kernel,
            &self.with(vec![Arg::Memory(&counts)], &tally),
        )?;
        let mut counted = vec![0u32; blocks];
        self.device.read(&counts, &mut counted)?;
        let total: u64 = counted.iter().map(|c| u64::from(*c)).sum();
        if total > u64::from(NONE) {
            // Smaller tiles have fewer matches.
            return Err(Error::resource(format!("{total} matches of one tile")).limit("4294967295"));
        }
        let before = counted.iter().scan(0u32, |sum, c| {
            *sum += c;
            Some(*sum - c)
        });
        let offsets: Vec<u32> = before.collect();
        let (offsets, total) = (self.device.upload(&offsets)?, total as usize);
        let slots = self.device.allocate(total.max(1) * 8)?;
        let values = self.device.allocate(if f.value.is_some() {
            total.max(1) * 8
        } else {
            8
        })?;
        let unread = self.tally()?;
        let args = vec![
            Arg::Memory(&offsets),
            Arg::Memory(&slots),
            Arg::Memory(&values),
        ];
        self.start(place, &self.with(args, &unread))?;
        let (mut pairs, mut kept) = (
            vec![0u32; total * 2],
            vec![0f64; if f.value.is_some() { total } else { 0 }],
        );
        self.device.read(&slots, &mut pairs)?;
        self.device.read(&values, &mut kept)?;
        self.absorb(f, &pairs, &kept, state);
        self.tallied(&tally)
    }
    /// Absorbs matches: rows of x and of y by turns, and the values that are kept.
    fn absorb(&self, f: &Join, pairs: &[u32], kept: &[f64], state: &mut JoinState) {
        let sorted = self.listed.map(|(_, sorted)| {
            let half = matches!(self.pass.shape.domain, Domain::Triangle | Domain::Diagonal);
            ([Side::X, Side::Y].map(|side| sorted.order(side)), half)
        });
        for (at, pair) in pairs.as_chunks::<2>().0.iter().enumerate() {
            let value = f.value.map(|_| kept[at]);
            let [i, j] = match sorted {
                None => pair.map(|row| row as usize),
                Some(([x, y], half)) => {
                    let given = [x[pair[0] as usize], y[pair[1] as usize]];
                    let [i, j] = given.map(|row| row as usize);
                    // A pair of a half space is told with its earlier row first.
                    if half { [i.min(j), i.max(j)] } else { [i, j] }
                }
            };
            state.absorb(f, i, j, value);
        }
    }
}
