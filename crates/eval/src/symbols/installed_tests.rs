//! Libraries that are installed for the blocks that name them.

use std::collections::BTreeMap;

use expect_test::{Expect, expect};
use yuba_addrs::Version;

use crate::tree::tests::{Memory, run};
use crate::tree::{Installed, Manifest, Purpose};

/// Links with records `key source [version] dir`: the values of outputs `v` of all modules are those of their library `l`.
fn check(fixture: &str, records: &[&str], expect: &Expect) {
    let mut modules = BTreeMap::new();
    for record in records {
        let words: Vec<&str> = record.split(' ').collect();
        let (key, source, version, dir) = match words.as_slice() {
            [key, source, version, dir] => (key, source, Version::parse(version).ok(), dir),
            [key, source, dir] => (key, source, None, dir),
            _ => panic!("{record}"),
        };
        modules.insert((*key).into(), Installed { source: (*source).into(), version, dir: (*dir).into() });
    }
    let mut memory = Memory::new(fixture);
    let (tree, problems) = run(&mut memory, &[], &Manifest { modules }, Purpose::Use);
    let mut found = String::new();
    for (_, node) in tree.iter() {
        let library = node.symbols.get("l").and_then(|included| included.library.as_deref());
        let value = library.and_then(|library| library.values.get("v"));
        found += &format!("[{}] {value:?}\n", node.path);
    }
    let keys: Vec<String> = tree.manifest().modules.keys().map(ToString::to_string).collect();
    expect.assert_eq(&format!("{found}{}\n{problems}", keys.join(" ")));
}

