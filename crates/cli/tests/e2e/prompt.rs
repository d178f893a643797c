//! Questions for values of variables.

use expect_test::expect;

use crate::sandbox;

#[test]
fn who_is_asked_for_a_deprecated_variable_is_told() {
    let sandbox = sandbox(
        r#"
//- main.tf
variable "r" {
  description = "The r."
  deprecated  = "It is going away."
}
output "o" {
  value = var.r
}
"#,
    );
    let run = sandbox.run_with(&["plan", "-no-color", "-input=true"], b"hello\n");
    assert!(run.stdout.contains("+ o = \"hello\"") && run.stdout.contains("Deprecated variable used"), "{run}");
    expect![[r#"
        var.r
          The r.
          Variable is marked as deprecated with the following message: It is going away.

          Enter a value: "#]]
    .assert_eq(&run.stderr);
}

#[test]
fn only_yes_applies() {
    let sandbox = sandbox("//- main.tf\noutput \"o\" {\n  value = 1\n}\n");
    let answered = |answer: &[u8]| sandbox.run_with(&["apply", "-no-color"], answer);
    let run = answered(b"no\n");
    assert!(run.code == 1 && run.stdout.ends_with("\nApply cancelled.\n"), "{run}");
    let run = answered(b"");
    assert!(run.code == 1 && run.stderr.contains("Error: error asking for approval: EOF"), "{run}");
    // Nothing is left locked.
    let run = answered(b"yes\n");
    assert!(run.code == 0 && run.stdout.contains("Apply complete!"), "{run}");
}
