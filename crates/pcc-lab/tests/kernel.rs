//! The kernel's PCC beside the core's profiles. It sees less, and its intervals begin and end with acknowledgements.

use pcc_lab::report::FlowReport;
use pcc_lab::run::simulate;
use pcc_lab::scenario::Plan;
use std::fmt::Write;

const LINKS: [(&str, &str, u32); 3] = [
    ("clean", "rate = '100mbit'\ndelay = '15ms'\nqueue = '75kB'", 20),
    ("lossy 1 %", "rate = '100mbit'\ndelay = '15ms'\nqueue = '75kB'\nloss = '1%'", 20),
    ("satellite", "rate = '42mbit'\ndelay = '400ms'\nqueue = '1MB'\nloss = '0.74%'", 60),
];

fn run(link: &str, seconds: u32, controller: &str) -> FlowReport {
    let scenario = format!("duration = '{seconds}s'\n[[link]]\n{link}\n[[flow]]\ncontroller = '{controller}'");
    simulate(&Plan::parse("test.toml", &scenario, &[]).unwrap().cases[0], 1, false).unwrap().flows.remove(0)
}

/// A single flow, start-up included: goodput, loss, and the 95th percentile of the queueing delay.
#[test]
fn the_kernels_pcc_keeps_up_with_the_core() {
    let mut table = String::new();
    for (name, link, seconds) in LINKS {
        for (profile, kernel) in
            [("vivace-latency", "pcc_vivace"), ("vivace-loss", "pcc_vivaceloss"), ("allegro-2015", "pcc_allegro")]
        {
            let flows = [profile, kernel].map(|controller| (controller, run(link, seconds, controller)));
            for (controller, flow) in &flows {
                let loss = flow.loss * 100.0;
                writeln!(
                    table,
                    "{name:10} {controller:20} {:7.2} Mbit/s {loss:6.2} % lost {:7.2} ms",
                    flow.goodput, flow.queueing_p95
                )
                .unwrap();
            }
            let [(_, core), (_, kernel)] = &flows;
            assert!(kernel.goodput > 0.85 * core.goodput, "{name}: {table}");
            assert!(kernel.loss < 1.5 * core.loss + 0.005, "{name}: {table}");
        }
    }
    insta::assert_snapshot!(table);
}
