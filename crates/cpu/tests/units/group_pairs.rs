use zipfold_core::{Domain, Space};
use zipfold_cpu::pairs::prune::{STEP, SortedGroups, add_pairs};
use zipfold_plan::Tile;

#[test]
fn pairs_of_groups_are_those_of_a_double_loop() {
    let (n, groups) = (3 * STEP + 77, 3);
    let codes: Vec<u32> = (0..n as u32).map(|i| i * i % 7 % 3).collect();
    let sorted = SortedGroups::new(groups, codes.clone());
    let ranges = [0..0, 0..n, 5..STEP, STEP - 3..STEP + 200, n - 100..n];
    for domain in [Domain::Triangle, Domain::Square] {
        for rows in &ranges {
            for cols in &ranges {
                let tile = Tile {
                    rows: rows.clone(),
                    cols: cols.clone(),
                };
                let mut pairs = vec![0; groups * groups];
                add_pairs([&sorted; 2], domain, &tile, &mut pairs);
                let space = Space {
                    domain,
                    n,
                    m: n,
                    cutoff: None,
                    band: None,
                };
                let all: u64 = pairs.iter().sum();
                assert_eq!(all, space.count(rows, cols), "{domain:?} {rows:?} {cols:?}");
                if rows.len() * cols.len() > 1 << 20 {
                    continue;
                }
                let mut wanted = vec![0u64; groups * groups];
                for i in rows.clone() {
                    for j in cols
                        .clone()
                        .filter(|j| domain != Domain::Triangle || *j > i)
                    {
                        let [a, b] = [i, j].map(|row| codes[row] as usize);
                        let is_half = domain == Domain::Triangle;
                        wanted[if is_half {
                            a.min(b) * groups + a.max(b)
                        } else {
                            a * groups + b
                        }] += 1;
                    }
                }
                let mut folded = vec![0; groups * groups];
                for (at, count) in pairs.iter().enumerate() {
                    let [a, b] = [at / groups, at % groups];
                    let is_half = domain == Domain::Triangle;
                    folded[if is_half {
                        a.min(b) * groups + a.max(b)
                    } else {
                        at
                    }] += count;
                }
                assert_eq!(folded, wanted, "{domain:?} {rows:?} {cols:?}");
            }
        }
    }
}
