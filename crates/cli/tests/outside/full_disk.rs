//! An apply on a file system that becomes full.

use yuba_testkit::Sandbox;

/// A shell with mounts of its own, which end with it.
const SPACE: [&str; 4] = ["unshare", "-rm", "sh", "-c"];

/// Whether this user can mount a file system.
pub(crate) fn can_mount() -> bool {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_yuba"), "");
    let mounted = || sandbox.shell(&SPACE, "mount -t tmpfs -o size=1m none .").code == 0;
    cfg!(target_os = "linux") && yuba_testkit::has_program("unshare") && mounted()
}

/// A file system of a few pages that another process fills.
pub(crate) fn loses_nothing_and_taints_nothing() {
    let sandbox = Sandbox::new(
        env!("CARGO_BIN_EXE_yuba"),
        r#"
//- main.tf
terraform {
  backend "local" {
    path = "full/terraform.tfstate"
  }
}
resource "terraform_data" "fill" {
  provisioner "local-exec" {
    command = "sleep 0.2; cat /dev/zero > full/rubbish 2> /dev/null || true"
  }
}
resource "terraform_data" "x" {
  count = 60
  input = join("", [for at in range(1000) : "${count.index}-${at}"])
  provisioner "local-exec" {
    command = "sleep 0.1"
  }
}
"#,
    );
    std::fs::create_dir(sandbox.dir().join("full")).expect("because the sandbox is writable");
    let script = "mount -t tmpfs -o size=1m none full
        $YUBA init > init
        $YUBA apply -auto-approve -no-color; echo exit $?
        rm -f full/rubbish; mount -o remount,size=8m full
        # What the journal has, without any advice taken.
        $YUBA show -no-color 2> said | grep -c '(tainted)'
        $YUBA state list 2> /dev/null | wc -l
        $YUBA state push errored.tfstate 2> /dev/null; echo push $?
        $YUBA state list | wc -l
        $YUBA show -no-color | grep -c '(tainted)'
        $YUBA apply -auto-approve -no-color > last; echo exit $?";
    let run = sandbox.shell(&SPACE, script);
    let answers: Vec<&str> = run.stdout.lines().rev().take(7).collect::<Vec<_>>().into_iter().rev().collect();
    let complete = run.stdout.lines().filter(|line| line.contains(": Creation complete")).count();
    let count = complete.to_string();
    assert_eq!(answers, ["exit 1", "0", &count, "push 0", &count, "0", "exit 0"], "{}", run.stderr);
    let said = run.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(said.matches("Failed to save state").count(), 1, "{said}");
    assert!(said.contains("yuba state push errored.tfstate"), "{said}");
    let rest = format!("Resources: {} added, 0 changed, 0 destroyed.", 61 - complete);
    assert!(sandbox.read("last").contains(&rest), "{rest}: {}", sandbox.read("last"));
}
