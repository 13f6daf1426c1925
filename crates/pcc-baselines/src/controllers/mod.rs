//! The controllers, and the one table of their names.
//!
//! Those that Linux has as window-based ones are clocked by acknowledgements, as there without the `fq` queue; with it they
//! are paced. Where Linux differs from a source so
//! that it matters for throughput, the file of the controller says which of them it follows.

mod bbr1;
mod bbr3;
mod bic;
mod compound;
mod copa;
mod cubic;
mod dctcp;
mod fast;
mod htcp;
mod hybla;
mod illinois;
mod ledbat;
mod newreno;
mod pcp;
mod scalable;
mod sprout;
mod udt;
mod vegas;
mod veno;
mod westwood;

use crate::parts::window::{Pacing, Rule, Windowed};
use bbr1::Bbr1;
use bbr3::Bbr3;
use bic::Bic;
use compound::Compound;
use copa::Copa;
use cubic::Cubic;
use dctcp::Dctcp;
use fast::Fast;
use htcp::Htcp;
use hybla::Hybla;
use illinois::Illinois;
use ledbat::Ledbat;
use newreno::NewReno;
use pcc::CongestionControl;
use pcp::Pcp;
use scalable::Scalable;
use sprout::Sprout;
use udt::Udt;
use vegas::Vegas;
use veno::Veno;
use westwood::Westwood;

/// What makes a controller; its random choices, if any, come from the seed that it gets.
pub type Constructor = fn(u64) -> Box<dyn CongestionControl>;

/// A congestion controller of this crate.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Baseline {
    /// What it is called here: what [`build`] takes, and scenarios and reports say.
    pub name: &'static str,
    /// Other names that [`build`] takes.
    pub aliases: &'static [&'static str],
    /// What Linux calls the same algorithm (`sysctl net.ipv4.tcp_congestion_control`), if it has it.
    pub linux: Option<&'static str>,
    /// What it is, with its source, in one line.
    pub summary: &'static str,
    /// Makes one.
    pub constructor: Constructor,
}

