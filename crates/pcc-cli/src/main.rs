//! The program `pcc`.

use std::process::ExitCode;

fn main() -> ExitCode {
    pcc_cli::main()
}
