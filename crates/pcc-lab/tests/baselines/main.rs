//! The controllers to compare with: any events, and what theory says of them on simple links.

mod any_events;
mod links;

use pcc_lab::baselines;

#[test]
fn every_name_builds_and_names_are_sorted() {
    assert!(baselines::NAMES.is_sorted());
    for name in baselines::NAMES {
        assert!(baselines::build(name, 1).is_some(), "{name}");
    }
    assert!(baselines::build("tahoe", 1).is_none());
}
