//! What controllers do on hosts as they are, and over links that stall, as a table: a change of behaviour shows as a diff.

use pcc_lab::run::simulate;
use pcc_lab::scenario::Plan;
use std::fmt::Write;

const CONTROLLERS: [&str; 6] = ["vivace-latency", "vivace-loss", "allegro", "bbr1", "copa", "cubic"];

#[test]
fn hosts_and_stalls() {
    let links = [("clean", "queue = '75kB'"), ("3 %", "queue = '75kB'\nloss = '3%'"), ("9 kB", "queue = '9kB'")];
    let stalled = "{ every = '100ms', length = ['1ms', '10ms'] }";
    let hosts = [
        ("exact", "", String::new()),
        ("linux", "host = 'linux'", String::new()),
        ("busy-vm", "host = 'busy-vm'", String::new()),
        ("link stalls", "", format!("stalls = {stalled}")),
        ("link pauses", "", format!("pauses = {stalled}")),
    ];
    let mut table = String::new();
    for (name, link) in links {
        for (host, of_flow, of_link) in &hosts {
            for controller in CONTROLLERS {
                let scenario = format!(
                    "duration = '20s'\n[[link]]\nrate = '100mbit'\ndelay = '15ms'\n{link}\n{of_link}\n\
                     [[flow]]\ncontroller = '{controller}'\n{of_flow}"
                );
                let plan = Plan::parse("test.toml", &scenario, &[]).unwrap();
                let flow = simulate(&plan.cases[0], 1, false).unwrap().flows.remove(0);
                let (goodput, loss, delay) = (flow.goodput, flow.loss * 100.0, flow.queueing_p95);
                writeln!(
                    table,
                    "{name:5} {host:11} {controller:14} {goodput:6.2} Mbit/s {loss:5.2} % lost {delay:5.2} ms"
                )
                .unwrap();
            }
        }
    }
    insta::assert_snapshot!(table);
}
