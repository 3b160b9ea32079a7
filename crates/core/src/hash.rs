//! A hash of data at the speed of memory (XXH3 of 128 bits, Collet 2019). It tells data apart that
//! differ by accident; it does not resist an adversary.
//!
//! Partial results and problem files name data by it, so the bytes that are mixed in, and their
//! order, are part of those formats.

use crate::table::{Elements, Table};
use twox_hash::XxHash3_128;

/// A hash under construction. Lengths are mixed in after the items, so that ("ab", "c") and ("a",
/// "bc") differ.
#[derive(Clone, Default)]
pub struct Hash(XxHash3_128);

impl Hash {
    /// Mixes a word in.
    ///
    /// Little-endian, as all supported machines keep numbers.
    pub fn word(&mut self, word: u64) {
        self.0.write(&word.to_le_bytes());
    }
    /// Mixes a text in.
    ///
    /// Texts next to each other stay apart, because their lengths follow them.
    pub fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }
    /// Mixes bytes in, and their number.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
        self.word(bytes.len() as u64);
    }
    /// Mixes numbers in by their bits as the machine keeps them, and how many they are.
    pub fn doubles(&mut self, items: &[f64]) {
        self.0.write(bytemuck::cast_slice(items));
        self.word(items.len() as u64);
    }
    /// Mixes numbers in by their bits as the machine keeps them, and how many they are.
    pub fn singles(&mut self, items: &[f32]) {
        self.0.write(bytemuck::cast_slice(items));
        self.word(items.len() as u64);
    }
    /// Mixes a table in: its shape, the type and bits of its elements, its names and what is next
    /// to it.
    pub fn table(&mut self, table: &Table) {
        self.word(table.rows() as u64);
        self.word(table.cols() as u64);
        match table.elements() {
            Elements::F32(items) => {
                // The type, too: equal numbers of another precision may give other bits.
                self.word(4);
                self.singles(items);
            }
            Elements::F64(items) => {
                self.word(8);
                self.doubles(items);
            }
        }
        // A table without names differs from one with no columns to name.
        self.word(table.names().map_or(u64::MAX, |names| names.len() as u64));
        table
            .names()
            .unwrap_or_default()
            .iter()
            .for_each(|name| self.text(name));
        match table.attributes() {
            Some(beside) => self.table(beside),
            None => self.word(0),
        }
        // Numbers of words mean what the words say, and another file may number them otherwise.
        if let Some(words) = table.words() {
            (0..words.rows()).for_each(|at| self.text(words.get(at)));
            self.word(words.rows() as u64);
        }
    }
    /// The hash.
    pub fn finish(self) -> u128 {
        self.0.finish_128()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn hash_of(add: impl Fn(&mut Hash)) -> u128 {
        let mut hash = Hash::default();
        add(&mut hash);
        hash.finish()
    }

    #[test]
    fn every_bit_length_and_place_counts() {
        for n in [0usize, 1, 7, 8, 9, 63, 64, 65, 200] {
            let mut seen = HashSet::new();
            let mut bytes = vec![0u8; n];
            assert!(seen.insert(hash_of(|h| h.bytes(&bytes))));
            assert!(seen.insert(hash_of(|h| h.bytes(&vec![0; n + 1]))));
            for at in 0..n * 8 {
                bytes[at / 8] ^= 1 << (at % 8);
                assert!(
                    seen.insert(hash_of(|h| h.bytes(&bytes))),
                    "bit {at} of {n} bytes"
                );
                bytes[at / 8] ^= 1 << (at % 8);
            }
        }
    }

    #[test]
    fn numbers_that_change_places_are_others() {
        for n in [2usize, 9, 40] {
            let items: Vec<f64> = (0..n).map(|v| v as f64).collect();
            let single: Vec<f32> = (0..n).map(|v| v as f32).collect();
            let (mut seen, mut small) = (HashSet::new(), HashSet::new());
            for a in 0..n {
                for b in a + 1..n {
                    let (mut other, mut less) = (items.clone(), single.clone());
                    other.swap(a, b);
                    less.swap(a, b);
                    assert!(
                        seen.insert(hash_of(|h| h.doubles(&other)))
                            && small.insert(hash_of(|h| h.singles(&less)))
                    );
                }
            }
        }
    }

    #[test]
    fn names_types_and_shapes_of_tables_count() {
        let table = |rows, cols| Table::f64(rows, cols, vec![1.0; 6]).unwrap();
        let names = |list: [&str; 2]| {
            table(3, 2)
                .with_names(list.map(String::from).to_vec())
                .unwrap()
        };
        let beside = names(["a", "b"]).with_attributes(
            table(3, 2)
                .with_names(vec!["c".into(), "d".into()])
                .unwrap(),
        );
        let all = [
            table(3, 2),
            table(2, 3),
            Table::f32(3, 2, vec![1.0; 6]).unwrap(),
            names(["a", "b"]),
            names(["b", "a"]),
            beside.unwrap(),
        ];
        let hashes: HashSet<u128> = all.iter().map(|t| hash_of(|h| h.table(t))).collect();
        assert_eq!(hashes.len(), all.len());
    }
}
