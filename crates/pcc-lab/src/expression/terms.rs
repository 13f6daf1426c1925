//! What formulas consist of.

use pcc::Measurement;

/// A variable of formulas: its name and its value in an interval.
pub type Variable = (&'static str, fn(&Measurement) -> f64);

/// What a formula may use. Rates are in Mbit/s, times in seconds, `loss` is a fraction, `rtt_gradient` is in seconds
/// per second, and `time` is when the interval began.
pub const VARIABLES: [Variable; 9] = [
    ("x", |interval| interval.rate.mbps()),
    ("throughput", |interval| interval.throughput().mbps()),
    ("loss", |interval| interval.loss),
    ("rtt", |interval| interval.rtt),
    ("previous_rtt", |interval| interval.previous_rtt),
    ("min_rtt", |interval| interval.min_rtt),
    ("rtt_deviation", |interval| interval.rtt_deviation),
    ("rtt_gradient", |interval| interval.rtt_gradient),
    ("time", |interval| interval.start.as_secs_f64()),
];

/// The functions of formulas; `sigmoid(a, y)` is [`pcc::utility::sigmoid`].
pub fn functions() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|(signature, _)| *signature)
}

/// Powers and exponentials are `libm`'s: the same bits on every machine.
pub(super) const FUNCTIONS: [(&str, Function); 7] = [
    ("max(a, b)", Function::Of2(f64::max)),
    ("min(a, b)", Function::Of2(f64::min)),
    ("sigmoid(a, y)", Function::Of2(pcc::utility::sigmoid)),
    ("abs(y)", Function::Of1(f64::abs)),
    ("exp(y)", Function::Of1(libm::exp)),
    ("ln(y)", Function::Of1(libm::log)),
    ("sqrt(y)", Function::Of1(f64::sqrt)),
];

#[derive(Clone, Copy, Debug)]
pub(super) enum Function {
    Of1(fn(f64) -> f64),
    Of2(fn(f64, f64) -> f64),
}

/// A node of the syntax tree of a formula.
#[derive(Clone)]
pub(super) enum Node {
    Number(f64),
    Variable(fn(&Measurement) -> f64),
    Of1(fn(f64) -> f64, Box<Node>),
    Of2(fn(f64, f64) -> f64, Box<Node>, Box<Node>),
}

impl Node {
    pub(super) fn value(&self, interval: &Measurement) -> f64 {
        match self {
            Node::Number(number) => *number,
            Node::Variable(variable) => variable(interval),
            Node::Of1(function, of) => function(of.value(interval)),
            Node::Of2(function, a, b) => function(a.value(interval), b.value(interval)),
        }
    }
}
