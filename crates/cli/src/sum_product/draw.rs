//! Random buckets of the sum-product paper (section 7.2.2), as a definition says.

use serde::Deserialize;
use zipfold::internals::core::{Error, Random, Result};

/// What buckets are drawn from: ranges, both ends included.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BucketDefinition {
    /// What it is called.
    pub name: String,
    /// Of the numbers drawn.
    pub seed: u64,
    /// How many.
    pub buckets: usize,
    /// Operations by the paper's count.
    pub operations: [f64; 2],
    /// Functions of a bucket.
    pub functions: [usize; 2],
    /// Values of a variable.
    pub values: [usize; 2],
    /// Configurations of the summed variables.
    pub summed: [usize; 2],
    /// Variables in more than one function.
    pub shared: [usize; 2],
    /// Variables of a function.
    pub arity: [usize; 2],
    /// Most entries of a function.
    pub entries: usize,
    /// Most entries of a result.
    pub result: f64,
}

/// A bucket: tables over `scopes`, from which the `summed` variables go.
#[derive(Clone, Debug)]
pub(crate) struct RandomBucket {
    /// Values of each variable.
    pub cards: Vec<usize>,
    /// The variables of each function.
    pub scopes: Vec<Vec<usize>>,
    /// The variables that are summed.
    pub summed: Vec<usize>,
    /// Operations by the paper's count `|O| (N m - 1)`.
    pub operations: f64,
}

/// Draws after which a definition counts as one that has no bucket.
const DRAWS: usize = 1 << 20;

impl BucketDefinition {
    /// Refuses what no bucket has.
    ///
    /// # Errors
    /// `Input` with the first range that is empty.
    pub(crate) fn check(&self) -> Result<()> {
        let ranges = [
            ("functions", self.functions, 1),
            ("values", self.values, 1),
            ("summed", self.summed, 1),
            ("shared", self.shared, 0),
            ("arity", self.arity, 1),
        ];
        let [least, most] = self.operations;
        let odd = ranges.iter().find(|(_, [a, b], least)| a > b || a < least);
        match odd {
            Some((name, [a, b], least)) => Err(Error::input(format!(
                "expected a range from {least} for '{name}', got {a} to {b}"
            ))),
            None if !(1.0..=most).contains(&least) || !most.is_finite() => Err(Error::input(
                format!("expected a range from 1 for 'operations', got {least} to {most}"),
            )),
            None if self.functions[1] > 8 => {
                Err(Error::input("expected at most 8 functions of a bucket"))
            }
            None => Ok(()),
        }
    }
    /// The buckets, smallest first.
    ///
    /// # Errors
    /// `Input` where no bucket has all that the definition asks.
    pub(crate) fn draw(&self) -> Result<Vec<RandomBucket>> {
        let mut random = Random::new(self.seed);
        let [least, most] = self.operations.map(f64::log10);
        let mut all = Vec::with_capacity(self.buckets);
        for at in 0..self.buckets {
            // Evenly over the logarithm, so that few buckets cover it too.
            let share = (at as f64 + random.unit()) / self.buckets as f64;
            all.push(self.draw_one(10f64.powf(least + (most - least) * share), &mut random)?);
        }
        all.sort_by(|a, b| a.operations.total_cmp(&b.operations));
        Ok(all)
    }
    fn draw_one(&self, target: f64, random: &mut Random) -> Result<RandomBucket> {
        for _ in 0..DRAWS {
            if let Some(found) = self.attempt(target, random) {
                return Ok(found);
            }
        }
        Err(Error::input(format!(
            "no bucket of about {target:.0} operations has all that '{}' asks",
            self.name
        ))
        .remedy("wider ranges"))
    }
    fn attempt(&self, target: f64, random: &mut Random) -> Option<RandomBucket> {
        let between = |random: &mut Random, [a, b]: [usize; 2]| a + random.below(b - a + 1);
        let functions = between(random, self.functions);
        let several = [2, self.values[1].max(2)];
        let cards: Vec<usize> = (0..1 + random.below(3))
            .map(|_| between(random, several))
            .collect();
        let summed: Vec<usize> = (0..cards.len()).collect();
        let configurations: usize = cards.iter().product();
        let shared = between(random, self.shared);
        let mut drawn = RandomBucket {
            cards,
            scopes: vec![summed.clone(); functions],
            summed,
            operations: 0.0,
        };
        // Values of the other variables, so that the bucket has about so many operations.
        let others = (shared + functions * 4) as f64;
        let room = (target / (configurations * functions) as f64)
            .max(1.0)
            .log2()
            / others;
        self.add_others(&mut drawn, (shared, room), random);
        let kept = &drawn.cards[drawn.summed.len()..];
        let out: f64 = kept.iter().map(|c| *c as f64).product();
        drawn.operations = out * (configurations as f64 * functions as f64 - 1.0);
        self.suits(&drawn, target, configurations, out)
            .then_some(drawn)
    }
    /// Adds the variables that are kept: so many `shared` ones, and some of each function alone.
    /// `room` is the logarithm of their values in the mean.
    fn add_others(
        &self,
        drawn: &mut RandomBucket,
        (shared, room): (usize, f64),
        random: &mut Random,
    ) {
        let RandomBucket { cards, scopes, .. } = drawn;
        let value = |random: &mut Random| {
            let drawn = (2.0 * room * random.unit()).exp2().round() as usize;
            drawn.clamp(self.values[0], self.values[1])
        };
        for _ in 0..shared {
            cards.push(value(random));
            let own = cards.len() - 1;
            let some = scopes.iter_mut().filter(|_| random.below(5) > 0);
            some.for_each(|s| s.push(own));
        }
        for s in scopes {
            for _ in 0..4 + random.below(4) {
                cards.push(value(random));
                s.push(cards.len() - 1);
            }
            if random.below(4) == 0 {
                s.remove(0);
            }
        }
    }
    fn suits(&self, drawn: &RandomBucket, target: f64, configurations: usize, out: f64) -> bool {
        let held = |v: usize| drawn.scopes.iter().any(|s| s.contains(&v));
        let within = |[a, b]: [usize; 2], n: usize| (a..=b).contains(&n);
        within(self.summed, configurations)
            && out <= self.result
            && (0.5 * target..2.0 * target).contains(&drawn.operations)
            && (0..drawn.cards.len()).all(held)
            && (0..drawn.scopes.len()).all(|f| {
                within(self.arity, drawn.scopes[f].len()) && drawn.entries(f) <= self.entries
            })
    }
}

