//! A part of the cases, for one of several machines.

use std::fmt;
use std::str::FromStr;

/// The first, second, ... of so many parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    number: u32,
    of: u32,
}

impl Shard {
    /// Whether a case is in it.
    pub fn has(self, case: u32) -> bool {
        case % self.of == self.number - 1
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let parts = text.split_once('/').and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        match parts {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Shard { number, of }),
            _ => Err("write which part of how many, such as 1/4".to_owned()),
        }
    }
}

/// As in names of files: `1-of-4`.
impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-of-{}", self.number, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_case_is_in_one_of_them() {
        let shards = ["1/3", "2/3", "3/3"].map(|text| text.parse::<Shard>().unwrap());
        assert!((0..100).all(|case| shards.iter().filter(|shard| shard.has(case)).count() == 1));
        for wrong in ["0/3", "4/3", "1", "1/0", "a/b", "1/-2"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
