//! Files in, files out: a state that is read is written again as OpenTofu writes it, and its errors are reported.

use std::sync::Arc;

use expect_test::{Expect, expect};
use proptest::prelude::*;
use yuba_addrs::{AbsProviderConfig, AbsResourceInstance, ConfigResource, InstanceKey};
use yuba_syntax::FileId;
use yuba_value::{Mark, Type, Value};

use crate::*;

const PROVIDER: &str = "provider[\"terraform.io/builtin/terraform\"]";

/// The rewritten file, or the titles of errors.
fn again(file: &[u8]) -> String {
    match read(file) {
        Ok((state, warnings)) => {
            let mut out = Vec::new();
            write_compact(&state, &mut out);
            let mut text: String = warnings.iter().map(|d| format!("? {}: {}\n", d.summary, d.detail)).collect();
            text += String::from_utf8_lossy(&out).trim_end();
            text
        }
        Err(problems) => problems.iter().map(|d| format!("! {}\n", d.summary)).collect(),
    }
}

/// A file of the current format with these resources, each without what all have in common.
fn with_resource(resource: &str) -> String {
    format!(
        r#"{{"version":4,"terraform_version":"1.12.6","serial":3,"lineage":"x","outputs":{{}},"resources":[{resource}],"check_results":null}}"#
    )
}

fn with_instances(instances: &str) -> String {
    let provider = PROVIDER.replace('"', "\\\"");
    with_resource(&format!(
        r#"{{"mode":"managed","type":"t","name":"a","provider":"{provider}","instances":[{instances}]}}"#
    ))
}

/// The rewritten form of one object.
fn check_object(given: &str, expect: &str) {
    let got = again(with_instances(given).as_bytes());
    let expect = if expect.starts_with('!') { expect.to_owned() + "\n" } else { with_instances(expect) };
    assert_eq!(got, expect, "{given}");
}

