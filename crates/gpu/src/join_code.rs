//! The kernels that join tables on a device: what each is compiled for, and its source.

use crate::emit::{fill, header, type_name};
use crate::tile::{TILES, Tile};
use crate::visit_text;
use zipfold_core::Precision;
use zipfold_plan::device::Runtime;

/// What a kernel is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Code {
    /// Tiles; whether the entries of each table lie along the folded index.
    Tiles {
        tile: Tile,
        along: [bool; 2],
        folding: Folding,
        wide: bool,
    },
    /// Tiles of a thread, by the tables of each role.
    Visit {
        counts: [usize; 4],
        tile: (usize, usize),
        /// Whether rows lie in shared memory.
        staged: bool,
        folding: Folding,
        wide: bool,
    },
    Parts {
        folding: Folding,
    },
    Ends,
    Scale,
    Exponentials,
    Logarithms,
}

/// What becomes of the products of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Folding {
    /// Their maximum instead of their sum.
    pub max: bool,
    /// Its natural logarithm.
    pub logs: bool,
}

impl Folding {
    /// The same without the end.
    pub(crate) fn values(self) -> Self {
        Folding {
            logs: false,
            ..self
        }
    }
    /// What a kernel does with the fold `total` of an entry, and the argument that it takes for
    /// that.
    fn end(self, total: &str, precision: Precision) -> Filling {
        let (last, shift) = match self.logs {
            false => (total.into(), ""),
            true => {
                let call = format!("{}({total}, shift)", logarithm(precision));
                (call, ", double shift")
            }
        };
        vec![("LAST", last), ("SHIFT", shift.into())]
    }
}

/// The functions of `kernels/logarithms.h`.
fn logarithm(precision: Precision) -> &'static str {
    match precision {
        Precision::F32 => "zf_logarithm_f",
        Precision::F64 => "zf_logarithm_d",
    }
}

/// Counts of tables by role, with the tile of a thread, and whether rows lie in shared memory.
fn visits(precision: Precision) -> Vec<([usize; 4], (usize, usize), bool)> {
    let plain = (1..=6).map(|tables| ([tables, 0, 0, 0], (1, 1)));
    let [largest, half] = match precision {
        Precision::F32 => [(4, 8), (4, 4)],
        Precision::F64 => [(4, 4), (2, 4)],
    };
    let apart = [[0, 1, 1, 0], [1, 1, 1, 0]].map(|counts| (counts, largest));
    let both = [[0, 1, 1, 1], [2, 0, 1, 1]].map(|counts| (counts, half));
    let alone = plain.chain(apart).chain(both);
    let [small, large] = visit_text::STAGED;
    let staged_apart = if precision == Precision::F32 {
        large
    } else {
        small
    };
    let staged = [([0, 1, 1, 0], staged_apart), ([1, 1, 1, 1], small)];
    let alone = alone.map(|(counts, tile)| (counts, tile, false));
    let staged = staged.map(|(counts, tile)| (counts, tile, true));
    alone.chain(staged).collect()
}

/// The kernels of joins with one folding and type of offsets.
fn joins(precision: Precision, folding: Folding, wide: bool) -> Vec<Code> {
    let visits = visits(precision).into_iter();
    let visits = visits.map(|(counts, tile, staged)| Code::Visit {
        counts,
        tile,
        staged,
        folding,
        wide,
    });
    let flags = [false, true];
    let along = flags.into_iter().flat_map(|a| flags.map(|b| [a, b]));
    let tiles = TILES[usize::from(precision == Precision::F64)].into_iter();
    let tiles = tiles.flat_map(|tile| along.clone().map(move |along| (tile, along)));
    let tiles = tiles.map(|(tile, along)| Code::Tiles {
        tile,
        along,
        folding,
        wide,
    });
    visits.chain(tiles).collect()
}

/// Every kernel for tables of up to six inputs: what it is, and its source. Kernels that end in
/// logarithms are sums with short offsets.
pub fn sources(precision: Precision, runtime: Runtime) -> Vec<(String, String)> {
    let flags = [false, true];
    let foldings = [(false, false), (true, false), (false, true)];
    let foldings = foldings.map(|(max, logs)| Folding { max, logs });
    let mut codes: Vec<Code> = foldings
        .into_iter()
        .map(|folding| Code::Parts { folding })
        .chain([Code::Ends, Code::Scale])
        .chain([Code::Exponentials, Code::Logarithms])
        .collect();
    for (folding, wide) in foldings
        .into_iter()
        .flat_map(|folding| flags.map(|wide| (folding, wide)))
        .filter(|(folding, wide)| !folding.logs || !wide)
    {
        codes.extend(joins(precision, folding, wide));
    }
    codes
        .into_iter()
        .map(|code| {
            (
                format!("{code:?} {precision:?}"),
                code.source(precision, runtime),
            )
        })
        .collect()
}

