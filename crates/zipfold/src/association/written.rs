//! Networks as files: tables of edges, GraphML, sparse matrices, pictures.

use super::answer::AssociationNetwork;
use super::scale_free::ScaleFree;
use crate::destination::refuse_all;
use crate::saved;
use std::io::{self, Write};
use zipfold_core::Result;
use zipfold_io::write::write_sparse;
use zipfold_io::{Column, Output, OutputOptions};

/// Suffixes that hold a network.
pub const EDGES: &[&str] = &["csv", "tsv", "npz", "csr.npz", "parquet", "graphml"];

/// Refuses, before any work, a file that could not hold a network or its picture.
///
/// # Errors
/// `Request`.
pub fn refuse(path: &str, options: OutputOptions) -> Result<()> {
    refuse_all(path, EDGES, options)
}

impl AssociationNetwork {
    /// Writes the edges: a table with names, `.csr.npz` the symmetric matrix of weights (of values
    /// where there are none) that SciPy's `load_npz` reads, `.graphml` a graph.
    ///
    /// # Errors
    /// `Request` for another suffix, or for an output that exists; those of the file system.
    pub fn write(&self, path: &str, options: OutputOptions) -> Result<()> {
        if path.ends_with(".graphml") {
            let mut out = Output::create(path, options)?;
            if let Err(e) = self.write_graphml(&mut out) {
                return Err(out.error(&e));
            }
            return out.commit();
        }
        if path.ends_with(".csr.npz") {
            return self.write_matrix(path, options);
        }
        let edges = &self.edges;
        let mut columns = vec![];
        if !path.ends_with(".npz") {
            columns.push(("a".to_string(), Column::Words(&self.names, &edges.i)));
            columns.push(("b".to_string(), Column::Words(&self.names, &edges.j)));
        }
        columns.push(("i".to_string(), Column::I64(&edges.i)));
        columns.push(("j".to_string(), Column::I64(&edges.j)));
        columns.extend(self.numbers());
        saved::write(path, &columns, &self.notes(), options)
    }
    /// What edges have, by name.
    fn numbers(&self) -> Vec<(String, Column<'_>)> {
        let edges = &self.edges;
        let mut columns = vec![
            (self.measure.name().to_string(), Column::F64(&edges.values)),
            ("n".to_string(), Column::U64(&edges.counts)),
        ];
        let others = [("p", &edges.p), ("q", &edges.q), ("weight", &edges.weights)];
        for (name, values) in others {
            columns.extend(values.iter().map(|v| (name.to_string(), Column::F64(v))));
        }
        columns
    }
    fn notes(&self) -> Vec<String> {
        let mut notes = vec![
            self.rule.clone(),
            format!(
                "{} rows, {} samples, {} pairs with a value, {} edges",
                self.names.rows(),
                self.samples,
                self.tested,
                self.edges.i.len()
            ),
        ];
        notes.extend(self.power.map(|power| format!("weights: power {power}")));
        notes
    }
    /// Writes the symmetric matrix of edges.
    fn write_matrix(&self, path: &str, options: OutputOptions) -> Result<()> {
        let edges = &self.edges;
        let values = edges.weights.as_ref().unwrap_or(&edges.values);
        let n = self.names.rows();
        let degrees = self.degrees();
        let mut starts = vec![0i64];
        starts.extend(degrees.iter().scan(0, |sum, degree| {
            *sum += *degree as i64;
            Some(*sum)
        }));
        let (places, data) = self.both_ways(values, &starts);
        let values = Some(Column::F64(&data));
        write_sparse(path, [n, n], (&starts, &places), values, options)
    }
    /// The columns of each row, ascending, and their values.
    fn both_ways(&self, values: &[f64], starts: &[i64]) -> (Vec<i64>, Vec<f64>) {
        let edges = &self.edges;
        let mut next = starts.to_vec();
        let mut places = vec![0i64; 2 * values.len()];
        let mut data = vec![0.0; 2 * values.len()];
        let mut put = |row: i64, other: i64, value: f64| {
            let at = next[row as usize] as usize;
            (places[at], data[at]) = (other, value);
            next[row as usize] += 1;
        };
        // Edges ascend: the earlier rows of a row come in order, then the later ones.
        let all = || edges.i.iter().zip(&edges.j).zip(values);
        all().for_each(|((i, j), value)| put(*j, *i, *value));
        all().for_each(|((i, j), value)| put(*i, *j, *value));
        (places, data)
    }
    /// Writes the graph as GraphML, a node or an edge at a time.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_graphml(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(
            b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n  <key id=\"name\" for=\"node\" attr.name=\"name\" attr.type=\"string\"/>\n",
        )?;
        let columns = self.numbers();
        for (name, column) in &columns {
            let kind = match column {
                Column::U64(_) => "long",
                _ => "double",
            };
            writeln!(
                out,
                "  <key id=\"{name}\" for=\"edge\" attr.name=\"{name}\" attr.type=\"{kind}\"/>"
            )?;
        }
        writeln!(out, "  <graph edgedefault=\"undirected\">")?;
        for row in 0..self.names.rows() {
            let name = escaped(self.names.get(row));
            writeln!(
                out,
                "    <node id=\"n{row}\"><data key=\"name\">{name}</data></node>"
            )?;
        }
        for at in 0..self.edges.i.len() {
            let (i, j) = (self.edges.i[at], self.edges.j[at]);
            write!(out, "    <edge source=\"n{i}\" target=\"n{j}\">")?;
            for (name, column) in &columns {
                match column {
                    Column::U64(values) => {
                        write!(out, "<data key=\"{name}\">{}</data>", values[at])?;
                    }
                    Column::F64(values) => {
                        write!(out, "<data key=\"{name}\">{:?}</data>", values[at])?;
                    }
                    _ => {}
                }
            }
            writeln!(out, "</edge>")?;
        }
        writeln!(out, "  </graph>\n</graphml>")
    }
    /// Writes the number of edges of each row.
    ///
    /// # Errors
    /// Those of [`AssociationNetwork::write`].
    pub fn write_degrees(&self, path: &str, options: OutputOptions) -> Result<()> {
        let rows: Vec<i64> = (0..self.names.rows() as i64).collect();
        let degrees = self.degrees();
        let mut columns = vec![];
        if !path.ends_with(".npz") {
            columns.push(("name".to_string(), Column::Words(&self.names, &rows)));
        }
        columns.push(("degree".to_string(), Column::U64(&degrees)));
        saved::write(path, &columns, &self.notes(), options)
    }
    /// Writes the fits of powers.
    ///
    /// # Errors
    /// Those of [`AssociationNetwork::write`].
    pub fn write_fits(&self, path: &str, options: OutputOptions) -> Result<()> {
        let of = |get: fn(&ScaleFree) -> f64| self.fits.iter().map(get).collect::<Vec<f64>>();
        let all = [
            ("power", of(|fit| fit.power)),
            ("r2", of(|fit| fit.r2)),
            ("slope", of(|fit| fit.slope)),
            ("mean", of(|fit| fit.mean)),
            ("median", of(|fit| fit.median)),
            ("largest", of(|fit| fit.largest)),
        ];
        let columns = all
            .iter()
            .map(|(name, v)| ((*name).to_string(), Column::F64(v)));
        saved::write(path, &columns.collect::<Vec<_>>(), &self.notes(), options)
    }
    /// Writes the picture to a `path` that ends with `.svg`, the edges to any other.
    ///
    /// # Errors
    /// Those of [`AssociationNetwork::write`] and [`AssociationNetwork::svg`].
    #[cfg(feature = "plot")]
    pub fn save(&self, path: &str, options: OutputOptions) -> Result<()> {
        saved::save(path, options, || self.svg(), || self.write(path, options))
    }
    /// How many rows have how many edges, with logarithmic axes.
    ///
    /// # Errors
    /// `Internal` where it cannot be drawn.
    #[cfg(feature = "plot")]
    pub fn svg(&self) -> Result<String> {
        crate::picture::degrees_svg(&self.degrees())
    }
    /// The network as JSON: its size, and what was left out.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        let fit = |fit: &ScaleFree| serde_json::json!({"power": fit.power, "r2": fit.r2, "slope": fit.slope, "mean": fit.mean, "median": fit.median, "largest": fit.largest});
        serde_json::json!({
            "rule": self.rule,
            "measure": self.measure.name(),
            "rows": self.names.rows(),
            "samples": self.samples,
            "pairs": self.pairs,
            "tested": self.tested,
            "edges": self.edges.i.len(),
            "constant": self.constant,
            "power": self.power,
            "fits": self.fits.iter().map(fit).collect::<Vec<_>>(),
        })
    }
}

/// A text within XML.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            // XML has no other control characters.
            c if c.is_control() && !matches!(c, '\t' | '\n' | '\r') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
