//! Parses the text of a formula: `sum(abs(x - y))`, `exp(-sum((x - y)^2) / (2*h^2))`, `abs(x.price
//! - y.price) < eps`.
//!
//! A parser by recursive descent, one function for each level of precedence. The grammar, from
//! loose to tight, `{ }` meaning any number of times:
//!
//! ```text
//! or         = and { ("or" | "||" | "xor") and }
//! and        = not { ("and" | "&&") not }
//! not        = ("!" | "not") not | comparison
//! comparison = bits [ ("<" | "<=" | ">" | ">=" | "==" | "!=") bits ]      not chained
//! bits       = sum { "&" sum }
//! sum        = product { ("+" | "-") product }
//! product    = negation { ("*" | "/") negation }
//! negation   = ("-" | "+") negation | power
//! power      = postfix [ ("^" | "**") negation ]                          to the right
//! postfix    = primary [ "." name | "[" index "]" | "[" [a] ":" [b] "]" ]  of x and y only
//! primary    = number | text | name | name "(" arguments ")" | "(" or ")"
//! ```
//!
//! So `-a^2` is −(a²), `2^-1` is allowed, and `not a < b` negates the comparison.
//!
//! The parser writes nodes of [`Formula`] directly, without a syntax tree. The formula checks types
//! and simplifies, and this module gives its errors their place in the text. What it guarantees for
//! text of a stranger (invariant TOTAL-FORMULA): the length, the nesting and the number of nodes
//! are bounded, so parsing ends, and so does evaluation, since the language has no loops.
//!
//! It does not decide what names mean: [`Scope`] brings parameters and columns.

mod slices;
mod state;

use self::state::Parser;
use super::functions::{self, REDUCE, UNARY};
use super::lex::{TokenKind, lex};
use super::metric::Named;
pub use super::metric::Param;
pub use super::scope::{PreparedMetrics, Scope};
use super::tree::{Binary, ComponentReduce, DEP_BOUND, Formula, Id, Node, Shape, Side, Unary};
use crate::error::{Error, Result};
use crate::number;
use crate::opt::Opt;
use crate::suggest::suggestion;
use std::ops::Range;

/// The most bytes of text of a formula. Offsets in the text, tokens and error marks all stay small,
/// and no formula that a person writes comes near it.
pub const MAX_TEXT: usize = 64 * 1024;

/// Parses `text` as one more root's worth of nodes of `formula`; the caller makes it a root. The
/// text may call `metrics` by their names.
///
/// Several texts can be parsed into one formula (a value, a condition, the axes of a histogram).
/// Equal parts of them become one node, so that what they share is computed once.
///
/// Metrics are an argument, because metrics are written as text themselves: their own formulas are
/// parsed without any, which ends the recursion.
///
/// # Errors
/// `Request`, with the place underlined, when the text does not parse or does not type.
pub fn parse_with(
    formula: &mut Formula,
    text: &str,
    scope: &Scope<'_>,
    metrics: &'static [Named],
) -> Result<Id> {
    // Before the lexer, so that a hostile text costs nothing.
    if text.len() > MAX_TEXT {
        return Err(Error::request("the formula is too long").limit(format!("{MAX_TEXT} bytes")));
    }
    let tokens = lex(text)?;
    // A later text of the same formula may know the length of rows, and may not forget it.
    formula.components = scope.dim.or(formula.components);
    // A slice has the only colon of a formula.
    let sliced = tokens
        .iter()
        .any(|token| token.kind == TokenKind::Symbol(":"));
    let mut parser = Parser {
        formula,
        text,
        tokens,
        at: 0,
        steps: 0,
        scope,
        depth: 0,
        bound: None,
        operands: None,
        slices: Default::default(),
        sliced,
        metrics,
        own: vec![],
    };
    let id = parser.value_of_the_pair()?;
    match parser.peek() {
        TokenKind::End => Ok(id),
        _ => Err(parser.unexpected("an operator or the end")),
    }
}

