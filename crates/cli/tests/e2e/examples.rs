//! The examples work, and the documentation shows them as they are.

use std::path::{Path, PathBuf};

use crate::sandbox;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn symbol_libraries() {
    let page = std::fs::read_to_string(root().join("docs/symbol-libraries.md")).expect("the page is there");
    let sandbox = sandbox("");
    for name in ["main.tf", "network/subnet.sym.hcl", "network/tags.sym.hcl", "network/sizes.tfsym.hcl"] {
        let text = std::fs::read_to_string(root().join("examples/symbols").join(name)).expect("the example is there");
        assert!(page.contains(&format!("```file {name}\n{text}```")), "{name} is shown as it is");
        sandbox.write(name, &text);
    }
    let expressions = "symbols::network::cidr({ number = 7 })\n\
                       symbols::network::cidr(var.subnets[\"db\"])\n\
                       symbols::network::tags(\"x\", { y = 1 })\n\
                       symbols.network.base\n\
                       symbols.network.bas\n";
    expect_test::expect![[r#"
        exit 1
        --- stdout
        "10.20.7.0/24"
        "10.20.32.0/20"
        {
          "name" = "x"
          "y" = "1"
        }
        "10.20.0.0/16"
        --- stderr

        Error: Reference to undefined symbol

          on <console-input> line 1:
           1: symbols.network.bas

        This is a reference to the block symbols "network" at main.tf:1, whose
        library network has no value named "bas". Did you mean "base"?
    "#]]
    .assert_eq(&sandbox.run_with(&["console", "-no-color"], expressions.as_bytes()).to_string());
}
