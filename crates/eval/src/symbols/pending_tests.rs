//! Defaults and messages that are read when libraries are known, with override files.

use expect_test::{Expect, expect};

use crate::tree::tests::{Memory, run};
use crate::tree::{Manifest, Purpose};

/// Default and message of each variable, and the message of each output, of a module with a library.
fn check(main: &str, overriding: &str, expect: &Expect) {
    let fixture = format!(
        "\n--- main.tf\nsymbols \"l\" {{ source = \"./l.tfsym.hcl\" }}\n{main}\n--- x_override.tf\n{overriding}\n--- l.tfsym.hcl\n\
         values {{\n v = \"7\"\n list = []\n m = \"Message.\"\n blank = \" \"\n none = null\n}}\n"
    );
    let mut memory = Memory::new(&fixture);
    let (tree, problems) = run(&mut memory, &[], &Manifest::default(), Purpose::Use);
    let mut found = String::new();
    for variable in tree.root().module.variables.values() {
        found += &format!("{} {:?} {:?}\n", variable.name, variable.default, variable.deprecated);
        assert!(!variable.is_pending());
    }
    for output in tree.root().module.outputs.values() {
        found += &format!("output {} {:?}\n", output.name, output.deprecated);
    }
    expect.assert_eq(&format!("{found}{problems}"));
}

#[test]
fn override_files_replace_them() {
    check(
        r#"
variable "a" {
  type       = number
  default    = 1
  deprecated = "Old."
}
variable "b" {
  default    = symbols.l.v
  deprecated = symbols.l.m
}
variable "c" {
  default    = symbols.l.v
  deprecated = symbols.l.m
}
output "o" {
  value      = 1
  deprecated = symbols.l.m
}
output "p" {
  value      = 1
  deprecated = "Old."
}
"#,
        r#"
variable "a" {
  default    = symbols.l.v
  deprecated = symbols.l.m
}
variable "b" {
  default    = 2
  deprecated = "New."
}
variable "c" {
  type = number
}
output "o" { deprecated = "New." }
output "p" { deprecated = symbols.l.m }
"#,
        &expect![[r#"
            a Some(7) Some("Message.")
            b Some(2) Some("New.")
            c Some(7) Some("Message.")
            output o Some("New.")
            output p Some("Message.")
        "#]],
    );
}

#[test]
fn the_type_of_an_override_file_counts() {
    check(
        "variable \"a\" {\n  default = symbols.l.list\n}\nvariable \"b\" {\n  default = symbols.l.none\n}\n",
        "variable \"a\" {\n  type = number\n  deprecated = symbols.l.blank\n}\nvariable \"b\" {\n  nullable = false\n}\n",
        &expect![[r#"
            a Some(unknown(any)) Some(" ")
            b Some(null(any)) None
            error x_override.tf:3,16 Invalid `deprecated` value: The deprecation message of this variable is empty. Name the replacement for users of the module.
            error main.tf:3,13 Invalid default value for variable: The default does not match the type of the variable: number required, but this is tuple.
            error main.tf:6,13 Invalid default value for variable: The variable sets nullable = false, so its default cannot be null.
        "#]],
    );
}