impl RandomBucket {
    /// The variables of the result.
    pub(crate) fn kept(&self) -> Vec<usize> {
        (0..self.cards.len())
            .filter(|v| !self.summed.contains(v))
            .collect()
    }
    /// The bucket as an object for other programs, in the form that `bench/buckets.py` reads.
    pub(crate) fn line(&self) -> String {
        let own = (&self.cards, &self.scopes, &self.summed, self.operations);
        let (dom, scopes, summed, flop) = own;
        serde_json::json!({"dom": dom, "scopes": scopes, "summed": summed, "flop": flop})
            .to_string()
    }
    /// Entries of function `f`.
    pub(crate) fn entries(&self, f: usize) -> usize {
        self.scopes[f].iter().map(|v| self.cards[*v]).product()
    }
    /// Entries of all functions and of the result, each once.
    pub(crate) fn once(&self) -> f64 {
        let result = self
            .kept()
            .iter()
            .map(|v| self.cards[*v] as f64)
            .product::<f64>();
        let functions = (0..self.scopes.len()).map(|f| self.entries(f) as f64);
        functions.sum::<f64>() + result
    }
    /// The entries of function `f`: a multiplicative hash of its number and the entry's.
    pub(crate) fn table(&self, f: usize) -> Vec<f64> {
        let entry = |at: usize| {
            let number = ((f as u64) << 32) + at as u64 + 1;
            let bits = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
            f64::from(0.1f32 + 0.9f32 * (bits as f32 / 16_777_216.0))
        };
        (0..self.entries(f)).map(entry).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_have_what_the_definition_asks() {
        let text = include_str!("../../../../bench/definitions/random-buckets.toml");
        let mut definition: BucketDefinition = toml::from_str(text).unwrap();
        definition.buckets = 60;
        definition.check().unwrap();
        let all = definition.draw().unwrap();
        assert_eq!(all.len(), 60);
        assert!(all.is_sorted_by(|a, b| a.operations <= b.operations));
        assert!(all[0].operations < 1e4 && all[59].operations > 5e8);
        let misses = |b: &&RandomBucket| b.scopes.iter().any(|s| !s.contains(&0));
        assert!(all.iter().filter(misses).count() > 5);
        definition.summed = [3, 2];
        assert!(
            definition
                .check()
                .unwrap_err()
                .to_string()
                .contains("'summed'")
        );
        definition.summed = [5000, 6000];
        assert!(
            definition
                .draw()
                .unwrap_err()
                .to_string()
                .contains("wider ranges")
        );
    }
}