/// All controllers, sorted by name.
pub static BASELINES: &[Baseline] = &[
    Baseline {
        name: "bbr1",
        aliases: &[],
        linux: Some("bbr"),
        summary: "BBR version 1: CACM 2017, draft-cardwell-iccrg-bbr-congestion-control-00, Linux",
        constructor: |seed| Box::new(Bbr1::new(seed)),
    },
    Baseline {
        name: "bbr3",
        aliases: &[],
        linux: None,
        summary: "BBR version 3: draft-ietf-ccwg-bbr-04",
        constructor: |seed| Box::new(Bbr3::new(seed)),
    },
    Baseline {
        name: "bic",
        aliases: &[],
        linux: Some("bic"),
        summary: "BIC: Xu, Harfoush and Rhee, INFOCOM 2004, with the constants of Linux",
        constructor: |_| windowed(Bic::default(), Pacing::AckClocked),
    },
    Baseline {
        name: "bic-paced",
        aliases: &[],
        linux: None,
        summary: "BIC, paced as Linux paces where it has the fq queue",
        constructor: |_| windowed(Bic::default(), Pacing::Linux),
    },
    Baseline {
        name: "compound",
        aliases: &[],
        linux: None,
        summary: "Compound: Tan, Song, Zhang and Sridharan, INFOCOM 2006, draft-sridharan-tcpm-ctcp-02",
        constructor: |_| windowed(Compound::new(), Pacing::AckClocked),
    },
    Baseline {
        name: "copa",
        aliases: &[],
        linux: None,
        summary: "Copa: Arun and Balakrishnan, NSDI 2018",
        constructor: |_| Box::new(Copa::new()),
    },
    Baseline {
        name: "cubic",
        aliases: &[],
        linux: Some("cubic"),
        summary: "CUBIC: RFC 9438",
        constructor: |_| windowed(Cubic::new(), Pacing::AckClocked),
    },
    Baseline {
        name: "cubic-hystart",
        aliases: &[],
        linux: None,
        summary: "CUBIC, with HyStart++ (RFC 9406) in the first slow start, paced",
        constructor: |_| windowed(Cubic::with_hystart(), Pacing::Linux),
    },
    Baseline {
        name: "cubic-paced",
        aliases: &[],
        linux: None,
        summary: "CUBIC, paced as Linux paces where it has the fq queue",
        constructor: |_| windowed(Cubic::new(), Pacing::Linux),
    },
    Baseline {
        name: "dctcp",
        aliases: &[],
        linux: Some("dctcp"),
        summary: "DCTCP: RFC 8257",
        constructor: |_| windowed(Dctcp::new(), Pacing::AckClocked),
    },
    Baseline {
        name: "dctcp-paced",
        aliases: &[],
        linux: None,
        summary: "DCTCP, paced as Linux paces where it has the fq queue",
        constructor: |_| windowed(Dctcp::new(), Pacing::Linux),
    },
    Baseline {
        name: "fast",
        aliases: &[],
        linux: None,
        summary: "FAST: Wei, Jin, Low and Hegde, ToN 2006",
        constructor: |_| windowed(Fast::new(), Pacing::Linux),
    },
    Baseline {
        name: "htcp",
        aliases: &[],
        linux: Some("htcp"),
        summary: "H-TCP: Leith and Shorten 2004, draft-leith-tcp-htcp-06",
        constructor: |_| windowed(Htcp::new(), Pacing::AckClocked),
    },
    Baseline {
        name: "htcp-paced",
        aliases: &[],
        linux: None,
        summary: "H-TCP, paced as Linux paces where it has the fq queue",
        constructor: |_| windowed(Htcp::new(), Pacing::Linux),
    },
    Baseline {
        name: "hybla",
        aliases: &[],
        linux: Some("hybla"),
        summary: "Hybla: Caini and Firrincieli 2004, as in Linux",
        constructor: |_| windowed(Hybla::new(), Pacing::AckClocked),
    },
    Baseline {
        name: "hybla-paced",
        aliases: &[],
        linux: None,
        summary: "Hybla, paced as Linux paces where it has the fq queue",
        constructor: |_| windowed(Hybla::new(), Pacing::Linux),
    },
    Baseline {
        name: "illinois",
        aliases: &[],
        linux: Some("illinois"),
        summary: "Illinois: Liu, Basar and Srikant 2008",
        constructor: |_| windowed(Illinois::new(), Pacing::AckClocked),
    },
    Baseline {
        name: "illinois-paced",
        aliases: &[],
        linux: None,
        summary: "Illinois, paced as Linux paces where it has the fq queue",
        constructor: |_| windowed(Illinois::new(), Pacing::Linux),
    },
    Baseline {
        name: "ledbat",
        aliases: &[],
        linux: None,
        summary: "LEDBAT: RFC 6817, by round-trip times",
        constructor: |_| windowed(Ledbat::new(), Pacing::Linux),
    },
    Baseline {
        name: "newreno",
        aliases: &[],
        linux: Some("reno"),
        summary: "NewReno: RFC 5681 and 6582, with byte counting",
        constructor: |_| windowed(NewReno, Pacing::AckClocked),
    },
    Baseline {
        name: "newreno-paced",
        aliases: &[],
        linux: None,
        summary: "NewReno, evenly paced over a round trip: the papers' \"paced TCP\"",
        constructor: |_| windowed(NewReno, Pacing::Even),
    },
    Baseline {
        name: "pcp",
        aliases: &[],
        linux: None,
        summary: "PCP: Anderson, Collins, Krishnamurthy and Zahorjan, NSDI 2006",
        constructor: |seed| Box::new(Pcp::new(seed)),
    },
    Baseline {
        name: "scalable",
        aliases: &[],
        linux: Some("scalable"),
        summary: "Scalable TCP: Kelly 2003, as in Linux",
        constructor: |_| windowed(Scalable, Pacing::AckClocked),
    },
    Baseline {
        name: "scalable-paced",
        aliases: &[],
        linux: None,
        summary: "Scalable TCP, paced as Linux paces where it has the fq queue",
        constructor: |_| windowed(Scalable, Pacing::Linux),
    },
    Baseline {
        name: "sprout",
        aliases: &[],
        linux: None,
        summary: "Sprout: Winstein, Sivaraman and Balakrishnan, NSDI 2013",
        constructor: |_| Box::new(Sprout::new()),
    },
    Baseline {
        name: "udt",
        aliases: &[],
        linux: None,
        summary: "UDT: Gu and Grossman, Computer Networks 2007, draft-gg-udt-03, UDT4",
        constructor: |seed| Box::new(Udt::new(seed)),
    },
    Baseline {
        name: "vegas",
        aliases: &[],
        linux: Some("vegas"),
        summary: "Vegas: Brakmo and Peterson 1995, as in Linux",
        constructor: |_| windowed(Vegas::new(), Pacing::AckClocked),
    },
    Baseline {
        name: "vegas-paced",
        aliases: &[],
        linux: None,
        summary: "Vegas, paced as Linux paces where it has the fq queue",
        constructor: |_| windowed(Vegas::new(), Pacing::Linux),
    },
    Baseline {
        name: "veno",
        aliases: &[],
        linux: Some("veno"),
        summary: "Veno: Fu and Liew 2003, as in Linux",
        constructor: |_| windowed(Veno::default(), Pacing::AckClocked),
    },
    Baseline {
        name: "veno-paced",
        aliases: &[],
        linux: None,
        summary: "Veno, paced as Linux paces where it has the fq queue",
        constructor: |_| windowed(Veno::default(), Pacing::Linux),
    },
    Baseline {
        name: "westwood",
        aliases: &[],
        linux: Some("westwood"),
        summary: "Westwood+: Mascolo et al. 2001, Grieco and Mascolo 2004, as in Linux",
        constructor: |_| windowed(Westwood::default(), Pacing::AckClocked),
    },
    Baseline {
        name: "westwood-paced",
        aliases: &[],
        linux: None,
        summary: "Westwood+, paced as Linux paces where it has the fq queue",
        constructor: |_| windowed(Westwood::default(), Pacing::Linux),
    },
];