impl Parser<'_, '_> {
    /// Adds a node for an operator whose left operand begins at `start`, so that an error of types
    /// underlines the whole operation and not only its sign.
    fn binary_at(&mut self, start: usize, op: Binary, a: Id, b: Id) -> Result<Id> {
        let result = self.formula.binary(op, a, b);
        self.place(start, result)
    }
    /// Parses an expression, one level deeper: the nesting is counted here and in every other rule
    /// that calls itself, which bounds the stack.
    ///
    /// Arguments, parentheses and operators of `reduce` begin here, at the loosest level.
    fn expression(&mut self) -> Result<Id> {
        self.nested(Self::or)
    }
    /// Parses `a or b`, `a || b`, `a xor b`: one level, from left to right.
    ///
    /// A loop and not a recursion: a chain of a thousand conditions takes no stack.
    fn or(&mut self) -> Result<Id> {
        let start = self.range().start;
        let mut left = self.and()?;
        loop {
            let op = if self.eat_word("or") || self.eat("||") {
                Binary::Or
            } else if self.eat_word("xor") {
                Binary::Xor
            } else {
                return Ok(left);
            };
            let right = self.and()?;
            left = self.binary_at(start, op, left, right)?;
        }
    }
    /// Parses `a and b`, `a && b`. It binds tighter than `or`, as in Python, SQL and C.
    fn and(&mut self) -> Result<Id> {
        let start = self.range().start;
        let mut left = self.not()?;
        while self.eat_word("and") || self.eat("&&") {
            let right = self.not()?;
            left = self.binary_at(start, Binary::And, left, right)?;
        }
        Ok(left)
    }
    /// Parses `not a`, `!a`.
    ///
    /// With a parenthesis, `not(a)` is a call like any other function, which gives the same node;
    /// without, the operator takes a whole comparison: `not a < b` is `not (a < b)`.
    fn not(&mut self) -> Result<Id> {
        let start = self.range().start;
        let call = matches!(
            self.tokens.get(self.at + 1).map(|t| &t.kind),
            Some(TokenKind::Symbol("("))
        );
        if self.eat("!") || (!call && self.eat_word("not")) {
            // Recursive, hence counted: `not not not …` is as deep as it is long.
            let inner = self.nested(Self::not)?;
            let result = self.formula.unary(Unary::Not, inner);
            return self.place(start, result);
        }
        self.comparison()
    }
    /// Parses `a & b`: looser than sums and tighter than comparisons, as in Python.
    fn bitwise(&mut self) -> Result<Id> {
        let start = self.range().start;
        let mut left = self.sum()?;
        while self.eat("&") {
            let right = self.sum()?;
            left = self.binary_at(start, Binary::BitAnd, left, right)?;
        }
        Ok(left)
    }
    /// Parses `a < b` and the like, or a sum without a comparison.
    ///
    /// A second comparison is refused, because readers of mathematics and of C expect different
    /// things of `a < b < c`.
    fn comparison(&mut self) -> Result<Id> {
        let start = self.range().start;
        let left = self.bitwise()?;
        let op = match self.peek() {
            TokenKind::Symbol(s @ ("<" | "<=" | ">" | ">=" | "==" | "!=")) => *s,
            _ => return Ok(left),
        };
        self.bump();
        let right = self.bitwise()?;
        let id = self.compare(start, op, left, right)?;
        if matches!(
            self.peek(),
            TokenKind::Symbol("<" | "<=" | ">" | ">=" | "==" | "!=")
        ) {
            return Err(self
                .unexpected("'and'")
                .remedy("comparisons do not chain: write 'a < b and b < c'"));
        }
        Ok(id)
    }
    /// Adds a comparison.
    ///
    /// `>` and `>=` exchange their operands, so that two orderings suffice for every backend, every
    /// analysis of bounds and the recognition of conditions; `sqrt(a) < c` becomes a comparison of
    /// `a`.
    ///
    /// NaN compares false either way round, so the exchange keeps every truth value.
    fn compare(&mut self, start: usize, op: &str, a: Id, b: Id) -> Result<Id> {
        // Texts of the formula go to the side of the column that they are compared with.
        let (a, b) = (self.as_beside(a, b)?, self.as_beside(b, a)?);
        // `a > b` is `b < a`: two orderings suffice for every backend.
        let (kind, a, b) = match op {
            "<" => (Binary::Lt, a, b),
            "<=" => (Binary::Le, a, b),
            ">" => (Binary::Lt, b, a),
            ">=" => (Binary::Le, b, a),
            "==" => (Binary::Eq, a, b),
            _ => (Binary::Ne, a, b),
        };
        // Equality is left alone: √a == c holds for several a at most, and rounding decides which.
        let (a, b) = match kind {
            Binary::Lt | Binary::Le => self.without_roots(kind == Binary::Le, a, b)?,
            _ => (a, b),
        };
        self.binary_at(start, kind, a, b)
    }
    /// Replaces the operands of `a < b` (or `a <= b`) if one is a square root and the other a
    /// number: asks the same of the square.
    ///
    /// Roots are rounded to nearest and never change an order, so for every c there is a number s
    /// with √a < c ⇔ a < s in all bits ([`number::least_square`]). The comparison then costs no
    /// root, and pruning sees a square, whose bounds are exact.
    ///
    /// ```text
    /// sqrt(a) <  c    a <  least s with √s ≥ c
    /// sqrt(a) <= c    a <= largest s with √s ≤ c
    /// c <  sqrt(a)    largest s with √s ≤ c  <  a
    /// c <= sqrt(a)    least s with √s ≥ c   <= a
    /// ```
    fn without_roots(&mut self, or_equal: bool, a: Id, b: Id) -> Result<(Id, Id)> {
        // Only numbers: the limit of a condition such as `sqrt(a) < x.r` is another one for each
        // row.
        let (least, largest) = (number::least_square, number::largest_square);
        if let (Some(square), Some(c)) = (self.formula.square_under(a), self.formula.constant(b)) {
            let limit = if or_equal { largest(c) } else { least(c) };
            return Ok((square, self.formula.number(limit)?));
        }
        if let (Some(c), Some(square)) = (self.formula.constant(a), self.formula.square_under(b)) {
            let limit = if or_equal { least(c) } else { largest(c) };
            return Ok((self.formula.number(limit)?, square));
        }
        Ok((a, b))
    }
    /// Parses `a + b`, `a - b`, from left to right: the order of additions is the order of the
    /// text, so a user decides how a sum is rounded.
    fn sum(&mut self) -> Result<Id> {
        let start = self.range().start;
        let mut left = self.product()?;
        loop {
            let op = if self.eat("+") {
                Binary::Add
            } else if self.eat("-") {
                Binary::Sub
            } else {
                return Ok(left);
            };
            let right = self.product()?;
            // The start of the whole sum: an error of types underlines all that is joined so far.
            left = self.binary_at(start, op, left, right)?;
        }
    }
    /// Parses `a * b`, `a / b`, from left to right: `a / b * c` is (a/b)·c.
    fn product(&mut self) -> Result<Id> {
        let start = self.range().start;
        let mut left = self.negation()?;
        loop {
            // `**` is one token, so a power is not taken for a product here.
            let op = if self.eat("*") {
                Binary::Mul
            } else if self.eat("/") {
                Binary::Div
            } else {
                return Ok(left);
            };
            let right = self.negation()?;
            left = self.binary_at(start, op, left, right)?;
        }
    }
    /// Parses `-a`, `+a`. The level is below the power, so that `-a^2` is −(a²).
    fn negation(&mut self) -> Result<Id> {
        let start = self.range().start;
        if self.eat("-") {
            let inner = self.nested(Self::negation)?;
            let result = self.formula.unary(Unary::Neg, inner);
            return self.place(start, result);
        }
        // A plus makes no node, and must still be counted: `++++…` recurses.
        if self.eat("+") {
            return self.nested(Self::negation);
        }
        self.power()
    }
    /// Parses `a^b`, `a**b`.
    ///
    /// The exponent may have a sign and may be a power, so the operator binds to the right: `2^3^2`
    /// is 2⁹. A square becomes a product: it costs one multiplication, and symmetry, bounds and
    /// kernels look for products of a node with itself.
    fn power(&mut self) -> Result<Id> {
        let start = self.range().start;
        let base = self.postfix()?;
        if self.eat("^") || self.eat("**") {
            // At the level of a sign, not of a power: `2^-1` and `2^-x^2` mean what they say.
            let exponent = self.nested(Self::negation)?;
            // A square is a product of a node with itself, which symmetry, bounds and kernels
            // recognise.
            if self.formula.constant(exponent) == Some(2.0) {
                return self.binary_at(start, Binary::Mul, base, base);
            }
            return self.binary_at(start, Binary::Pow, base, exponent);
        }
        Ok(base)
    }
    /// Parses `x.name`, `x[k]`, `x[a:b]`.
    ///
    /// Only the two rows have columns and components. Those of a computed vector are computed
    /// values: `(x - y)[0]` is written `x[0] - y[0]`.
    fn postfix(&mut self) -> Result<Id> {
        let start = self.range().start;
        let base = self.primary()?;
        // The parser knows rows by their node: `(x)[0]` is the component of a row like `x[0]`.
        let side = match self.formula.node(base) {
            Node::Row(side) => *side,
            _ => {
                if matches!(self.peek(), TokenKind::Symbol("." | "[")) {
                    return Err(self.error(
                        self.range(),
                        "only 'x' and 'y' have columns and components".into(),
                    ));
                }
                return Ok(base);
            }
        };
        if self.eat(".") {
            return self.column(side);
        }
        if self.eat("[") {
            return self.component(side, start);
        }
        Ok(base)
    }
    /// Parses a column by its name, after the dot.
    ///
    /// Names are resolved here, once: nodes hold numbers, and no backend compares names.
    fn column(&mut self, side: Side) -> Result<Id> {
        let token = self.bump();
        let TokenKind::Name(name) = token.kind else {
            return Err(self.error(token.range, "a column name should stand after '.'".into()));
        };
        let columns = self.scope.columns[side as usize];
        let Some(columns) = columns else {
            let what = format!("the input has no column names, so no '{name}'");
            return Err(self
                .error(token.range, what)
                .remedy("number the component: x[0]"));
        };
        // Two columns may have one name in a file; naming it is refused then, and numbers still
        // work.
        let place = crate::table::place_of(columns, &name)
            .map_err(|e| e.span(self.text, token.range.clone()))?;
        match place {
            Some(k) => {
                // A prepared metric has replaced components; attributes, from `cols` on, are as
                // they were.
                if self.scope.cols(side).is_none_or(|cols| k < cols) {
                    self.whole(&name, token.range)?;
                }
                self.formula.leaf(Node::At(side, k as u32))
            }
            None => Err(self
                .error(token.range, format!("no column '{name}'"))
                .remedy(suggestion(
                    &name,
                    columns.iter().map(String::as_str),
                    "a column",
                ))),
        }
    }
    /// Moves a text of the formula to the side of the column that it is compared with.
    ///
    /// A text of the formula (`x.kind == 'ion'`) is held as a constant column of both tables. It is
    /// parsed as a column of x. If the other operand is a column of y, the comparison must depend
    /// on rows of y alone, so that it can be hoisted: as a column of x it would depend on the pair
    /// and be computed for every one.
    fn as_beside(&mut self, id: Id, other: Id) -> Result<Id> {
        let (Node::At(Side::X, k), Node::At(Side::Y, _)) =
            (self.formula.node(id), self.formula.node(other))
        else {
            return Ok(id);
        };
        if !self.own.contains(k) {
            return Ok(id);
        }
        // The same text has another number in y, whose columns may be others.
        let name = self.scope.columns[0].and_then(|names| names.get(*k as usize));
        let place =
            self.scope.columns[1].and_then(|names| names.iter().position(|n| Some(n) == name));
        place.map_or(Ok(id), |k| self.formula.leaf(Node::At(Side::Y, k as u32)))
    }
    /// Parses a text between quotes. Columns of text hold numbers that rank words in ascending
    /// order, so a text of the formula must be among the words: the tables have a column for it,
    /// named by [`own`](super::texts::own), which was added before parsing.
    ///
    /// A comparison of two columns of numbers then compares texts, and no kernel knows text.
    fn own_text(&mut self, text: &str, range: Range<usize>) -> Result<Id> {
        let name = super::texts::own(text);
        match self.scope.columns[0].and_then(|names| names.iter().position(|n| *n == name)) {
            Some(k) => {
                self.own.push(k as u32);
                self.formula.leaf(Node::At(Side::X, k as u32))
            }
            None if text.is_empty() => {
                let e = self.error(
                    range,
                    "an empty text is a missing one, which is like no other".into(),
                );
                Err(e.remedy("isnan(x.kind) finds rows without a text"))
            }
            None => {
                let e = self.error(
                    range,
                    "a formula over these inputs holds no text of its own".into(),
                );
                Err(e.remedy("compare two columns (x.event == y.event), or keep only those rows"))
            }
        }
    }
    /// Parses a number, a text, a name, a call or a parenthesis.
    ///
    /// A token that begins none of them is put back before the error, so that the message names it
    /// and underlines it. The end of the text is not put back, since nothing was taken.
    fn primary(&mut self) -> Result<Id> {
        let token = self.bump();
        match token.kind {
            TokenKind::Number(v) => self.formula.number(v),
            TokenKind::Text(text) => self.own_text(&text, token.range),
            TokenKind::Symbol("(") => {
                let inner = self.expression()?;
                self.want(")")?;
                Ok(inner)
            }
            // A name before a parenthesis is a call, even if a parameter has the same name.
            TokenKind::Name(name) if matches!(self.peek(), TokenKind::Symbol("(")) => {
                self.bump();
                self.call(&name, token.range)
            }
            TokenKind::Name(name) => self.name(&name, token.range),
            _ => {
                self.at = self
                    .at
                    .saturating_sub(usize::from(token.kind != TokenKind::End));
                Err(self.unexpected("a number, a name or '('"))
            }
        }
    }
    /// Resolves a name: an operand of `reduce`, then a parameter, then a row or a constant.
    ///
    /// A parameter may therefore hide a constant such as `e`, and an operand of `reduce` hides
    /// both: the innermost meaning wins, as in programming languages.
    fn name(&mut self, name: &str, range: Range<usize>) -> Result<Id> {
        if let Some(bound) = &self.bound
            && let Some(which) = bound.iter().position(|b| b == name)
        {
            // Over slices the operator is written out with real nodes; over whole rows it is a
            // small tree of its own, whose leaves stand for the operands.
            return match self.operands {
                Some(operands) => Ok(operands[which]),
                None => self.formula.leaf(Node::Bound(which == 1)),
            };
        }
        // Parameters come before rows and constants, so a user may call a parameter `e`.
        match self.scope.params.get(name) {
            Some(Param::Number(v)) => return self.formula.number(*v),
            Some(Param::Vector(v)) => match self
                .scope
                .dim
                .filter(|_| self.scope.whole() != Some(v.len()))
            {
                // A vector of another length than rows belongs to slices, if the text has any.
                Some(_) if self.sliced && !v.is_empty() => return self.component_of(v, range),
                Some(dim) if dim != v.len() => {
                    let e = self.error(range, format!("'{name}' has {} numbers", v.len()));
                    return Err(e.limit(format!("one for each of {dim} components")));
                }
                _ => return self.formula.given(v.clone()),
            },
            Some(Param::Word(word)) => {
                return Err(self.error(
                    range,
                    format!("'{name}' is the word '{word}', not a number"),
                ));
            }
            None => {}
        }
        // `x.name` may be an attribute, which no metric prepares: `column` decides.
        if matches!(name, "x" | "y") && !matches!(self.peek(), TokenKind::Symbol(".")) {
            self.whole(name, range.clone())?;
        }
        match name {
            "x" => self.formula.leaf(Node::Row(Side::X)),
            "y" => self.formula.leaf(Node::Row(Side::Y)),
            "dim" => self.formula.leaf(Node::Dim),
            "pi" => self.formula.number(std::f64::consts::PI),
            "inf" => self.formula.number(f64::INFINITY),
            "value" => self.value(range),
            "e" => self.formula.number(std::f64::consts::E),
            "nan" => self.formula.number(f64::NAN),
            _ => Err(self.unknown(name, range)),
        }
    }
    /// Returns the value of the pair, which formulas of folds may use by the name `value`.
    ///
    /// Root 0 is a constant where the problem has no pair but only the condition of a join; then
    /// there is nothing to name.
    fn value(&mut self, range: Range<usize>) -> Result<Id> {
        match self.formula.roots.get(self.scope.value) {
            Some(root) if !matches!(self.formula.node(*root), Node::Const(_)) => Ok(*root),
            _ => Err(self.unknown("value", range)),
        }
    }
    /// Returns the error of an unknown name, with the nearest known one.
    fn unknown(&self, name: &str, range: Range<usize>) -> Error {
        // One letter is one slip away from any other, so a hint would be noise.
        let known = ["x", "y", "dim", "pi", "inf", "e", "nan"]
            .into_iter()
            .filter(|k| k.len() > 1 && name.len() > 1);
        let known = known.chain(self.scope.params.keys().map(String::as_str));
        let hint = suggestion(name, known, "");
        let give = format!(
            "give it a value: {}",
            Opt::Param.like(format!("{name}=VALUE"))
        );
        // A hint in quotes names one candidate; any other text is a list, which would bury the
        // advice.
        let remedy = if hint.starts_with('\'') {
            format!("{hint}, or {give}")
        } else {
            give
        };
        self.error(range, format!("unknown name '{name}'"))
            .remedy(remedy)
    }
    /// Parses a call; the parenthesis is taken. Reductions are parsed on their own, because their
    /// arguments may hold slices, which are read once for each component.
    fn call(&mut self, name: &str, range: Range<usize>) -> Result<Id> {
        if name == "reduce" {
            return self.user_reduce(range.start);
        }
        // Before the arguments: inside them `x` and `y` would be refused as rows that were
        // replaced.
        if let Some(value) = self.prepared(name, &range)? {
            return Ok(value);
        }
        let (args, done) = match self.reduces(name) {
            true => self.reduced(name, &range)?,
            false => (self.arguments()?, None),
        };
        if let Some(done) = done {
            return Ok(done);
        }
        let end = self.tokens[self.at - 1].range.end;
        let place = range.start..end;
        let start = range.start;
        let result = self.apply(name, &args, range, place);
        self.place(start, result)
    }
    /// Parses the arguments of a call up to the closing parenthesis. No arguments is a list, too:
    /// `apply` says how many are missing.
    fn arguments(&mut self) -> Result<Vec<Id>> {
        let mut args = vec![];
        if self.eat(")") {
            return Ok(args);
        }
        loop {
            args.push(self.expression()?);
            if self.eat(")") {
                return Ok(args);
            }
            if !self.eat(",") {
                return Err(self.unexpected("',' or ')'"));
            }
        }
    }
    /// Adds the node of function `name`. `range` is the name in the text, `place` the whole call.
    ///
    /// No name is in two of the tables, so their order does not matter.
    fn apply(
        &mut self,
        name: &str,
        args: &[Id],
        range: Range<usize>,
        place: Range<usize>,
    ) -> Result<Id> {
        let count = |n: usize| -> Result<()> {
            if args.len() == n {
                return Ok(());
            }
            let what = format!(
                "'{name}' takes {n} argument{}, not {}",
                if n == 1 { "" } else { "s" },
                args.len()
            );
            Err(Error::request(what)
                .at_place("formula")
                .span(self.text, place.clone()))
        };
        if let Some((_, op)) = REDUCE.iter().find(|(n, _)| *n == name) {
            return self.reduction(name, *op, args, place);
        }
        if let Some((_, op)) = UNARY.iter().find(|(n, _)| *n == name) {
            count(1)?;
            return self.formula.unary(*op, args[0]);
        }
        match name {
            "mean" | "norm" => {
                count(1)?;
                self.composed(name, args[0], args[0])
            }
            "dot" | "hypot" => {
                count(2)?;
                self.composed(name, args[0], args[1])
            }
            "if" => {
                count(3)?;
                self.formula.select(args[0], args[1], args[2])
            }
            // Any number of parts; the formula refuses none and too many.
            "vec" => self.formula.tuple(args.to_vec()),
            "atan2" => {
                count(2)?;
                self.formula.binary(Binary::Atan2, args[0], args[1])
            }
            "bitand" | "bitor" | "bitxor" => {
                count(2)?;
                self.bits(name, args[0], args[1])
            }
            "pow" => {
                count(2)?;
                self.formula.binary(Binary::Pow, args[0], args[1])
            }
            // Last, so that a metric cannot hide a function.
            _ => self.metric(name, args, range),
        }
    }
    /// Adds common ones, all ones, or ones of one number alone. Nothing is rounded on the way: numbers
    /// without common ones add up to less than 2⁵³.
    fn bits(&mut self, name: &str, a: Id, b: Id) -> Result<Id> {
        let both = self.formula.binary(Binary::BitAnd, a, b)?;
        if name == "bitand" {
            return Ok(both);
        }
        // Both sides alike, so that the formula is known to be symmetric.
        let [a, b] = [a, b].map(|one| self.formula.binary(Binary::Sub, one, both));
        let apart = self.formula.binary(Binary::Add, a?, b?)?;
        match name {
            "bitor" => self.formula.binary(Binary::Add, apart, both),
            _ => Ok(apart),
        }
    }
    /// Adds a reduction over components. `max(a, b)` of two arguments works by components, as in
    /// most languages; with one argument the components of a vector are reduced.
    fn reduction(
        &mut self,
        name: &str,
        op: ComponentReduce,
        args: &[Id],
        place: Range<usize>,
    ) -> Result<Id> {
        if args.len() == 2 && matches!(op, ComponentReduce::Max | ComponentReduce::Min) {
            return self.formula.binary(op.operator(), args[0], args[1]);
        }
        if args.len() != 1 {
            let what = format!("'{name}' takes 1 argument, not {}", args.len());
            return Err(self.error(place, what));
        }
        self.check_truth(name, args[0], &place)?;
        self.formula.reduce(op, args[0])
    }
    /// Adds functions that are short for others, so that no backend knows them: mean, dot, norm,
    /// hypot.
    ///
    /// The nodes are those of the written-out formula, so `norm(x - y)` has the bits, the symmetry
    /// and the kernels of `sqrt(sum((x - y)^2))`.
    fn composed(&mut self, name: &str, a: Id, b: Id) -> Result<Id> {
        if name == "mean" {
            let total = self.formula.reduce(ComponentReduce::Sum, a)?;
            let dim = self.formula.leaf(Node::Dim)?;
            return self.formula.binary(Binary::Div, total, dim);
        }
        let product = self.formula.binary(Binary::Mul, a, b)?;
        match name {
            "dot" => self.formula.reduce(ComponentReduce::Sum, product),
            "norm" => {
                let total = self.formula.reduce(ComponentReduce::Sum, product)?;
                self.formula.unary(Unary::Sqrt, total)
            }
            _ => {
                let (aa, bb) = (
                    self.formula.binary(Binary::Mul, a, a)?,
                    self.formula.binary(Binary::Mul, b, b)?,
                );
                let total = self.formula.binary(Binary::Add, aa, bb)?;
                self.formula.unary(Unary::Sqrt, total)
            }
        }
    }
    /// Returns the metric that is called so, by its name or an alias.
    fn metric_named(&self, name: &str) -> Option<&'static Named> {
        self.metrics.iter().find(|metric| metric.is_called(name))
    }
    /// Parses a metric whose preparation was done, such as `spearman(x, y)`; the parenthesis is
    /// open. Its rows are the prepared ones, so it must be read before `x` and `y` are refused by
    /// [`Self::whole`].
    fn prepared(&mut self, name: &str, range: &Range<usize>) -> Result<Option<Id>> {
        let ready = |named: &&Named| self.scope.prepared.metrics.contains(&named.name);
        let Some(named) = self.metric_named(name).filter(ready) else {
            return Ok(None);
        };
        if !["x", ",", "y", ")"]
            .into_iter()
            .all(|part| self.eat(part) || self.eat_word(part))
        {
            return Err(self.error(
                range.clone(),
                format!("a metric takes both rows: '{name}(x, y)'"),
            ));
        }
        let value = (named.formula)(self.formula, &self.scope.params, self.scope.dim);
        self.place(range.start, value).map(Some)
    }
    /// Refuses rows as they were next to a metric whose preparation replaced them.
    ///
    /// There is one pair of tables: `spearman(x, y) < 0.5 and x[0] < 1` would silently compare a
    /// rank with 1.
    fn whole(&self, of: &str, range: Range<usize>) -> Result<()> {
        let Some(metric) = self.scope.prepared.rows else {
            return Ok(());
        };
        let what = format!(
            "expected '{metric}(x, y)' alone, got '{of}' beside it: it changes whole rows before pairs are formed"
        );
        Err(self.error(range, what).remedy(format!(
            "a run of its own for each, or numbers that {} keeps beside the rows",
            Opt::Attributes
        )))
    }
    /// Adds a metric as a function of both rows: `euclidean(x, y) < 1`.
    ///
    /// Metrics are written in x and y, so they take the rows themselves, in this order, and no
    /// computed vectors.
    fn metric(&mut self, name: &str, args: &[Id], range: Range<usize>) -> Result<Id> {
        let rows = args.len() == 2
            && *self.formula.node(args[0]) == Node::Row(Side::X)
            && *self.formula.node(args[1]) == Node::Row(Side::Y);
        match self.metric_named(name) {
            Some(named) if rows && named.prepare.is_none() => {
                (named.formula)(self.formula, &self.scope.params, self.scope.dim)
            }
            Some(named) if named.prepare.is_some() => Err(self
                .error(
                    range,
                    format!("'{name}' prepares whole tables, so it cannot be part of a formula"),
                )
                .remedy(Opt::Metric.to(name))),
            Some(_) => Err(self.error(range, format!("a metric takes both rows: '{name}(x, y)'"))),
            None => {
                let e = self.error(range, format!("unknown function '{name}'"));
                let metrics = self.metrics.iter().map(|metric| metric.name);
                Err(e.remedy(functions::remedy(name, metrics)))
            }
        }
    }
    /// `reduce(|a, b| op, init, body)` or `reduce(|a, b| op, body)`; the opening parenthesis is
    /// taken.
    ///
    /// The operator is parsed with its two names bound. The last argument is the body; whether the
    /// second is the first value or the body is known after it. The user promises that the operator
    /// is associative; nothing depends on it but the meaning, because components are folded in
    /// ascending order.
    fn user_reduce(&mut self, start: usize) -> Result<Id> {
        if self.bound.is_some() {
            return Err(self.unexpected("no second 'reduce' inside an operator"));
        }
        self.want("|")?;
        let a = self.binder()?;
        self.want(",")?;
        let b = self.binder()?;
        self.want("|")?;
        // Bound only while the operator is parsed: in the body the names may be parameters.
        let names = [a, b];
        self.bound = Some(names.clone());
        // Slices inside belong to this reduction, not to one around it.
        let outer = std::mem::take(&mut self.slices);
        let op_at = self.at;
        let op = self.expression();
        self.bound = None;
        let op = op?;
        if self.slices.len.is_some() {
            return Err(self.operands_only(start));
        }
        self.want(",")?;
        // Only after the next comma it is known whether this is the first value or the body.
        let mut init = None;
        let mut body_at = self.at;
        let mut body = self.expression()?;
        if self.eat(",") {
            // A slice has the shape of a single number here, since it is parsed component by
            // component.
            let single = self.formula.ty(body).shape == Shape::Scalar && self.slices.len.is_none();
            if !single || self.formula.deps(body) & DEP_BOUND != 0 {
                let place = self.tokens[body_at].range.start..self.tokens[self.at - 2].range.end;
                return Err(self.error(
                    place,
                    "the initial value of 'reduce' is a single number".into(),
                ));
            }
            init = Some(body);
            body_at = self.at;
            body = self.expression()?;
        }
        self.want(")")?;
        if self.formula.ty(op).shape != Shape::Scalar || self.formula.deps(op) & !DEP_BOUND != 0 {
            return Err(self.operands_only(start));
        }
        // Slices are written out as nodes; a whole row becomes one reduction.
        let result = match self.slices.len {
            Some(_) => self.user_reduced(op_at, &names, init, (body_at, body)),
            None => self.formula.user_reduce(op, init, body),
        };
        self.slices = outer;
        self.place(start, result)
    }
    /// Returns the error of an operator that reads rows: it runs inside the loop over components,
    /// where no row is at its place.
    fn operands_only(&self, start: usize) -> Error {
        let what = "the operator of 'reduce' may use its two operands and numbers only".to_string();
        self.error(start..self.tokens[self.at - 1].range.end, what)
    }
    /// Parses the name of an operand between bars. The rows keep their names, since a body after
    /// the operator needs them.
    fn binder(&mut self) -> Result<String> {
        let token = self.bump();
        match token.kind {
            TokenKind::Name(name) if name != "x" && name != "y" => Ok(name),
            _ => Err(self.error(
                token.range,
                "a name for an operand, as in 'reduce(|a, b| a + b, 0, …)'".into(),
            )),
        }
    }
}