#[test]
fn objects() {
    let least = r#"{"schema_version":0,"attributes":{},"sensitive_attributes":[]}"#;
    check_object("{}", least);
    check_object(r#"{"index_key":null,"status":null,"private":null,"future":[1]}"#, least);
    for full in [
        r#"{"index_key":0,"schema_version":1,"attributes":{"id":"x"},"sensitive_attributes":[]}"#,
        r#"{"index_key":"","status":"tainted","schema_version":0,"attributes":null,"sensitive_attributes":[]}"#,
        r#"{"index_key":"k","deposed":"0000000a","schema_version":0,"attributes":{},"sensitive_attributes":[[{"type":"get_attr","value":"a"},{"type":"index","value":{"value":0,"type":"number"}}],[]]}"#,
        r#"{"schema_version":0,"attributes_flat":{"a":"\u003c","b":""},"sensitive_attributes":[],"private":"AAE="}"#,
        r#"{"schema_version":0,"attributes":{},"sensitive_attributes":[],"dependencies":["data.t.x","module.m.t.y"],"create_before_destroy":true,"skip_destroy":true,"identity":{"id":"x"},"identity_schema_version":0}"#,
    ] {
        check_object(full, full);
    }
    check_object(
        "{ \"attributes\" : { \"a\" : \"<\u{2028}>\" } , \"identity_schema_version\" : 2 , \"PRIVATE\" : \"\\r\\nAAE=\" }",
        r#"{"schema_version":0,"attributes":{"a":"\u003c\u2028\u003e"},"sensitive_attributes":[],"private":"AAE="}"#,
    );
    check_object(
        r#"{"index_key":1.5}"#,
        r#"{"index_key":1,"schema_version":0,"attributes":{},"sensitive_attributes":[]}"#,
    );
    check_object(r#"{"index_key":true}"#, "! Invalid resource instance metadata in state");
    check_object(r#"{"status":"odd"}"#, "! Invalid resource instance metadata in state");
    check_object(r#"{"deposed":"abc"}"#, "! Invalid resource instance metadata in state");
    check_object("{},{}", "! Duplicate resource instance in state");
    check_object(r#"{"deposed":"00000001"},{"deposed":"00000001"}"#, "! Duplicate resource instance in state");
    check_object(r#"{"private":"e"}"#, "! Invalid state file format");
    check_object(r#"{"schema_version":"1"}"#, "! Invalid state file format");
    check_object(r#"{"schema_version":-1}"#, "! Invalid state file format");
    check_object(r#"{"dependencies":["x"]}"#, "! Invalid address");
    check_object(r#"{"sensitive_attributes":{}}"#, "! Error unmarshaling path steps");
    check_object(r#"{"sensitive_attributes":[[{"type":"x"}]]}"#, "! Unsupported path step");
    check_object(r#"{"sensitive_attributes":[[{"type":"index","value":1}]]}"#, "! Error unmarshaling path step");
}

#[test]
fn instances_of_provider_configurations() {
    let check = |provider: &str, instances: &[&str], expect: &Expect| {
        let instance = |(key, provider): (usize, &&str)| {
            let provider = if provider.is_empty() { String::new() } else { format!(r#""provider":{provider:?},"#) };
            format!(r#"{{"index_key":{key},{provider}"attributes":{{}}}}"#)
        };
        let instances: Vec<String> = instances.iter().enumerate().map(instance).collect();
        let provider = if provider.is_empty() { String::new() } else { format!(r#""provider":{provider:?},"#) };
        let resource =
            format!(r#"{{"mode":"managed","type":"t","name":"a",{provider}"instances":[{}]}}"#, instances.join(","));
        let got = again(with_resource(&resource).as_bytes());
        let got = got.replace(&with_resource("@").split_once('@').map(|(a, _)| a.to_owned()).unwrap_or_default(), "");
        expect.assert_eq(&got.replace(r#","schema_version":0,"attributes":{},"sensitive_attributes":[]"#, ""));
    };
    let aws = r#"provider["hashicorp/aws"].x"#;
    let keyed = |key: &str| format!("{aws}[\"{key}\"]");
    check(
        "",
        &[&keyed("a"), &keyed("b"), aws],
        &expect![[
            r#"{"mode":"managed","type":"t","name":"a","instances":[{"index_key":0,"provider":"provider[\"registry.opentofu.org/hashicorp/aws\"].x[\"a\"]"},{"index_key":1,"provider":"provider[\"registry.opentofu.org/hashicorp/aws\"].x[\"b\"]"},{"index_key":2,"provider":"provider[\"registry.opentofu.org/hashicorp/aws\"].x"}]}],"check_results":null}"#
        ]],
    );
    check(
        "",
        &[aws, aws],
        &expect![[
            r#"{"mode":"managed","type":"t","name":"a","provider":"provider[\"registry.opentofu.org/hashicorp/aws\"].x","instances":[{"index_key":0},{"index_key":1}]}],"check_results":null}"#
        ]],
    );
    check(
        aws,
        &[&keyed("a"), &keyed("b")],
        &expect![[r#"
        ? Provider field conflict in state: The resource t.a has the provider address provider["hashicorp/aws"].x, and its instance t.a[0] has the provider address provider["hashicorp/aws"].x["a"]. Yuba uses the address of the instance, and writes only this one when the state changes.
        ? Provider field conflict in state: The resource t.a has the provider address provider["hashicorp/aws"].x, and its instance t.a[1] has the provider address provider["hashicorp/aws"].x["b"]. Yuba uses the address of the instance, and writes only this one when the state changes.
        {"mode":"managed","type":"t","name":"a","instances":[{"index_key":0,"provider":"provider[\"registry.opentofu.org/hashicorp/aws\"].x[\"a\"]"},{"index_key":1,"provider":"provider[\"registry.opentofu.org/hashicorp/aws\"].x[\"b\"]"}]}],"check_results":null}"#]],
    );
    check(
        aws,
        &["", &keyed("b")],
        &expect![[r#"
        ? Provider field conflict in state: The resource t.a has the provider address provider["hashicorp/aws"].x, and its instance t.a[1] has the provider address provider["hashicorp/aws"].x["b"]. Yuba uses the address of the instance, and writes only this one when the state changes.
        {"mode":"managed","type":"t","name":"a","instances":[{"index_key":0,"provider":"provider[\"registry.opentofu.org/hashicorp/aws\"].x"},{"index_key":1,"provider":"provider[\"registry.opentofu.org/hashicorp/aws\"].x[\"b\"]"}]}],"check_results":null}"#]],
    );
    check(
        "",
        &["", ""],
        &expect![[r#"
        ! Provider field missing state
    "#]],
    );
    check(
        "",
        &[&keyed("a"), "provider[\"hashicorp/gcp\"].x"],
        &expect![[r#"
        ! Provider instance field conflict in state
    "#]],
    );
    check(
        &keyed("a"),
        &[""],
        &expect![[r#"
        ! Invalid provider configuration address
    "#]],
    );
    check(
        "provider.aws.x",
        &[""],
        &expect![[
            r#"{"mode":"managed","type":"t","name":"a","provider":"provider[\"registry.opentofu.org/-/aws\"].x","instances":[{"index_key":0}]}],"check_results":null}"#
        ]],
    );
    check(
        "",
        &["provider.aws.x"],
        &expect![[r#"
        ! Invalid provider configuration address
    "#]],
    );
    check("", &[], &expect![[r#"],"check_results":null}"#]]);
}

#[test]
fn resources_are_in_the_order_of_addresses_as_text() {
    let resource = |place: &str| {
        format!(r#"{{{place},"type":"t","name":"a","provider":"provider.x","instances":[{{"attributes":{{}}}}]}}"#)
    };
    let places = [
        r#""module":"module.b","mode":"managed""#,
        r#""module":"module.a.module.z","mode":"managed""#,
        r#""module":"module.a[10]","mode":"managed""#,
        r#""module":"module.a[2]","mode":"managed""#,
        r#""mode":"managed""#,
        r#""mode":"data""#,
    ];
    let file = with_resource(&places.map(resource).join(","));
    let (state, _) = read(file.as_bytes()).expect("because it is well-formed");
    let mut out = Vec::new();
    write(&state, &mut out);
    let written = String::from_utf8_lossy(&out);
    let order: Vec<&str> = written
        .lines()
        .filter_map(|line| {
            line.trim().strip_prefix("\"module\": ").or_else(|| line.trim().strip_prefix("\"mode\": \"d"))
        })
        .collect();
    assert_eq!(order, ["ata\",", "\"module.a.module.z\",", "\"module.a[10]\",", "\"module.a[2]\",", "\"module.b\","]);
    assert!(written.ends_with("\"check_results\": null\n}\n\n"));
}

#[test]
fn outputs_and_checks() {
    for file in [
        r#"{"version":4,"terraform_version":"1.12.6","serial":3,"lineage":"x","outputs":{"a":{"value":{"x":[1,null]},"type":["object",{"x":["list","number"]}],"sensitive":true,"deprecated":"old"},"b":{"value":123456789012345678901234567890.5,"type":"number"},"c":{"value":null,"type":"string"}},"resources":[],"check_results":null}"#,
        r#"{"version":4,"terraform_version":"1.12.6","serial":3,"lineage":"x","outputs":{},"resources":[],"check_results":[{"object_kind":"var","config_addr":"module.m.var.v","status":"fail","objects":[{"object_addr":"module.m[\"k\"].var.v","status":"fail","failure_messages":["no \u003cx\u003e"]}]},{"object_kind":"check","config_addr":"check.c","status":"unknown","objects":null},{"object_kind":"resource","config_addr":"data.t.a","status":"pass","objects":[{"object_addr":"data.t.a[0]","status":"pass"}]},{"object_kind":"output","config_addr":"output.o","status":"error","objects":[{"object_addr":"output.o","status":"error"}]}]}"#,
    ] {
        assert_eq!(again(file.as_bytes()), file);
    }
    let check = |part: &str, expect: &str| {
        let got = again(format!("{{\"version\":4,{part}}}").as_bytes());
        assert_eq!(got.trim_end(), expect, "{part}");
    };
    let empty = r#"{"version":4,"terraform_version":"1.12.6","serial":0,"lineage":"","outputs":{},"resources":[],"check_results":null}"#;
    check(r#""outputs":{"x":null}"#, "! Invalid output value type in state");
    check(r#""outputs":{"x":{"type":"number","value":"y"}}"#, "! Invalid output value saved in state");
    check(r#""outputs":null,"resources":null,"check_results":null"#, empty);
    check(r#""check_results":[]"#, empty);
    check(r#""check_results":[{"object_kind":"future","config_addr":"?"}]"#, empty);
    check(r#""check_results":[{"object_kind":"output","config_addr":"check.a"}]"#, "! Invalid checkable address");
    check(
        r#""check_results":[{"object_kind":"check","config_addr":"module.a[0].check.a"}]"#,
        "! invalid checkable config address module.a[0].check.a",
    );
}

#[test]
fn what_commands_make_titles_of() {
    let resource = |fields: &str| {
        format!("{{\"version\":4,\"resources\":[{{\"mode\":\"managed\",\"type\":\"t\",\"name\":\"a\",{fields}}}]}}")
    };
    let provider = "\"provider\":\"provider[\\\"a/b\\\"]\"";
    let instance = |fields: &str| resource(&format!("{provider},\"instances\":[{{{fields}}}]"));
    for (file, expect) in [
        (
            "{}".into(),
            "The state file does not have a \"version\" attribute, which is required to identify the format version.",
        ),
        ("{\"version\":\"4\"}".into(), "The version in the state file is string. A positive whole number is required."),
        (
            "{\"version\":4.5}".into(),
            "The version in the state file is number 4.5. A positive whole number is required.",
        ),
        (
            "{\"version\":5,\"terraform_version\":\"2.0.0\"}".into(),
            "The state file uses format version 5, which is not supported by OpenTofu 1.12.6. This state file was created by OpenTofu 2.0.0.",
        ),
        ("{\"version\":4,\"serial\":-1}".into(), "The state file field \"serial\" has invalid value number -1"),
        ("{\"version\":4,\"resources\":{}}".into(), "The state file field \"resources\" has invalid value object"),
        (
            "{\"version\":4,\"outputs\":{\"x\":{\"value\":1}}}".into(),
            "The state file has an invalid type specification for output \"x\": EOF.",
        ),
        (
            resource("\"provider\":\"junk\""),
            "Provider address must begin with \"provider.\", followed by a provider type name.",
        ),
        (resource(&format!("\"module\":\"bad mod\",{provider}")), "Expected an attribute access or an index operator."),
        (instance("\"status\":\"odd\""), "Instance t.a has invalid status \"odd\"."),
        (instance("\"index_key\":true"), "Resource t.a has an instance with the invalid instance key true."),
        (
            instance("\"deposed\":\"abc\""),
            "Instance t.a has an object with deposed key \"abc\", which is not correctly formatted.",
        ),
    ] {
        let problems = read(file.as_bytes()).expect_err("because none of them is right");
        let first = problems.iter().next().map(|problem| problem.detail.as_str()).unwrap_or_default();
        assert_eq!(first.lines().next(), Some(expect), "{file}");
    }
}

#[test]
fn files_that_are_not_states() {
    let unsupported = "! Unsupported state file format\n";
    let twice = "! Unsupported state file format\n! Unsupported state file format\n";
    let invalid = "! Invalid state file format\n";
    let upgrade = "! State format upgrade failed\n";
    for (file, expect) in [
        ("", unsupported),
        ("tfstate\0", unsupported),
        ("{}", unsupported),
        ("null", unsupported),
        ("{\"version\":null}", unsupported),
        ("{\"version\":\"4\"}", unsupported),
        ("{\"version\":4.0}", unsupported),
        ("{\"version\":-1}", unsupported),
        ("{\"version\":0}", unsupported),
        ("{\"version\":5}", unsupported),
        ("{\"encryption_version\":\"v0\"}", unsupported),
        ("   ", twice),
        ("[]", twice),
        ("nonsense", twice),
        ("{\"version\":4", twice),
        ("{\"version\":4}{}", twice),
        ("\u{feff}{\"version\":4}", twice),
        ("{\"version\":4,\"serial\":-1}", invalid),
        ("{\"version\":4,\"lineage\":1}", invalid),
        ("{\"version\":4,\"resources\":{}}", invalid),
        ("{\"version\":4,\"resources\":[1]}", invalid),
        ("{\"version\":4,\"terraform_version\":\"abc\"}", "! Invalid OpenTofu version string\n"),
        ("{\"version\":4,\"resources\":[{}]}", "! Invalid resource mode in state\n"),
        ("{\"version\":3,\"serial\":-1}", upgrade),
        ("{\"version\":3,\"modules\":[{\"path\":[\"x\"]}]}", upgrade),
        ("{\"version\":3,\"modules\":[{\"path\":[\"root\",\"1\"]}]}", upgrade),
        ("{\"version\":3,\"modules\":[{\"path\":[\"root\"],\"resources\":{\"a\":{}}}]}", upgrade),
        ("{\"version\":3,\"modules\":[{\"path\":[\"root\"],\"resources\":{\"a.b.c\":{}}}]}", upgrade),
        (
            "{\"version\":3,\"modules\":[{\"path\":[\"root\"],\"resources\":{\"a.b\":{\"provider\":\"x.${y}\"}}}]}",
            upgrade,
        ),
        ("{\"version\":3,\"modules\":[{\"path\":[\"root\"],\"resources\":{\"a.b\":1}}]}", invalid),
    ] {
        assert_eq!(again(file.as_bytes()), expect, "{file}");
    }
    let newer = read(br#"{"version":5,"terraform_version":"2.0.0"}"#).expect_err("because it is newer");
    expect![[r#"
        The state file uses format version 5, which is not supported by OpenTofu 1.12.6. This state file was created by OpenTofu 2.0.0.

        The newest supported format version is 4."#]]
        .assert_eq(&newer.iter().map(|d| d.detail.as_str()).collect::<String>());
}

#[test]
fn old_formats() {
    let check = |file: &str, expect: &Expect| {
        let (state, _) = read(file.as_bytes()).unwrap_or_else(|problems| panic!("{problems:?}"));
        let mut out = Vec::new();
        write_compact(&state, &mut out);
        let out =
            String::from_utf8_lossy(&out).replace("{\"index_key", "\n{\"index_key").replace("{\"mode", "\n{\"mode");
        expect.assert_eq(out.replace("{\"module\"", "\n{\"module\"").trim_end());
    };
    check(
        r#"{"version":1,"serial":2,"modules":[{"path":["root"],"outputs":{"a":"x"},"resources":{"aws_x.y":{"type":"aws_x",
        "primary":{"id":"i","attributes":{"m.#":"1","m.k":"v","l.#":"1","l.0":"a","e.#":"0"},"meta":{"schema_version":"2","x":"y"}},
        "tainted":[{"id":"z"}],"deposed":[{"id":"old"}],"provider":"aws.west"}}}]}"#,
        &expect![[r#"
            {"version":4,"terraform_version":"1.12.6","serial":2,"lineage":"","outputs":{"a":{"value":"x","type":"string"}},"resources":[
            {"mode":"managed","type":"aws_x","name":"y","provider":"provider[\"registry.opentofu.org/-/aws\"].west","instances":[{"schema_version":2,"attributes_flat":{"id":"i","l.#":"1","l.0":"a","m.%":"1","m.k":"v"},"sensitive_attributes":[],"private":"eyJ4IjoieSJ9"},{"deposed":"00000001","schema_version":0,"attributes_flat":{"id":"old"},"sensitive_attributes":[]}]}],"check_results":null}"#]],
    );
    check(
        r#"{"version":2,"serial":2,"lineage":"l","terraform_version":"0.7.0","modules":[
        {"path":["root","child"],"resources":{"data.aws_x.y.1":{"primary":{"id":"i","meta":{"schema_version":3,"b":{"z":1,"a":[true,1.5]}},"tainted":true}}}},
        {"path":["root"],"outputs":{"l":{"sensitive":true,"type":"list","value":["a","b"]},"m":{"value":{"a":"b"}},"e":{"value":[]},"mix":{"value":[1,"a"]}}}]}"#,
        &expect![[r#"
            {"version":4,"terraform_version":"1.12.6","serial":2,"lineage":"l","outputs":{"e":{"value":[],"type":["tuple",[]]},"l":{"value":["a","b"],"type":["list","string"],"sensitive":true},"m":{"value":{"a":"b"},"type":["map","string"]},"mix":{"value":[1,"a"],"type":["tuple",["number","string"]]}},"resources":[
            {"module":"module.child","mode":"data","type":"aws_x","name":"y","provider":"module.child.provider[\"registry.opentofu.org/-/aws\"]","instances":[
            {"index_key":1,"status":"tainted","schema_version":3,"attributes_flat":{"id":"i"},"sensitive_attributes":[],"private":"eyJiIjp7ImEiOlt0cnVlLDEuNV0sInoiOjF9fQ=="}]}],"check_results":null}"#]],
    );
    check(
        r#"{"version":3,"serial":1,"modules":[{"path":["root"],"resources":{"a.b.0x1F":{"primary":{"attributes":{"m.#":"1","m.k":"v"}}},
        "a.b.010":{"primary":{"id":"x"}},"data.terraform_remote_state.r":{"primary":{"id":"x"},"provider":"module.q.provider.terraform"}}}]}"#,
        &expect![[r#"
            {"version":4,"terraform_version":"1.12.6","serial":1,"lineage":"","outputs":{},"resources":[
            {"mode":"data","type":"terraform_remote_state","name":"r","provider":"module.q.provider[\"terraform.io/builtin/terraform\"]","instances":[{"schema_version":0,"attributes_flat":{"id":"x"},"sensitive_attributes":[]}]},
            {"mode":"managed","type":"a","name":"b","provider":"provider[\"registry.opentofu.org/-/a\"]","instances":[
            {"index_key":8,"schema_version":0,"attributes_flat":{"id":"x"},"sensitive_attributes":[]},
            {"index_key":31,"schema_version":0,"attributes_flat":{"m.#":"1","m.k":"v"},"sensitive_attributes":[]}]}],"check_results":null}"#]],
    );
}

#[test]
fn damaged_files_are_refused_or_are_other_states() {
    let file = with_instances(
        r#"{"index_key":"k","deposed":"0000000a","schema_version":0,"attributes":{"a":"\u00e9é"},"sensitive_attributes":[[{"type":"get_attr","value":"a"},{"type":"index","value":{"value":0,"type":"number"}}],[]],"private":"AAE=","dependencies":["data.t.x","module.m.t.y"],"identity":{"id":"x"}}"#,
    );
    for at in 0..file.len() {
        again(&file.as_bytes()[..at]);
        for bit in 0..8 {
            let mut bytes = file.clone().into_bytes();
            bytes[at] ^= 1 << bit;
            let written = again(&bytes);
            if written.starts_with('{') {
                assert_eq!(again(written.as_bytes()), written);
            }
        }
    }
}

#[test]
fn content_is_compared_without_serial_and_lineage() {
    let base = with_instances(r#"{"attributes":{"a":1}}"#);
    let same = |a: &str, b: &str| {
        let state = |text: &str| read(text.as_bytes()).expect("because it is well-formed").0;
        state(a).same_content(&state(b))
    };
    assert!(same(
        &base,
        &base.replace("\"serial\":3", "\"serial\":4").replace("\"lineage\":\"x\"", "\"lineage\":\"y\"")
    ));
    assert!(same(&base, &base.replace("{\"a\":1}", "{ \"a\" : 1 }")));
    assert!(same(&base, &base.replace("\"check_results\":null", "\"check_results\":[]")));
    for (old, new) in [
        ("\"a\":1", "\"a\":2"),
        ("\"name\":\"a\"", "\"name\":\"b\""),
        ("\"outputs\":{}", "\"outputs\":{\"o\":{\"value\":1,\"type\":\"number\"}}"),
    ] {
        assert!(!same(&base, &base.replace(old, new)), "{new}");
    }
    assert!(!same(
        &base,
        &base.replace("{\"attributes\":{\"a\":1}}", "{\"attributes\":{\"a\":1},\"status\":\"tainted\"}")
    ));
}

#[test]
fn copies_share_all_resources_until_one_is_edited() {
    let text = with_instances(r#"{"schema_version":0,"attributes":{"id":"i"},"dependencies":["t.b"]}"#);
    let (state, _) = read(text.as_bytes()).expect("it is a state");
    let mut copy = state.clone();
    assert!(Arc::ptr_eq(&state.resources, &copy.resources));
    assert_eq!(copy.resources.len(), 1);
    let addr = state.instances().next().expect("there is one").0;
    let list = &state.instance(&addr).and_then(|i| i.current.as_ref()).expect("there is one").dependencies;
    assert_eq!(list.capacity(), list.len(), "lists are as long as what they hold");
    let provider = state.iter().next().expect("there is one").provider.clone();
    copy.apply(Edit::SetObject { addr: addr.clone(), deposed: None, provider, provider_key: None, object: None });
    assert!(copy.is_empty() && state.instance(&addr).is_some());
}

fn any_key() -> impl Strategy<Value = Option<InstanceKey>> {
    prop_oneof![
        Just(None),
        (-2..1000i64).prop_map(|key| Some(InstanceKey::Int(key))),
        "[ -~é\u{301}\n]{0,6}".prop_map(|key| Some(InstanceKey::String(key.into()))),
    ]
}

/// Files have these as part of an address, so they are what an address can have.
fn any_provider_key() -> impl Strategy<Value = Option<InstanceKey>> {
    proptest::option::of("[ -~é\n]{0,6}".prop_map(|key| InstanceKey::String(key.into())))
}

fn any_address() -> impl Strategy<Value = AbsResourceInstance> {
    let module = prop_oneof![Just(""), Just("module.m."), Just("module.m[\"a.b\"].module.n[3].")];
    let name = prop_oneof![3 => Just("a"), 1 => Just("1a")];
    (module, name, any_key()).prop_map(|(module, name, key)| {
        let mut addr = AbsResourceInstance::parse_text(FileId(0), &format!("{module}data.t.a")).expect("an address");
        addr.resource.name = name.into();
        AbsResourceInstance { key, ..addr }
    })
}

fn any_object() -> impl Strategy<Value = Arc<Object>> {
    let text = "[ -~é\u{2028}]{0,8}";
    (any::<bool>(), text, any::<bool>(), proptest::collection::vec(any::<u8>(), 0..5), 0..3usize, any::<bool>())
        .prop_map(|(tainted, text, sensitive, private, dependencies, identity)| {
            let plain = Value::string(text.as_str());
            let value = Value::object(vec![
                ("a".into(), if sensitive { plain.mark(Mark::Sensitive) } else { plain }),
                ("d".into(), Value::tuple(vec![Value::int(1), Value::null(Type::bool())])),
            ]);
            let ty = Type::object(vec![("a".into(), Type::string()), ("d".into(), Type::dynamic())]);
            let object = Object::encode(&value, &ty, 7).expect("because it can be stored");
            assert!(object.decode(&ty).expect("because it was stored").raw_equals(&value));
            let dependency =
                |i| ConfigResource::parse_text(FileId(0), &format!("module.m.t.x{i}")).expect("an address");
            let status = if tainted { Status::Tainted } else { Status::Ready };
            let identity =
                identity.then(|| Identity::encode(&Value::object(Vec::new()), 1).expect("because it is known"));
            let object =
                Object { status, private: private.into(), create_before_destroy: sensitive, identity, ..object };
            Arc::new(object.with_dependencies((0..dependencies).map(dependency)))
        })
}

fn any_edit() -> impl Strategy<Value = Edit> {
    let provider = || {
        let text = prop_oneof![Just("provider[\"hashicorp/gcp\"].y"), Just("module.m.provider[\"hashicorp/aws\"].x")];
        text.prop_map(|text| AbsProviderConfig::parse_text(FileId(0), text).expect("a provider"))
    };
    let deposed = || any::<u32>().prop_map(DeposedKey::new);
    prop_oneof![
        4 => (any_address(), proptest::option::of(deposed()), provider(), any_provider_key(), proptest::option::of(any_object())).prop_map(
            |(addr, deposed, provider, provider_key, object)| Edit::SetObject { addr, deposed, provider, provider_key, object }
        ),
        1 => (any_address(), deposed()).prop_map(|(addr, key)| Edit::Depose { addr, key }),
        1 => (any_address(), deposed()).prop_map(|(addr, key)| Edit::Restore { addr, key }),
        1 => (any_address(), any_address()).prop_map(|(from, to)| Edit::Move { from, to }),
        1 => (any_address(), provider())
            .prop_map(|(addr, provider)| Edit::SetProvider { resource: addr.containing(), provider }),
        1 => ("[a-z\"<]{1,3}", proptest::option::of("[ -~]{0,5}"), any::<bool>()).prop_map(|(name, text, sensitive)| {
            let output = text.map(|text| Output { value: Value::string(text), sensitive, deprecated: "x\ny".into() });
            Edit::SetOutput { name: name.into(), output }
        }),
        1 => any_address().prop_map(|addr| {
            let addr = AbsResourceInstance::parse_text(FileId(0), &addr.to_string())
                .unwrap_or_else(|_| AbsResourceInstance::parse_text(FileId(0), "t.a").expect("an address"));
            let config_addr = ecow::eco_format!("{}", addr.config());
            let object = CheckObject {
                addr: ecow::eco_format!("{addr}"),
                status: CheckStatus::Fail,
                failure_messages: vec!["<>".into()],
            };
            let result =
                CheckResult { kind: CheckKind::Resource, config_addr, status: CheckStatus::Fail, objects: vec![object] };
            Edit::SetCheckResults(Some(vec![result]))
        }),
        1 => Just(Edit::SetCheckResults(None)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn edits_are_lines_and_states_are_files(edits in proptest::collection::vec(any_edit(), 0..12)) {
        let mut state = State::empty();
        for edit in edits {
            let line = edit.to_json_line();
            prop_assert!(!line.contains('\n'));
            prop_assert_eq!(&Edit::from_json_line(&line), &Ok(edit.clone()));
            prop_assert!(Edit::from_json_line(&line[..line.len() - 1]).is_err());
            state.apply(edit);
        }
        for resource in state.iter() {
            prop_assert!(!resource.instances.is_empty() && resource.instances.values().all(|i| !i.is_empty()));
        }
        let mut out = Vec::new();
        write(&state, &mut out);
        let (back, warnings) = read(&out).expect("because it was written");
        prop_assert!(warnings.is_empty() && back.same_content(&state));
        let mut pieces = Vec::new();
        let gathered = write_in_pieces(&back, 100, &mut |piece| {
            pieces.push(piece.to_vec());
            Ok(())
        });
        prop_assert!(gathered.is_ok() && (out.len() < 400 || pieces.len() > 1));
        prop_assert_eq!(out, pieces.concat());
        let mut tries = 0;
        let refused = write_in_pieces(&back, 100, &mut |_| {
            tries += 1;
            Err(std::io::Error::other("no room"))
        });
        prop_assert_eq!((refused.is_err(), tries), (true, 1));
    }

    #[test]
    fn arbitrary_text_does_not_panic(text in "[\\[\\]{}\",:0-9a-z ]{0,40}") {
        again(text.as_bytes());
        again(format!("{{\"version\":4,\"resources\":[{text}]}}").as_bytes());
        let _ = Edit::from_json_line(&text);
    }
}

#[test]
fn a_key_of_a_provider_configuration_without_alias_is_not_written() {
    let file = br#"{"version":4,"terraform_version":"1.12.6","serial":1,"lineage":"x","outputs":{},"resources":[{"mode":"managed","type":"t","name":"a","instances":[{"index_key":"k","schema_version":0,"attributes":{},"provider":"provider[\"registry.opentofu.org/x/t\"].by[\"k\"]"}]}]}"#;
    let (mut state, _) = crate::read(file).expect("because it is well-formed");
    let addr = state.instances().map(|(addr, ..)| addr).next().expect("because there is one");
    let mut provider = state.iter().next().expect("because there is one").provider.clone();
    provider.alias = None;
    state.apply(crate::Edit::SetProvider { resource: addr.containing(), provider });
    let mut out = Vec::new();
    crate::write(&state, &mut out);
    assert!(crate::read(&out).is_ok(), "{}", String::from_utf8_lossy(&out));
}
