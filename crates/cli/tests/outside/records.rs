//! OpenTofu in a directory with records of symbol libraries, which it does not know.

use yuba_testkit::Sandbox;

/// OpenTofu works beside these records; afterwards they are still there, or `init` makes them again.
pub(crate) fn records_of_libraries_are_tolerated() {
    let sandbox = Sandbox::new(
        env!("CARGO_BIN_EXE_yuba"),
        "//- m/main.tf\noutput \"v\" {\n  value = 1\n}\n//- lib/x.sym.hcl\nvalues {\n  v = 1\n}\n",
    );
    let library = format!("symbols \"l\" {{\n  source = {:?}\n}}\n", sandbox.dir().join("lib"));
    let call = "module \"m\" {\n  source = \"./m\"\n}\n";
    let module = sandbox.read("m/main.tf");
    let yuba = |args: &[&str]| {
        let run = sandbox.run(args);
        assert_eq!(run.code, 0, "{args:?}: {run}");
    };
    let with_libraries = || {
        sandbox.write("main.tf", format!("{library}{call}"));
        sandbox.write("m/main.tf", format!("{library}{module}"));
    };
    with_libraries();
    yuba(&["init", "-no-color"]);
    sandbox.write("main.tf", call);
    sandbox.write("m/main.tf", &module);
    for args in [&["validate"][..], &["init", "-no-color"], &["plan"], &["get", "-update"], &["validate"]] {
        let output = sandbox.command_of("tofu", args).output().expect("because tofu was found");
        assert!(output.status.success(), "{args:?}: {output:?}");
    }
    with_libraries();
    yuba(&["init", "-no-color"]);
    let records = sandbox.read(".terraform/modules/modules.json");
    assert!(records.contains("\"symbols:l\"") && records.contains("\"m.symbols:l\""), "{records}");
    yuba(&["validate", "-no-color"]);
}