impl Code {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Code::Tiles { .. } => "zf_contract",
            Code::Visit { staged: true, .. } => "zf_stripe",
            Code::Visit { .. } => "zf_visit",
            Code::Parts { .. } => "zf_parts",
            Code::Ends => "zf_ends",
            Code::Scale => "zf_scale",
            Code::Exponentials => "zf_exponentials",
            Code::Logarithms => "zf_logarithms",
        }
    }
    pub(crate) fn folding(self) -> Folding {
        match self {
            Code::Tiles { folding, .. } | Code::Visit { folding, .. } | Code::Parts { folding } => {
                folding
            }
            Code::Ends | Code::Scale | Code::Exponentials | Code::Logarithms => Folding {
                max: false,
                logs: false,
            },
        }
    }
    /// The source of the kernel.
    pub(crate) fn source(self, precision: Precision, runtime: Runtime) -> String {
        let Folding { max, .. } = self.folding();
        let (fragment, total, mut places) = match self {
            Code::Tiles {
                tile, along, wide, ..
            } => (
                include_str!("kernels/contract.c"),
                "total[i][j]",
                tile.places(along, max, wide, precision),
            ),
            Code::Visit {
                counts,
                tile,
                staged,
                wide,
                ..
            } => {
                let (text, mut filling) = match staged {
                    true => (
                        include_str!("kernels/stripe.c"),
                        visit_text::staged(counts, tile, max, precision),
                    ),
                    false => (
                        include_str!("kernels/visit.c"),
                        visit_text::alone(counts, tile, max, type_name(precision)),
                    ),
                };
                filling.push(("INDEX", index(wide)));
                (text, "total[i][j]", filling)
            }
            _ => (
                include_str!("kernels/mantissas.c"),
                "total",
                over_tables(max, precision),
            ),
        };
        places.extend(self.folding().end(total, precision));
        places.push(("T", type_name(precision).into()));
        let logarithms = match self {
            Code::Tiles { folding, .. } | Code::Visit { folding, .. } if !folding.logs => "",
            _ => include_str!("kernels/logarithms.h"),
        };
        header(runtime) + logarithms + &fill(fragment, &places)
    }
}

/// What fills the kernels over whole tables.
fn over_tables(max: bool, precision: Precision) -> Filling {
    let fold = if max {
        "more > total ? more : total"
    } else {
        "total + more"
    };
    let [infinity, mantissa] = match precision {
        Precision::F32 => ["ZF_INF_F", "zf_mantissa_f"],
        Precision::F64 => ["ZF_INF_D", "zf_mantissa_d"],
    };
    vec![
        ("FOLD", fold.into()),
        ("INFINITY", infinity.into()),
        ("MANTISSA", mantissa.into()),
        ("LOGARITHM", logarithm(precision).into()),
    ]
}

/// The places of a fragment, and what fills them.
type Filling = Vec<(&'static str, String)>;

/// The type of offsets.
fn index(wide: bool) -> String {
    if wide { "zf_u64" } else { "zf_u32" }.into()
}

impl Tile {
    fn places(self, along: [bool; 2], max: bool, wide: bool, precision: Precision) -> Filling {
        let fold = match max {
            true => "total[i][j] > x[i] * y[j] ? total[i][j] : x[i] * y[j]",
            false => "fma(x[i], y[j], total[i][j])",
        };
        // Rows that are read at a time: 16 bytes.
        let quad = self.tall.min(16 / precision.bytes());
        let numbers = [
            ("THREADS", self.threads()),
            ("ROWS", self.rows),
            ("COLUMNS", self.columns),
            ("TALL", self.tall),
            ("WIDE", self.wide),
            ("STEP", self.step),
            ("QUAD", quad),
            ("ROWS_APART", self.rows * quad / self.tall),
            ("COLUMNS_APART", self.columns / self.wide),
            ("FETCH_A", self.rows * self.step / self.threads()),
            ("FETCH_B", self.columns * self.step / self.threads()),
            ("A_ALONG_K", usize::from(along[0])),
            ("B_ALONG_K", usize::from(along[1])),
        ];
        let numbers = numbers
            .into_iter()
            .map(|(name, number)| (name, number.to_string()));
        numbers
            .chain([("INDEX", index(wide)), ("FOLD", fold.into())])
            .collect()
    }
}
