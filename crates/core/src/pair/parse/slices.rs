//! Slices of rows in formulas: `x[a:b]`, some components of a row as a vector.
//!
//! The tree has vectors of one length only, that of a row, because kernels loop over all
//! components. A slice is therefore written out. The argument of a reduction that holds slices is
//! parsed once for each component; each time a slice is the component with the current number, and
//! the operator joins the results:
//!
//! ```text
//! sum((x[0:3] - y[1:4])^2)
//! →  ((x[0]-y[1])² + (x[1]-y[2])²) + (x[2]-y[3])²      joined by halves: pairs, then pairs of pairs
//! ```
//!
//! Results are joined by halves, not in a chain, so that a sum of a thousand components is ten
//! nodes deep. A slice of a whole row is the row itself. Slices outside of a reduction are the
//! value of the pair: a short vector.
//!
//! The alternative, vectors of several lengths in the tree, would reach every kernel for a feature
//! that serves a few components.

use super::state::{Parser, Slices};
use crate::error::{Error, Result};
use crate::opt::Opt;
use crate::pair::functions::REDUCE;
use crate::pair::lex::TokenKind;
use crate::pair::tree::{
    Binary, ComponentReduce, DEP_BOUND, Id, MAX_NODES, Node, Shape, Side, Unary,
};
use std::ops::Range;

/// The most tokens that are read for one formula. Reading again multiplies: a reduction inside
/// another one with slices of 1000 each would read its tokens a million times.
const MAX_STEPS: usize = 1 << 22;