#[test]
fn each_block_has_its_own_record() {
    let fixture = r#"
--- main.tf
symbols "l" {
  source  = "acme/l/x"
  version = "~> 1.0"
}
symbols "near" { source = "./near" }
module "a" { source = "./m" }
module "b" { source = "./m" }
--- near/x.sym.hcl
symbols "l" { source = "git::https://example.com/l.git//sub" }
values { v = symbols.l.v }
--- m/main.tf
symbols "l" { source = "../near" }
--- c/modules/symbols@l/x.sym.hcl
values { v = "root" }
--- c/modules/symbols@near.symbols@l/sub/x.sym.hcl
values { v = "near" }
--- c/modules/a.symbols@l.symbols@l/sub/x.sym.hcl
values { v = "a" }
--- c/modules/b.symbols@l.symbols@l/sub/x.sym.hcl
values { v = "b" }
"#;
    let git = "git::https://example.com/l.git//sub";
    let registry = "symbols:l registry.opentofu.org/acme/l/x 1.2.0 c/modules/symbols@l";
    let near = format!("symbols:near.symbols:l {git} c/modules/symbols@near.symbols@l/sub");
    let of_a = format!("a.symbols:l.symbols:l {git} c/modules/a.symbols@l.symbols@l/sub");
    let of_b = format!("b.symbols:l.symbols:l {git} c/modules/b.symbols@l.symbols@l/sub");
    check(
        fixture,
        &[registry, &near, &of_a, &of_b],
        &expect![[r#"
            [] Some("root")
            [module.a] Some("a")
            [module.b] Some("b")
             a a.symbols:l.symbols:l b b.symbols:l.symbols:l symbols:l symbols:near.symbols:l
        "#]],
    );
    let other_version = registry.replace("1.2.0", "2.0.0");
    let other_source = near.replace("l.git", "other.git");
    check(
        fixture,
        &[&other_version, &other_source],
        &expect![[r#"
            [] None

            error near/x.sym.hcl:1,24 Symbol library source has changed: The symbol library was installed from "git::https://example.com/other.git//sub", but its source is now "git::https://example.com/l.git//sub". Run "yuba init" to install all symbol libraries of this configuration.
            error main.tf:3,13 Symbol library version requirements have changed: The installed version 2.0.0 does not meet the version constraint. Run "yuba init" to install all symbol libraries of this configuration.
        "#]],
    );
    check(
        fixture,
        &[registry, &near, &of_a],
        &expect![[r#"
            [] Some("root")
            [module.a] Some("a")
            [module.b] None
             a a.symbols:l.symbols:l b symbols:l symbols:near.symbols:l
            error near/x.sym.hcl:1,1 Symbol library not installed: The symbol library "l" of symbol library "l" of module.b from git::https://example.com/l.git//sub is not installed. Run "yuba init" to install all symbol libraries of this configuration.
        "#]],
    );
}

#[test]
fn paths_stay_in_the_package_of_a_library_or_module() {
    check(
        r#"
--- main.tf
symbols "l" { source = "/srv/l//in" }
module "m" { source = "/srv/m//in" }
--- c/modules/symbols@l/in/x.sym.hcl
symbols "beside" { source = "../beside" }
symbols "out" { source = "../../other" }
values { v = 1 }
--- c/modules/symbols@l/beside/x.sym.hcl
symbols "out" { source = "../../symbols@long" }
--- c/modules/symbols@long/x.sym.hcl
values {}
--- c/modules/other/x.sym.hcl
values {}
--- c/modules/m/in/main.tf
symbols "l" { source = "../../other" }
module "below" { source = "./below" }
--- c/modules/m/in/below/main.tf
symbols "l" { source = "../../beside" }
--- c/modules/m/beside/x.sym.hcl
values { v = "beside" }
"#,
        &["symbols:l file:///srv/l//in c/modules/symbols@l/in", "m file:///srv/m//in c/modules/m/in"],
        &expect![[r#"
            [] None
             symbols:l
            error c/modules/symbols@l/beside/x.sym.hcl:1,26 Local symbol library path escapes package: The path c/modules/symbols@long of the symbol library "out" of symbol library "beside" of symbol library "l" is outside of the package in c/modules/symbols@l. A source that starts with "./" or "../" must stay within the package of the block.
            error c/modules/symbols@l/in/x.sym.hcl:2,26 Local symbol library path escapes package: The path c/modules/other of the symbol library "out" of symbol library "l" is outside of the package in c/modules/symbols@l. A source that starts with "./" or "../" must stay within the package of the block.
        "#]],
    );
    check(
        r#"
--- main.tf
module "m" { source = "/srv/m//in" }
--- c/modules/m/in/main.tf
module "below" { source = "./below" }
module "out" { source = "./out" }
--- c/modules/m/in/below/main.tf
symbols "l" { source = "../../beside" }
--- c/modules/m/in/out/main.tf
symbols "l" { source = "../../../beside" }
--- c/modules/m/beside/x.sym.hcl
values { v = "beside" }
--- c/modules/beside/x.sym.hcl
values { v = "out" }
"#,
        &["m file:///srv/m//in c/modules/m/in"],
        &expect![[r#"
            [] None
            [module.m] None
            [module.m.module.below] Some("beside")
            [module.m.module.out] None
             m m.below m.out
            error c/modules/m/in/out/main.tf:1,24 Local symbol library path escapes package: The path c/modules/beside of the symbol library "l" of module.m.module.out is outside of the package in c/modules/m. A source that starts with "./" or "../" must stay within the package of the block.
        "#]],
    );
}

#[test]
fn libraries_that_include_each_other_come_to_an_end() {
    check(
        r#"
--- main.tf
symbols "l" { source = "/srv/a" }
--- c/modules/symbols@l/x.sym.hcl
symbols "b" { source = "acme/b/x" }
--- c/modules/symbols@l.symbols@b/x.sym.hcl
symbols "c" { source = "./c" }
--- c/modules/symbols@l.symbols@b/c/x.sym.hcl
symbols "a" { source = "/srv/a" }
"#,
        &[
            "symbols:l file:///srv/a c/modules/symbols@l",
            "symbols:l.symbols:b registry.opentofu.org/acme/b/x 1.0.0 c/modules/symbols@l.symbols@b",
        ],
        &expect![[r#"
            [] None
             symbols:l symbols:l.symbols:b
            error c/modules/symbols@l.symbols@b/c/x.sym.hcl:1,1 Symbol library includes itself: The symbol library c/modules/symbols@l includes itself:
        "#]],
    );
}

#[test]
fn override_files_change_version_and_source() {
    let fixture = r#"
--- main.tf
symbols "l" {
  source  = "acme/l/x"
  version = "1.0.0"
}
--- x_override.tf
symbols "l" { version = "2.0.0" }
--- c/modules/symbols@l/x.sym.hcl
values { v = "two" }
"#;
    let record = "symbols:l registry.opentofu.org/acme/l/x 2.0.0 c/modules/symbols@l";
    check(
        fixture,
        &[record],
        &expect![[r#"
            [] Some("two")
             symbols:l
        "#]],
    );
}
