//! From text to formula, by precedence climbing.

use super::error::ExpressionError;
use super::terms::{FUNCTIONS, Function, Node, VARIABLES};

/// Levels of parentheses, signs and powers, so that no text exhausts the stack.
const MAX_NESTED: usize = 64;

/// Numbers, variables and functions of a formula at most: each may be a level of the tree.
const MAX_PARTS: usize = 1000;

/// What joins two parts: its sign, how strongly it binds, and what it does.
type Operator = (char, u8, fn(f64, f64) -> f64);

const OPERATORS: [Operator; 7] = [
    ('<', 1, |a, b| f64::from(a < b)),
    ('>', 1, |a, b| f64::from(a > b)),
    ('+', 2, |a, b| a + b),
    ('-', 2, |a, b| a - b),
    ('*', 3, |a, b| a * b),
    ('/', 3, |a, b| a / b),
    ('^', POWER, libm::pow),
];
const SIGN: u8 = 4;
const POWER: u8 = 5;

pub(super) fn parse(text: &str) -> Result<Node, ExpressionError> {
    let mut parser = Parser { text, at: 0, nested: 0, parts: 0 };
    let node = parser.operation(0)?;
    match parser.peek() {
        None => Ok(node),
        Some(_) => Err(parser.error("an operator or the end is expected here")),
    }
}

struct Parser<'a> {
    text: &'a str,
    /// The byte that is read next.
    at: usize,
    nested: usize,
    parts: usize,
}

impl Parser<'_> {
    /// Parts joined by operators that bind at least as strongly as `least`.
    fn operation(&mut self, least: u8) -> Result<Node, ExpressionError> {
        self.nested += 1;
        if self.nested > MAX_NESTED {
            return Err(self.error("this is nested too deeply"));
        }
        let mut left = self.operand()?;
        while let Some((operator, binds, function)) = self.operator()
            && binds >= least
        {
            self.accept(operator);
            // Powers are taken from the right, and may have a sign: 2^-1.
            let right = self.operation(if binds == POWER { SIGN } else { binds + 1 })?;
            left = Node::Of2(function, Box::new(left), Box::new(right));
        }
        self.nested -= 1;
        Ok(left)
    }

    fn operand(&mut self) -> Result<Node, ExpressionError> {
        self.parts += 1;
        if self.parts > MAX_PARTS {
            return Err(self.error(&format!("this is too long: a formula has at most {MAX_PARTS} parts")));
        }
        if self.accept('-') {
            return Ok(Node::Of1(|y| -y, Box::new(self.operation(SIGN)?)));
        }
        if self.accept('(') {
            let node = self.operation(0)?;
            self.expect(')')?;
            return Ok(node);
        }
        match self.peek() {
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            Some(c) if c.is_ascii_alphabetic() => self.name(),
            _ => Err(self.error("a number, a variable, a function or a parenthesis is expected here")),
        }
    }

    fn number(&mut self) -> Result<Node, ExpressionError> {
        let rest = self.rest();
        let digits = |from: usize| {
            rest[from..].find(|c: char| !(c.is_ascii_digit() || c == '.')).map_or(rest.len(), |length| from + length)
        };
        let mut end = digits(0);
        if let Some(exponent) = rest[end..].strip_prefix(['e', 'E']) {
            let sign = usize::from(exponent.starts_with(['-', '+']));
            end = digits(end + 1 + sign);
        }
        let number = rest[..end].parse().map_err(|_| self.error("this is no number"))?;
        self.at += end;
        Ok(Node::Number(number))
    }

    fn name(&mut self) -> Result<Node, ExpressionError> {
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let name = &rest[..end];
        if let Some((_, variable)) = VARIABLES.iter().find(|(variable, _)| *variable == name) {
            self.at += end;
            return Ok(Node::Variable(*variable));
        }
        let is_called = |signature: &str| signature.split('(').next() == Some(name);
        let Some((_, function)) = FUNCTIONS.iter().find(|(signature, _)| is_called(signature)) else {
            return Err(self.error(&format!("\"{name}\" is neither a variable nor a function")));
        };
        self.at += end;
        self.expect('(')?;
        let first = Box::new(self.operation(0)?);
        let node = match *function {
            Function::Of1(function) => Node::Of1(function, first),
            Function::Of2(function) => {
                self.expect(',')?;
                Node::Of2(function, first, Box::new(self.operation(0)?))
            }
        };
        self.expect(')')?;
        Ok(node)
    }

    fn operator(&mut self) -> Option<Operator> {
        let next = self.peek()?;
        OPERATORS.into_iter().find(|(operator, ..)| *operator == next)
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    /// The next character that isn't blank.
    fn peek(&mut self) -> Option<char> {
        self.at = self.text.len() - self.rest().trim_start().len();
        self.rest().chars().next()
    }

    fn accept(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.at += wanted.len_utf8();
        }
        found
    }

    fn expect(&mut self, wanted: char) -> Result<(), ExpressionError> {
        if self.accept(wanted) { Ok(()) } else { Err(self.error(&format!("\"{wanted}\" is expected here"))) }
    }

    fn error(&self, problem: &str) -> ExpressionError {
        ExpressionError {
            expression: self.text.replace(char::is_whitespace, " "),
            position: self.text[..self.at].chars().count(),
            problem: problem.to_owned(),
        }
    }
}
