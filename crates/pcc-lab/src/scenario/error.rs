//! What is wrong with a scenario, and where.

use crate::controller::suggestion;
use std::fmt;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// What is wrong with a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// The file, once it is known.
    file: Option<String>,
    /// The line, once it is known.
    line: Option<usize>,
    /// What was set from outside and made it wrong, as in `link.rate = "abc"`: it stands in no line.
    setting: Option<String>,
    /// The key, such as `flow.0.stop`; empty where the reason shows the place.
    key: String,
    /// What is wrong, and what would be right.
    reason: String,
}

impl ScenarioError {
    /// A key, such as `flow.0.stop`, and what is wrong with it.
    pub fn at(key: String, reason: String) -> ScenarioError {
        ScenarioError { file: None, line: None, setting: None, key, reason }
    }

    /// An error of the TOML reader, which shows the place itself.
    pub(crate) fn syntax(error: &toml::de::Error) -> ScenarioError {
        let hint = match error.message() {
            "invalid type: map, expected a sequence" => "; write it with two brackets, such as [[link]]",
            _ => "",
        };
        let text = error.to_string().replace(error.message(), &with_meant(error.message()));
        ScenarioError::at(String::new(), format!("{}{hint}", text.trim_end()))
    }

    /// Adds what gave the key its value: a sweep, by its name, or somebody from outside.
    #[must_use]
    pub(super) fn set_by(self, sweep: Option<&str>, key: &str, value: &toml::Value) -> ScenarioError {
        let Some(sweep) = sweep else {
            let about = if self.key == key { String::new() } else { self.key };
            return ScenarioError { setting: Some(format!("{key} = {value}")), key: about, ..self };
        };
        let about = if self.key.is_empty() { key } else { &self.key };
        ScenarioError { reason: format!("{about}: {}", self.reason), key: format!("sweep.{sweep}"), ..self }
    }

    /// If it is that nothing has a field of this name, says first what else of that name is missing.
    #[must_use]
    pub(super) fn or_misnamed(self, name: &str, missing: &str) -> ScenarioError {
        match self.reason.starts_with(&format!("unknown field `{name}`")) {
            true => {
                ScenarioError { reason: format!("{missing}; nor is it a key of all of them: {}", self.reason), ..self }
            }
            false => self,
        }
    }

    /// Adds the file, and the line of the key in it unless its value came from outside.
    #[must_use]
    pub(crate) fn located(self, file: &str, text: &str) -> ScenarioError {
        let place = if self.setting.is_some() { None } else { locate(text, &self.key) };
        let line = place.map(|offset| text[..offset].matches('\n').count() + 1);
        ScenarioError { file: Some(file.to_owned()), line, ..self }
    }

    /// Adds the case in which it is wrong, if there are several.
    #[must_use]
    pub(super) fn in_case(self, case: &str) -> ScenarioError {
        if case.is_empty() {
            return self;
        }
        ScenarioError { reason: format!("{} (in the case {case})", self.reason), ..self }
    }
}

/// Required keys, each with what would be right.
const REQUIRED: [(&str, &str); 21] = [
    ("duration", "duration = \"60s\" at the top, before the first table"),
    ("kind", "kind = \"codel\" to a queue, or kind = \"lines\" to a plot"),
    ("limit", "limit = \"75kB\""),
    ("rate", "rate = \"10mbit\""),
    ("burst", "burst = \"30kB\""),
    ("probability", "probability = \"1%\""),
    ("delay", "delay = \"5ms\""),
    ("every", "every = \"100ms\""),
    ("length", "length = \"5ms\""),
    ("at", "at = \"10s\""),
    ("to-bad", "to-bad = 0.01"),
    ("to-good", "to-good = 0.2"),
    ("loss-bad", "loss-bad = 0.5"),
    ("on", "on = \"1s\""),
    ("off", "off = \"2s\""),
    ("bitrate", "bitrate = \"30mbit\""),
    ("chunk", "chunk = \"1s\""),
    ("buffer", "buffer = \"4s\""),
    ("name", "name = \"sender\""),
    ("cases", "cases = 20"),
    ("from", "from = { \"link.rate\" = [\"5mbit\", \"200mbit\"] }"),
];

/// What serde says, such as "unknown field `dely`, expected one of `name`, `delay`", with what may have been meant, or would be right.
pub(super) fn with_meant(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    match quoted.next() {
        Some(unknown) if message.starts_with("unknown field") => {
            let meant = suggestion(unknown, &quoted.map(str::to_owned).collect::<Vec<_>>());
            message.replacen(&format!("`{unknown}`"), &format!("`{unknown}`{meant}"), 1)
        }
        Some(missing) if message.starts_with("missing field") => {
            match REQUIRED.iter().find(|(key, _)| *key == missing) {
                Some((_, example)) => format!("{message}; add {example}, for example"),
                None => format!("{message}; docs/scenarios.md says what it takes"),
            }
        }
        _ => message.replace("expected u32", "expected a whole number, such as 2"),
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line, &self.setting) {
            (Some(file), Some(line), _) => write!(f, "{file}:{line}: ")?,
            (Some(file), None, Some(setting)) => write!(f, "{file} with {setting}: ")?,
            (Some(file), None, None) => write!(f, "{file}: ")?,
            (None, _, Some(setting)) => write!(f, "{setting}: ")?,
            (None, _, None) => {}
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.reason)
    }
}

impl std::error::Error for ScenarioError {}

/// Where the longest part of `key` that exists stands in the text, in bytes.
fn locate(text: &str, key: &str) -> Option<usize> {
    let document = DeTable::parse(text).ok()?;
    let mut parts = key.split('.');
    let (name, mut value) = document.get_ref().get_key_value(parts.next()?)?;
    let mut place = name.span().start;
    for part in parts {
        match value.get_ref() {
            DeValue::Table(table) => match table.get_key_value(part) {
                Some((name, inner)) => (place, value) = (name.span().start, inner),
                None => break,
            },
            DeValue::Array(array) => {
                let named = |element: &&Spanned<DeValue<'_>>| {
                    element.get_ref().get("name").and_then(|name| name.get_ref().as_str()) == Some(part)
                };
                let index = part.parse().ok().and_then(|index: usize| array.get(index));
                match index.or_else(|| array.iter().find(named)) {
                    Some(inner) => (place, value) = (inner.span().start, inner),
                    None => break,
                }
            }
            _ => break,
        }
    }
    Some(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_in_the_text() {
        let text = "duration = \"1s\"\n[[flow]]\nstart = \"0s\"\n[[flow]]\nstart = \"1s\"\nset = { a = { b = 1 } }\n";
        let line = |key| ScenarioError::at(key, String::new()).located("x.toml", text).line;
        assert_eq!(line("duration".to_owned()), Some(1));
        assert_eq!(line("flow.1.start".to_owned()), Some(5));
        assert_eq!(line("flow.1.set.a.b".to_owned()), Some(6));
        assert_eq!(line("flow.1.stop".to_owned()), Some(4), "a missing key: the table it is missing in");
        assert_eq!(line("link".to_owned()), None);
    }
}
