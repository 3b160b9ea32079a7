//! Which instruction sets exist, which this processor has, and which one is requested.

use std::sync::atomic::{AtomicU8, Ordering};

/// An instruction set, ordered by preference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Isa {
    /// SSE2 on x86-64, and arrays in portable Rust with the same bits where neither SSE2 nor NEON is.
    Scalar,
    /// NEON, which all 64-bit ARM has.
    Neon,
    /// AVX2 with FMA.
    Avx2,
    /// AVX-512 F, BW, DQ and VL.
    Avx512,
}

impl Isa {
    /// All of them, worst first.
    pub const ALL: [Isa; 4] = [Isa::Scalar, Isa::Neon, Isa::Avx2, Isa::Avx512];

    /// The worst one of this architecture, which all of its processors have.
    pub const WORST: Isa = match cfg!(target_arch = "aarch64") {
        true => Isa::Neon,
        false => Isa::Scalar,
    };

    /// Whether this processor has it.
    pub fn is_available(self) -> bool {
        match self {
            Isa::Scalar => !cfg!(target_arch = "aarch64"),
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => true,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => {
                is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("fma")
                    && is_x86_feature_detected!("bmi2")
            }
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => {
                cfg!(not(zipfold_without_avx512))
                    && Isa::Avx2.is_available()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
            }
            #[allow(unreachable_patterns, reason = "depends on the architecture")]
            _ => false,
        }
    }

    /// The ones that this processor has, worst first.
    pub fn available() -> Vec<Isa> {
        Isa::ALL.into_iter().filter(|i| i.is_available()).collect()
    }

    /// The best one, or what the environment variable `ZIPFOLD_ISA` names if the processor has
    /// that. Called for every register tile, so that it takes a load.
    #[inline]
    pub fn detect() -> Isa {
        /// One more than the instruction set's number; 0 before anybody asked.
        static FOUND: AtomicU8 = AtomicU8::new(0);
        match FOUND.load(Ordering::Relaxed) {
            1 => Isa::Scalar,
            2 => Isa::Neon,
            3 => Isa::Avx2,
            4 => Isa::Avx512,
            _ => {
                let isa = Isa::wanted();
                FOUND.store(isa as u8 + 1, Ordering::Relaxed);
                isa
            }
        }
    }
    #[cold]
    fn wanted() -> Isa {
        let asked = std::env::var("ZIPFOLD_ISA")
            .ok()
            .and_then(|name| name.parse().ok());
        asked.unwrap_or(Isa::Avx512).clamp_to_hardware()
    }

    /// This one, or the best below it that the processor has, or its worst. Called for every line of values, so
    /// that it takes a load and a test.
    #[inline]
    pub fn clamp_to_hardware(self) -> Isa {
        /// A bit for each instruction set that is there; 0 before anybody asked, since one always is.
        static THERE: AtomicU8 = AtomicU8::new(0);
        let bit = |isa: Isa| 1u8 << isa as u8;
        let mut there = THERE.load(Ordering::Relaxed);
        if there == 0 {
            there = Isa::available().into_iter().map(bit).sum();
            THERE.store(there, Ordering::Relaxed);
        }
        if there & bit(self) != 0 {
            return self;
        }
        Isa::ALL
            .into_iter()
            .rev()
            .find(|isa| *isa <= self && there & bit(*isa) != 0)
            .unwrap_or(Isa::WORST)
    }

    /// The name that [`std::str::FromStr`] reads.
    pub fn name(self) -> &'static str {
        match self {
            Isa::Scalar => "scalar",
            Isa::Neon => "neon",
            Isa::Avx2 => "avx2",
            Isa::Avx512 => "avx512",
        }
    }
}

impl std::str::FromStr for Isa {
    type Err = String;
    fn from_str(s: &str) -> Result<Isa, String> {
        let found = Isa::ALL
            .into_iter()
            .find(|i| i.name().eq_ignore_ascii_case(s.trim()));
        found.ok_or_else(|| format!("unknown instruction set `{s}`: scalar, neon, avx2 or avx512"))
    }
}

impl std::fmt::Display for Isa {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