impl Parser<'_, '_> {
    /// Parses `[k]`, `[a:b]`, `[:b]` or `[a:]` of a row; the bracket is open.
    ///
    /// A single component is a node of its own. A slice is the node of its current component, and
    /// the reduction around it asks for the others.
    pub(super) fn component(&mut self, side: Side, start: usize) -> Result<Id> {
        // `[:b]` begins at 0.
        let first = if self.is_symbol(":") {
            0
        } else {
            self.index()?
        };
        if !self.eat(":") {
            self.want("]")?;
            self.check_components(side, first, start)?;
            return self.formula.leaf(Node::At(side, first));
        }
        let end = match (self.is_symbol("]"), self.scope.cols(side)) {
            (false, _) => self.index()?,
            (true, Some(cols)) => cols as u32,
            (true, None) => {
                return Err(
                    self.unexpected("the end of the slice: rows have no known length here; it")
                );
            }
        };
        self.want("]")?;
        let place = start..self.tokens[self.at - 1].range.end;
        if first >= end {
            let e = self.error(
                place,
                format!("expected a slice with components, got [{first}:{end}]"),
            );
            return Err(e.remedy("the end is left out: x[0:3] has components 0, 1 and 2"));
        }
        // The last component suffices: the first is below it.
        self.check_components(side, end - 1, start)?;
        // Rows of two lengths have no whole rows in common.
        if first == 0 && self.scope.whole() == Some(end as usize) {
            return self.formula.leaf(Node::Row(side));
        }
        // Recorded now, so that the reduction around it knows how often to parse its argument.
        self.meet(end - first, place)?;
        self.formula.leaf(Node::At(side, first + self.slices.at))
    }
    /// Returns the current component of a parameter that is a vector of the length of slices: in
    /// `sum(w * x[0:3])`, `w` may have three numbers.
    ///
    /// The number becomes a constant of the formula, so equal weights share a node.
    pub(super) fn component_of(&mut self, vector: &[f64], place: Range<usize>) -> Result<Id> {
        self.meet(vector.len() as u32, place)?;
        self.formula.number(vector[self.slices.at as usize])
    }
    /// Records the length of a slice. All slices of one reduction must agree.
    ///
    /// They would pair component 2 of one with no component of the other.
    fn meet(&mut self, len: u32, place: Range<usize>) -> Result<()> {
        match self.slices.len.replace(len) {
            Some(other) if other != len => Err(self.error(
                place,
                format!("expected a slice of {other} components as before, got one of {len}"),
            )),
            _ => Ok(()),
        }
    }
    /// Takes a whole number from 0. The lexer knows only f64, so a fraction or a huge number is
    /// refused here.
    fn index(&mut self) -> Result<u32> {
        let token = self.bump();
        match token.kind {
            TokenKind::Number(v) if v >= 0.0 && v == v.trunc() && v < 1e9 => Ok(v as u32),
            _ => Err(self.error(token.range, "a component is numbered 0, 1, 2, …".into())),
        }
    }
    /// Refuses a component that rows do not have, if their length is known.
    ///
    /// The length is unknown when a metric or a library user writes a formula without tables; then
    /// the run checks it.
    fn check_components(&self, side: Side, last: u32, start: usize) -> Result<()> {
        match self.scope.cols(side).filter(|cols| last as usize >= *cols) {
            Some(cols) => {
                let place = start..self.tokens[self.at - 1].range.end;
                let e = self.error(place, format!("component {last} of rows that have {cols}"));
                Err(e.remedy("components are numbered from 0"))
            }
            None => Ok(()),
        }
    }
    /// Returns whether the next token is `symbol`, without taking it.
    fn is_symbol(&self, symbol: &str) -> bool {
        matches!(self.peek(), TokenKind::Symbol(s) if *s == symbol)
    }
    /// Parses a whole formula. Slices outside of reductions make a short vector: `x[0:2] - y[0:2]`
    /// is two numbers per pair.
    pub(super) fn value_of_the_pair(&mut self) -> Result<Id> {
        // The first reading tells whether there are slices at all; it is also the part of component
        // 0.
        let begin = self.at;
        let first = self.expression()?;
        let Some(len) = self.slices.len else {
            return Ok(first);
        };
        let end = self.at;
        let place = 0..self.text.len();
        let mut parts = vec![self.one_number(first, len, place.clone())?];
        // A value of several numbers takes as many states by row, so it is short by rule.
        if len > 16 {
            return Err(self
                .error(place, format!("a value of {len} numbers"))
                .limit("1 to 16 numbers"));
        }
        for at in 1..len {
            self.begin_part(begin, at, len, &place)?;
            parts.push(self.expression()?);
        }
        self.at = end;
        let result = self.formula.tuple(parts);
        self.place(0, result)
    }
    /// Returns whether the arguments of `name`, whose parenthesis is open, are reduced over
    /// components. `max` and `min` of two arguments are not, so the commas are counted first.
    ///
    /// The answer is needed before the arguments are parsed, because slices inside mean something
    /// else for each kind.
    pub(super) fn reduces(&self, name: &str) -> bool {
        match name {
            "max" | "min" => self.commas() == 0,
            "mean" | "norm" | "dot" => true,
            _ => REDUCE.iter().any(|(n, _)| *n == name),
        }
    }
    /// Counts the commas up to the closing parenthesis, outside of inner parentheses.
    fn commas(&self) -> usize {
        let (mut depth, mut commas) = (0, 0);
        for token in &self.tokens[self.at..] {
            match token.kind {
                TokenKind::Symbol("(" | "[") => depth += 1,
                // The parenthesis of the call itself. Unbalanced text ends with the tokens, and the
                // parser refuses it later.
                TokenKind::Symbol(")" | "]") if depth == 0 => break,
                TokenKind::Symbol(")" | "]") => depth -= 1,
                TokenKind::Symbol(",") if depth == 0 => commas += 1,
                _ => {}
            }
        }
        commas
    }
    /// Goes back to token `begin` to parse a part once more, for component `at` of slices of `len`.
    ///
    /// Every repetition passes here, so this is where their total is bounded (TOTAL-FORMULA).
    fn begin_part(&mut self, begin: usize, at: u32, len: u32, place: &Range<usize>) -> Result<()> {
        if self.steps > MAX_STEPS {
            let e = self.error(
                place.clone(),
                "the formula has too many components in slices".into(),
            );
            return Err(e
                .limit(format!("{MAX_NODES} operations in all"))
                .remedy(format!(
                    "choose columns instead: {}",
                    Opt::Columns.like("0-99")
                )));
        }
        self.at = begin;
        self.slices = Slices { at, len: Some(len) };
        Ok(())
    }
    /// Refuses a part that is a vector: it mixes slices with whole rows.
    ///
    /// `sum(x[0:3] - y)` has no meaning: the slice has three components, the row another number.
    fn one_number(&self, id: Id, len: u32, place: Range<usize>) -> Result<Id> {
        match self.formula.ty(id).shape {
            Shape::Scalar => Ok(id),
            _ => {
                let what = format!(
                    "expected vectors of one length, got slices of {len} components and whole rows"
                );
                Err(self
                    .error(place, what)
                    .remedy("take the same slice of each row: x[0:3] - y[0:3]"))
            }
        }
    }
    /// Parses the arguments of reduction `name`. If they hold slices, returns the finished value,
    /// else the arguments.
    pub(super) fn reduced(
        &mut self,
        name: &str,
        range: &Range<usize>,
    ) -> Result<(Vec<Id>, Option<Id>)> {
        let begin = self.at;
        // An inner reduction has slices of its own, of any length; those around it wait.
        let outer = std::mem::take(&mut self.slices);
        // Read as component 0. If no slice was met, this was the only reading and its nodes are
        // used.
        let first = self.arguments()?;
        let Some(len) = self.slices.len else {
            self.slices = outer;
            return Ok((first, None));
        };
        let end = self.at;
        let place = range.start..self.tokens[end - 1].range.end;
        let mut parts = vec![self.part(name, &first, len, &place)?];
        // Component 0 was read already; the others read the same tokens again.
        for at in 1..len {
            self.begin_part(begin, at, len, &place)?;
            let arguments = self.arguments()?;
            parts.push(self.part(name, &arguments, len, &place)?);
        }
        (self.at, self.slices) = (end, outer);
        let result = self.joined(name, parts);
        Ok((vec![], Some(self.place(range.start, result)?)))
    }
    /// Returns what reduction `name` joins for one component: its argument, or a product of
    /// arguments.
    fn part(&mut self, name: &str, arguments: &[Id], len: u32, place: &Range<usize>) -> Result<Id> {
        let wanted = if name == "dot" { 2 } else { 1 };
        if arguments.len() != wanted {
            let (s, got) = (if wanted == 1 { "" } else { "s" }, arguments.len());
            return Err(self.error(
                place.clone(),
                format!("'{name}' takes {wanted} argument{s}, not {got}"),
            ));
        }
        for id in arguments {
            self.one_number(*id, len, place.clone())?;
            // An operator is a function of two numbers, evaluated by walking its nodes; it has no
            // loop for an inner reduction.
            if self.formula.deps(*id) & DEP_BOUND != 0 {
                let what =
                    "the operator of 'reduce' works on two numbers; no reduction fits inside";
                return Err(self.error(place.clone(), what.into()));
            }
        }
        self.check_truth(name, arguments[0], place)?;
        match name {
            "dot" => self.formula.binary(Binary::Mul, arguments[0], arguments[1]),
            "norm" => self.formula.binary(Binary::Mul, arguments[0], arguments[0]),
            _ => Ok(arguments[0]),
        }
    }
    /// Joins the parts and finishes what `name` computes.
    fn joined(&mut self, name: &str, parts: Vec<Id>) -> Result<Id> {
        let len = parts.len();
        // Mean, norm and dot are none of the table: they join by addition.
        let op = REDUCE
            .iter()
            .find(|(n, _)| *n == name)
            .map_or(ComponentReduce::Sum, |(_, op)| *op);
        let joined = self.by_halves(op.operator(), parts)?;
        // What `name` does after joining: a mean divides, a norm takes the root, and a count is a
        // number.
        match name {
            "mean" => {
                let len = self.formula.number(len as f64)?;
                self.formula.binary(Binary::Div, joined, len)
            }
            "norm" => self.formula.unary(Unary::Sqrt, joined),
            "any" | "all" => Ok(joined),
            _ => self.as_number(joined),
        }
    }
    /// Turns a truth value into a number. A sum of one truth value is that value, and must have the
    /// type of a sum of two.
    ///
    /// Without it `count(x[0:1] < 1)` would be a condition and `count(x[0:2] < 1)` a number.
    fn as_number(&mut self, id: Id) -> Result<Id> {
        if !self.formula.ty(id).truth {
            return Ok(id);
        }
        let (one, zero) = (self.formula.number(1.0)?, self.formula.number(0.0)?);
        self.formula.select(id, one, zero)
    }
    /// Joins neighbours until one part is left. The order is fixed by the number of parts, so the
    /// bits of a sum are too.
    ///
    /// A chain of a thousand parts would be a thousand nodes deep.
    fn by_halves(&mut self, op: Binary, mut parts: Vec<Id>) -> Result<Id> {
        while parts.len() > 1 {
            let pairs = parts.chunks(2).map(|two| match two {
                [a, b] => self.formula.binary(op, *a, *b),
                rest => Ok(rest[0]),
            });
            parts = pairs.collect::<Result<_>>()?;
        }
        // INVARIANT: slices are not empty, so there is a part.
        Ok(parts[0])
    }
    /// Writes out a `reduce` over slices. The operator, from token `op` on, is parsed for each
    /// component, with `names` meaning the accumulated and the next number. `body` is the token at
    /// which the last argument begins, and its first component.
    ///
    /// Components are joined one after another, not by halves: an operator of the user need not be
    /// associative to have a meaning here.
    pub(super) fn user_reduced(
        &mut self,
        op: usize,
        names: &[String; 2],
        init: Option<Id>,
        body: (usize, Id),
    ) -> Result<Id> {
        let len = self.slices.len.unwrap_or(1);
        let end = self.at;
        let place = self.tokens[op].range.start..self.tokens[end - 1].range.end;
        // `next` is the body for the current component, `total` what was accumulated before it.
        let mut next = self.one_number(body.1, len, place.clone())?;
        let mut total = init;
        for at in 0..len {
            if at > 0 {
                self.begin_part(body.0, at, len, &place)?;
                next = self.expression()?;
            }
            total = Some(match total {
                None => next,
                Some(so_far) => {
                    self.begin_part(op, 0, len, &place)?;
                    self.bound = Some(names.clone());
                    self.operands = Some([so_far, next]);
                    let joined = self.expression();
                    (self.bound, self.operands) = (None, None);
                    joined?
                }
            });
        }
        self.at = end;
        let total = total.ok_or_else(|| Error::internal("a slice without components"))?;
        self.as_number(total)
    }
    /// Refuses numbers for `count`, `any` and `all`, which take truth values.
    ///
    /// Counting numbers that are not zero is what `count` of another language may do; a silent
    /// guess would be wrong for half of its users.
    pub(super) fn check_truth(&self, name: &str, id: Id, place: &Range<usize>) -> Result<()> {
        let truth = matches!(name, "count" | "any" | "all");
        if !truth || self.formula.ty(id).truth {
            return Ok(());
        }
        let what = if name == "count" {
            "'count' counts"
        } else {
            "'any' and 'all' take"
        };
        let e = self.error(place.clone(), format!("{what} truth values, here numbers"));
        Err(e.remedy(format!("compare: '{name}(x != y)'")))
    }
}
