use super::*;
use clap::Parser;

#[derive(Parser)]
struct Demo {
    #[command(flatten)]
    args: Args,
}

fn parse(options: &[&str]) -> Result<Args, String> {
    let parsed = Demo::try_parse_from(std::iter::once(&"demo").chain(options));
    parsed.map(|demo| demo.args).map_err(|error| error.to_string())
}

#[test]
fn by_default_the_three_of_the_readme_over_the_satellite_path() {
    let args = parse(&[]).expect("defaults");
    assert_eq!(args.controllers, [Algorithm::default(), Algorithm::Cubic, Algorithm::Bbr3]);
    assert_eq!(args.path(), Path::from(Preset::Satellite));
    assert_eq!(args.chart(&args.path()), PathBuf::from("pcc-demo-satellite.svg"));
}

#[test]
fn options_change_parts_of_a_path() {
    let args = parse(&["--path", "lossy", "--loss", "2%", "--queue", "75kB"]).expect("valid");
    let expected = Path { name: "custom", loss: 0.02, queue: 75_000, ..Path::from(Preset::Lossy) };
    assert_eq!(args.path(), expected);
    let args = parse(&["--rate", "42mbit"]).expect("valid");
    assert_eq!(args.path().name, "satellite", "nothing has changed");
}

#[test]
fn mistakes_are_named_with_what_would_be_right() {
    for (options, message) in [
        (["--path", "moon"], "possible values: satellite, lossy, shallow, fiber"),
        (["--rate", "100"], "the unit is missing; write for example 42mbit"),
        (["--rtt", "20s"], "a round trip can take at most 10s"),
        (["--loss", "1"], "1 may be 1% or 100%"),
        (["--queue", "1kB"], "a packet of 1480 bytes must fit"),
        (["--duration", "-1"], "write seconds, as 90"),
        (["--duration", "10ms"], "a run can take between 1s and 60min"),
        (["--controller", "cubic,reno"], "unknown controller \"reno\""),
        (["--runs", "0"], "0 is not in 1..=1000"),
    ] {
        let error = parse(&options).err().expect("refused");
        assert!(error.contains(message), "{options:?}: {error}");
    }
}

/// Over a path that is easy on any machine; what comes out depends on how busy this one is, but not that something does.
#[tokio::test]
async fn data_goes_through_the_relay() {
    let path = Path { rate: Rate::from_mbps(10.0), rtt: Duration::from_millis(20), ..Path::from(Preset::Lossy) };
    for algorithm in [Algorithm::default(), Algorithm::Cubic] {
        let mut seen = 0;
        let outcome =
            real_time::run(algorithm, &path, Duration::from_secs(2), 1, None, |_| seen += 1).await.expect("a run");
        assert_eq!(outcome.samples.len(), seen + 1);
        assert!(outcome.share > 0.0 && outcome.share < 1.1, "{}", outcome.share);
        assert!(outcome.rtt_mean >= path.rtt);
        let end = outcome.samples.last().expect("samples");
        assert!(end.received <= outcome.forward.delivered_bytes);
    }
}

#[test]
fn in_virtual_time_the_same_seed_gives_the_same() {
    let path = Path { rate: Rate::from_mbps(10.0), rtt: Duration::from_millis(20), ..Path::from(Preset::Lossy) };
    for algorithm in Algorithm::all() {
        let run = |seed| {
            let outcome = virtual_time::run(algorithm, &path, Duration::from_secs(2), seed, |_| {}).expect("a run");
            assert!(outcome.share > 0.0 && outcome.share < 1.1, "{algorithm}: {}", outcome.share);
            format!("{outcome:?}")
        };
        assert_eq!(run(1), run(1), "{algorithm}");
        assert_ne!(run(1), run(2), "{algorithm}");
    }
}
