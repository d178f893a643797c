//! Linker options of the binary.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|it| it == value);
    // A position-independent executable has 30,000 relocations that the loader writes at every start: half a millisecond of
    // processor time and 2 MB of memory for each command. Libraries, heap and stacks stay at random addresses. OpenTofu's
    // binary is linked the same way.
    if is("PROFILE", "release") && is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
