use super::*;
use pcc::utility::{Safe, Vivace};
use pcc::{Rate, Time};
use proptest::prelude::*;

fn measured(mbps: f64, loss: f64, rtt_gradient: f64) -> Measurement {
    let mut result = Measurement::new(Rate::from_mbps(mbps), 100);
    result.start = Time::from_nanos(2_000_000_000);
    (result.loss, result.rtt_gradient) = (loss, rtt_gradient);
    (result.rtt, result.previous_rtt, result.min_rtt, result.rtt_deviation) = (0.05, 0.04, 0.03, 0.001);
    result
}

/// The value of a formula, be it one that never has any.
fn value(text: &str) -> f64 {
    let expression = Expression { text: text.to_owned(), root: parse::parse(text).unwrap() };
    expression.utility(&measured(8.0, 0.25, 0.5))
}

fn problem(text: &str) -> (usize, String) {
    let error = text.parse::<Expression>().unwrap_err();
    (error.position, error.problem)
}

#[test]
fn binds_as_on_paper() {
    let cases = [
        ("1 + 2*3", 7.0),
        ("2 - 3 - 4", -5.0),
        ("12/2/3", 2.0),
        ("2*3^2", 18.0),
        ("-2^2", -4.0),
        ("2^-1", 0.5),
        ("2^3^2", 512.0),
        ("3--2", 5.0),
        ("(1 + 2)*3", 9.0),
        ("1.5e-3*2E3", 3.0),
        ("1 + 1 < 3", 1.0),
        ("(1 > 2) + 5", 5.0),
    ];
    for (text, expected) in cases {
        assert_eq!(value(text), expected, "{text}");
    }
}

#[test]
fn knows_every_variable_and_function() {
    let cases = [
        ("x", 8.0),
        ("throughput", 6.0),
        ("loss", 0.25),
        ("rtt", 0.05),
        ("previous_rtt", 0.04),
        ("min_rtt", 0.03),
        ("rtt_deviation", 0.001),
        ("rtt_gradient", 0.5),
        ("time", 2.0),
        ("max(1, min(2, 3))*2", 4.0),
        ("abs(-3)", 3.0),
        ("exp(0) + ln(1)", 1.0),
        ("sqrt(x*2)", 4.0),
        ("sigmoid(100, 0)", 0.5),
    ];
    for (text, expected) in cases {
        assert_eq!(value(text), expected, "{text}");
    }
    for (name, _) in VARIABLES {
        assert!(cases.iter().any(|(text, _)| *text == name), "{name}");
    }
}

#[test]
fn what_has_no_value_is_worst() {
    for text in ["0/0", "sqrt(-1)", "ln(-1)", "(0-8)^0.5", "-1/0", "ln(0)"] {
        assert_eq!(value(text), WORST, "{text}");
    }
    assert_eq!(value("1/0"), -WORST);
    assert!((value("1/0") - value("0/0")).is_finite());
}

#[test]
fn says_where_and_what() {
    let operand = "a number, a variable, a function or a parenthesis is expected here";
    let cases = [
        ("", 0, operand),
        ("x + ", 4, operand),
        ("x * (2 + )", 9, operand),
        ("2 x", 2, "an operator or the end is expected here"),
        ("x é", 2, "an operator or the end is expected here"),
        ("é", 0, operand),
        ("(x", 2, "\")\" is expected here"),
        ("900*x*rtt_grad", 6, "\"rtt_grad\" is neither a variable nor a function"),
        ("max(1)", 5, "\",\" is expected here"),
        ("ln x", 3, "\"(\" is expected here"),
        ("1.2.3", 0, "this is no number"),
        ("1/0", 0, "this has no value, whatever is measured"),
        ("x + ln(0)", 0, "this has no value, whatever is measured"),
        ("1e", 0, "this is no number"),
    ];
    for (text, position, expected) in cases {
        assert_eq!(problem(text), (position, expected.to_owned()), "{text}");
    }
    assert_eq!(problem(&"(".repeat(10_000)).1, "this is nested too deeply");
    assert_eq!(problem(&"-".repeat(10_000)).1, "this is nested too deeply");
}

#[test]
fn shows_the_formula_and_what_there_is() {
    let error = "x^0.9 -\n900*delay".parse::<Expression>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "\"delay\" is neither a variable nor a function:\n  \
           x^0.9 - 900*delay\n              ^\n\
         variables: x, throughput, loss, rtt, previous_rtt, min_rtt, rtt_deviation, rtt_gradient, time\n\
         functions: max(a, b), min(a, b), sigmoid(a, y), abs(y), exp(y), ln(y), sqrt(y)"
    );
}

/// Equal up to rounding.
fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-12 * a.abs().max(b.abs()).max(1.0)
}

proptest! {
    #[test]
    fn equals_what_is_built_in(mbps in 0.001..1e5, loss in 0.0..=1.0, gradient in -1.0..1.0) {
        let interval = measured(mbps, loss, gradient);
        let pairs: [(&str, &dyn Utility); 2] = [
            ("x^0.9 - 900*x*rtt_gradient - 11.35*x*loss", &Vivace::LATENCY),
            ("throughput*sigmoid(100, loss - 0.05) - x*loss", &Safe { alpha: 100.0 }),
        ];
        for (text, utility) in pairs {
            let (own, built_in) = (text.parse::<Expression>()?.utility(&interval), utility.utility(&interval));
            prop_assert!(close(own, built_in), "{text}: {own} {built_in}");
        }
    }

    #[test]
    fn no_text_panics(text in "[-x0-9.e+*/^(), <>max_é\n]{0,80}") {
        if let Ok(expression) = text.parse::<Expression>() {
            prop_assert!(expression.utility(&measured(8.0, 0.25, 0.5)).is_finite());
        }
    }
}
