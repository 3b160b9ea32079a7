//! Deterministic generators of random numbers. Plans, samples and records depend on their bits, so
//! these never change; the generators of a crate may change with its version.

/// SplitMix64 of Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
#[derive(Clone, Debug)]
pub struct SplitMix(u64);

impl SplitMix {
    /// A generator for `seed`.
    pub fn new(seed: u64) -> Self {
        SplitMix(seed)
    }
    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    /// Uniform in [0, 1).
    pub fn unit(&mut self) -> f64 {
        unit(self.bits())
    }
    /// The remainder of 64 random bits by `n`, 0 for an `n` of 0.
    pub fn remainder(&mut self, n: usize) -> usize {
        (self.bits() % n.max(1) as u64) as usize
    }
}

/// xoshiro256++ of Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021,
/// seeded by [`SplitMix`] as they advise.
#[derive(Clone, Debug)]
pub struct Random([u64; 4]);

impl Random {
    /// A generator for `seed`.
    pub fn new(seed: u64) -> Self {
        let mut seeds = SplitMix::new(seed);
        Random([(); 4].map(|()| seeds.bits()))
    }
    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        let s = &mut self.0;
        let out = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        out
    }
    /// Uniform in [0, 1).
    pub fn unit(&mut self) -> f64 {
        unit(self.bits())
    }
    /// Uniform below `n` (n ≥ 1; the bias is below 2⁻³²).
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.bits()) * n as u128) >> 64) as usize
    }
}

/// The upper 53 bits as a number of [0, 1).
fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 * (0.5f64).powi(53)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix_has_the_published_numbers() {
        // The first outputs of the authors' C for the seed 1234567.
        let mut numbers = SplitMix::new(1_234_567);
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
        ];
        assert_eq!(expected.map(|_| numbers.bits()), expected);
    }

    #[test]
    fn xoshiro_has_the_published_numbers() {
        // The first outputs of the authors' C for the state 1, 2, 3, 4.
        let mut random = Random([1, 2, 3, 4]);
        let expected = [
            41_943_041,
            58_720_359,
            3_588_806_011_781_223,
            3_591_011_842_654_386,
        ];
        assert_eq!(expected.map(|_| random.bits()), expected);
    }
}
