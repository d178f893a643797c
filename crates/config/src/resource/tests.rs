//! Tests of resource blocks.

use expect_test::expect;

use crate::testing::{check, check_override};

#[test]
fn meta_arguments() {
    check(
        r#"
resource "0a" "b c" {
  count      = 1
  depends_on = [a.b, "c.d", module.m, data.x.y[0], "not valid", 1, f(x)]
}
data "0a" "b c" {
  provider   = aws.x.y
  depends_on = a.b
}
ephemeral "0a" "b c" {
  for_each   = {}
  depends_on = ["a.b.", ""]
}
"#,
        &expect![[r#"
                2:10 Error: Invalid resource type name
                2:15 Error: Invalid resource name
                4:22 Warning: Quoted references are deprecated
                4:57 Error: Invalid character
                4:52 Warning: Quoted references are deprecated
                4:65 Error: Invalid expression
                4:68 Error: Invalid expression
                6:6 Error: Invalid data source name
                6:11 Error: Invalid data resource name
                7:21 Error: Invalid provider configuration reference
                8:16 Error: Invalid expression
                10:11 Error: Invalid ephemeral resource type name
                10:16 Error: Invalid ephemeral resource name
                12:22 Error: Attribute name required
                12:17 Warning: Quoted references are deprecated
                12:26 Error: Variable name required
                12:25 Warning: Quoted references are deprecated
                12:25 Error: Invalid expression
            "#]],
    );
}

#[test]
fn one_way_to_say_how_many() {
    check(
        r#"
resource "a" "b" {
  count    = 1
  for_each = {}
}
resource "a" "c" {
  lifecycle {
    enabled = true
  }
  for_each = {}
  count = 1
}
data "a" "b" {
  lifecycle {
    enabled = true
  }
  count = 1
}
ephemeral "a" "b" {
  for_each = {}
  lifecycle {
    enabled = true
  }
}
"#,
        &expect![[r#"
                3:3 Error: Invalid combination of "count" and "for_each"
                8:5 Error: Invalid combination of "count", "enabled", and "for_each"
                15:5 Error: Invalid combination of "count" and "enabled"
                20:3 Error: Invalid combination of "enabled" and "for_each"
            "#]],
    );
}

#[test]
fn blocks_that_stand_once() {
    check(
        r#"
resource "a" "b" {
  lifecycle {}
  lifecycle { nonsense = 1 }
  connection {}
  connection {}
  _ { count = 1 }
  _ {}
  locals {}
  provisioner "x" {}
  provisioner {}
  other {}
}
data "a" "b" {
  lifecycle {}
  lifecycle {}
  _ {}
  _ {}
  locals {}
  connection {}
  provisioner "x" {}
}
ephemeral "a" "b" {
  lifecycle {}
  lifecycle {}
  _ {}
  _ {}
  locals {}
  connection {}
  provisioner "x" {}
}
"#,
        &expect![[r#"
                11:15 Error: Missing type for provisioner
                4:3 Error: Duplicate lifecycle block
                6:3 Error: Duplicate connection block
                8:3 Error: Duplicate escaping block
                9:3 Error: Reserved block type name in resource block
                16:3 Error: Duplicate lifecycle block
                18:3 Error: Duplicate escaping block
                19:3 Error: Reserved block type name in data block
                25:3 Error: Duplicate lifecycle block
                27:3 Error: Duplicate escaping block
                28:3 Error: Reserved block type name in ephemeral block
                29:3 Error: Invalid configuration block for ephemeral resource
                30:3 Error: Invalid configuration block for ephemeral resource
            "#]],
    );
}

#[test]
fn lifecycle_of_managed_resources() {
    check(
        r#"
resource "a" "ok" {
  lifecycle {
    create_before_destroy = true
    prevent_destroy       = var.x
    destroy               = false
    ignore_changes        = [a, b.c, d[0], e["f"]]
    replace_triggered_by  = [a.b, a.c[count.index], a.d[each.key].x, data.a.b]
  }
}
resource "a" "all" {
  lifecycle {
    ignore_changes = all
  }
}
resource "a" "b" {
  lifecycle {
    create_before_destroy = var.x
    ignore_changes        = ["a", "b.c", "*", "no no", 1, f(x)]
    replace_triggered_by  = [1, a.b + a.c, var.x, each.value, count.x, module.m.a, a, path.module, a.b[each.value], f(a.b), local]
  }
}
resource "a" "c" {
  lifecycle {
    create_before_destroy = "perhaps"
    ignore_changes        = "all"
    replace_triggered_by  = a.b
    unknown               = 1
    unknown {}
  }
}
resource "a" "d" {
  lifecycle {
    create_before_destroy = null
    ignore_changes        = [each.key, self, true, null]
    replace_triggered_by  = [provider::x::f(a.b), "a.b", template.x]
  }
}
"#,
        &expect![[r#"
                18:29 Error: Variables not allowed
                20:30 Error: Invalid replace_triggered_by expression
                20:33 Error: Invalid replace_triggered_by expression
                20:44 Error: Invalid reference in replace_triggered_by expression
                20:44 Error: Invalid replace_triggered_by expression
                20:51 Error: Invalid each reference in replace_triggered_by expression
                20:51 Error: Invalid replace_triggered_by expression
                20:63 Error: Invalid count reference in replace_triggered_by expression
                20:63 Error: Invalid replace_triggered_by expression
                20:72 Error: Invalid reference in replace_triggered_by expression
                20:72 Error: Invalid replace_triggered_by expression
                20:84 Error: Invalid reference
                20:87 Error: Invalid reference in replace_triggered_by expression
                20:87 Error: Invalid replace_triggered_by expression
                20:100 Error: Invalid each reference in replace_triggered_by expression
                20:125 Error: Invalid reference
                19:30 Warning: Quoted references are deprecated
                19:35 Warning: Quoted references are deprecated
                19:29 Error: Invalid ignore_changes wildcard
                19:51 Error: Invalid character
                19:47 Warning: Quoted references are deprecated
                19:56 Error: Invalid expression
                19:59 Error: Invalid expression
                19:42 Error: Invalid ignore_changes ruleset
                28:5 Error: Unsupported argument
                29:5 Error: Unsupported block type
                25:30 Error: Unsuitable value type
                27:29 Error: Invalid expression
                26:30 Error: Invalid expression
                34:29 Error: Unsuitable value type
                36:30 Error: Invalid reference in replace_triggered_by expression
                36:51 Error: Invalid replace_triggered_by expression
                36:58 Error: Reserved symbol name
            "#]],
    );
}

#[test]
fn lifecycle_of_other_resources() {
    check(
        r#"
data "a" "b" {
  lifecycle {
    create_before_destroy = true
    enabled               = true
    prevent_destroy       = true
    destroy               = true
    ignore_changes        = all
    replace_triggered_by  = []
    precondition {
      condition     = true
      error_message = "x"
      other         = 1
    }
    postcondition {}
  }
}
ephemeral "a" "b" {
  lifecycle {
    create_before_destroy = true
    enabled               = true
    prevent_destroy       = true
    destroy               = true
    ignore_changes        = all
    replace_triggered_by  = []
    precondition {
      condition     = self.x
      error_message = "x"
    }
    postcondition {
      condition     = ephemeral.a.b.x
      error_message = "x"
    }
  }
}
"#,
        &expect![[r#"
                4:5 Error: Invalid data resource lifecycle argument
                6:5 Error: Invalid data resource lifecycle argument
                7:5 Error: Invalid data resource lifecycle argument
                8:5 Error: Invalid data resource lifecycle argument
                9:5 Error: Invalid data resource lifecycle argument
                13:7 Error: Unsupported argument
                11:23 Error: Invalid precondition expression
                15:19 Error: Missing required argument
                15:19 Error: Missing required argument
                19:3 Error: Invalid lifecycle configuration for ephemeral resource
                19:3 Error: Invalid lifecycle configuration for ephemeral resource
                19:3 Error: Invalid lifecycle configuration for ephemeral resource
                19:3 Error: Invalid lifecycle configuration for ephemeral resource
                19:3 Error: Invalid lifecycle configuration for ephemeral resource
                31:23 Error: Invalid reference in postcondition
            "#]],
    );
}

#[test]
fn json() {
    check(
        r#"{"resource": {"a": {"b": {
  "provider": "aws.x[each.key]",
  "depends_on": ["a.b", "a..b", 1],
  "lifecycle": {
    "ignore_changes": ["a", "*"],
    "replace_triggered_by": ["a.b", 1, "a.b[each.key]", "a +"],
    "create_before_destroy": "true"
  }
}}}}"#,
        &expect![[r#"
                3:25 Error: Invalid expression
                3:33 Error: Invalid expression
                6:37 Error: Expected string expression
                6:60 Error: Missing expression
                5:23 Error: Invalid ignore_changes wildcard
                5:29 Error: Invalid ignore_changes ruleset
            "#]],
    );
    check(
        r#"{"resource": {"a": {"b": [{"provider": 5, "lifecycle": [{}, {}]}, {"provider": "${x}", "count": 1, "for_each": 2}]}}}"#,
        &expect![[r#"
            1:40 Error: Expected string expression
            1:56 Error: Duplicate lifecycle block
            1:88 Error: Invalid combination of "count" and "for_each"
        "#]],
    );
}

#[test]
fn override_files() {
    check_override(
        "data \"a\" \"b\" {\n  lifecycle {\n    postcondition {\n    }\n    enabled = true\n  }\n}\n",
        &expect![[r#"
                3:5 Error: Can't override postcondition blocks
            "#]],
    );
}
