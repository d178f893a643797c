//! The test provider as a plugin process.

fn main() -> std::process::ExitCode {
    yuba_testprovider::run()
}
