//! A supervisor of commands and nothing else: for tests and measurements of the library alone.

fn main() -> std::process::ExitCode {
    if countersign_worker::supervise_if_asked() {
        std::process::ExitCode::SUCCESS
    } else {
        std::process::ExitCode::FAILURE
    }
}