/// The name of each controller, sorted; without aliases.
pub fn names() -> impl ExactSizeIterator<Item = &'static str> + Clone {
    BASELINES.iter().map(|baseline| baseline.name)
}

/// The controller called `name`, or with such an alias; `None` if there is none.
pub fn find(name: &str) -> Option<&'static Baseline> {
    BASELINES.iter().find(|baseline| baseline.name == name || baseline.aliases.contains(&name))
}

/// What makes the controllers called `name`, `None` for an unknown one.
pub fn constructor(name: &str) -> Option<Constructor> {
    find(name).map(|baseline| baseline.constructor)
}

/// The same controller, but paced as Linux paces where it has the `fq` queue; `None` for one that is paced anyway.
pub fn paced(name: &str) -> Option<&'static Baseline> {
    find(&format!("{}-paced", find(name)?.name))
}

/// A new controller called `name`, `None` for an unknown one; its random choices, if any, come from `seed`.
pub fn build(name: &str, seed: u64) -> Option<Box<dyn CongestionControl>> {
    constructor(name).map(|constructor| constructor(seed))
}

fn windowed<R: Rule + 'static>(rule: R, pacing: Pacing) -> Box<dyn CongestionControl> {
    Box::new(Windowed::new(rule, pacing))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_sorted_and_unique() {
        assert!(names().is_sorted());
        let mut known = HashSet::new();
        for baseline in BASELINES {
            for name in [&baseline.name].into_iter().chain(baseline.aliases) {
                assert!(known.insert(name), "{name} twice");
                assert_eq!(find(name).map(|found| found.name), Some(baseline.name));
            }
        }
        assert!(build("tahoe", 1).is_none());
    }

    #[test]
    fn names_of_linux_are_unique() {
        let linux: Vec<_> = BASELINES.iter().filter_map(|baseline| baseline.linux).collect();
        assert_eq!(linux.iter().collect::<HashSet<_>>().len(), linux.len());
    }

    #[test]
    fn what_linux_has_is_clocked_by_acknowledgements_or_has_a_rate_of_its_own() {
        for baseline in BASELINES.iter().filter(|baseline| baseline.linux.is_some()) {
            assert_eq!(paced(baseline.name).is_none(), baseline.name == "bbr1", "{}", baseline.name);
        }
        assert!(paced("cubic-paced").is_none());
    }

    /// The table of the crate has each controller, and docs/baselines.md has it or says why not.
    #[test]
    fn every_controller_is_documented() {
        let comparison = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/baselines.md");
        let comparison = std::fs::read_to_string(comparison).expect("the documents of the repository");
        for Baseline { name, summary, .. } in BASELINES {
            let row = format!("//! | `{name}` | {summary} |");
            assert!(include_str!("../lib.rs").lines().any(|line| line == row), "lib.rs lacks: {row}");
            let mut words = comparison.split(|c: char| !c.is_alphanumeric() && c != '-');
            assert!(words.any(|word| word == *name), "docs/baselines.md lacks {name}");
        }
    }
}
