//! Transfers that yield to others, or take another share than they do.

use super::*;

#[test]
fn a_transfer_in_the_background_or_with_a_weight_arrives() {
    let p = place();
    let file = p.file("a", 100_000);
    for (to, options) in [("background", &["--background"][..]), ("weight", &["--background", "--weight", "0.3"])] {
        let to = p.to.join(to);
        let mut recv = receiver(&to, &[]);
        sender(&[&file], &recv.ticket(), options).exits(0);
        recv.exits(0);
        assert_eq!(tree(&file), tree(&to.join("a")));
    }
}

#[test]
fn what_can_have_no_weight_is_said() {
    let p = place();
    let file = p.file("a", 100);
    for (options, says) in [
        (&["--weight", "0"][..], "a weight is a number from 0.01 to 100"),
        (
            &["--weight", "2", "--controller", "cubic"],
            "cubic knows no weights; the controllers that do: queue-target, bulk, scavenger",
        ),
        (&["--background", "--controller", "cubic"], "cannot be used with"),
    ] {
        let mut send = sender(&[&file], "pcc1unused", options);
        send.exits(2);
        assert!(send.stderr().contains(says), "{}", send.stderr());
    }
}
