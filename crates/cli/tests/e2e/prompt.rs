//! Questions for values of variables.

use expect_test::expect;

use crate::sandbox;

#[test]
fn the_prompt_for_a_deprecated_variable_warns() {
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

          Enter a value: 
    "#]]
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

/// A terminal shows what is typed, unless the program asks it not to.
#[cfg(unix)]
#[test]
fn sensitive_values_are_not_shown_while_they_are_typed() {
    use std::io::{Read as _, Write as _};
    use std::process::Stdio;

    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

    let sandbox = sandbox(
        r#"
//- main.tf
variable "a" {}
variable "b" {
  sensitive = true
}
variable "c" {
  sensitive = false
}
output "o" {
  value = "${var.a}-${nonsensitive(var.b)}-${var.c}"
}
"#,
    );
    let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("the system has terminals");
    grantpt(&person).and_then(|()| unlockpt(&person)).expect("the terminal is ours");
    let name = ptsname(&person, Vec::new()).expect("it has a name").into_string().expect("it is a path");
    let terminal = std::fs::File::options().read(true).write(true).open(name).expect("it was unlocked");
    let mut command = sandbox.command(&["plan", "-no-color"]);
    command.stdin(terminal).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    // The program has the only other end of the terminal.
    drop(command);
    let mut person = std::fs::File::from(person);
    let mut questions = child.stderr.take().expect("it is piped");
    let mut asked = String::new();
    for typed in ["first\n", "secret\n", "third\n"] {
        let before = asked.matches("Enter a value: ").count();
        while asked.matches("Enter a value: ").count() == before {
            let mut byte = [0];
            assert_eq!(questions.read(&mut byte).expect("it can be read"), 1, "{asked}");
            asked.push(char::from(byte[0]));
        }
        person.write_all(typed.as_bytes()).expect("it can be written");
    }
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("+ o = \"first-secret-third\""), "{said}");
    let mut seen = Vec::new();
    // The end is an error where the other end is closed.
    let _ = person.read_to_end(&mut seen);
    assert_eq!(String::from_utf8_lossy(&seen), "first\r\nthird\r\n");
    let names = asked.split_whitespace().filter(|word| word.starts_with("var."));
    assert_eq!(names.collect::<Vec<_>>(), ["var.a", "var.b", "var.c"]);
}
