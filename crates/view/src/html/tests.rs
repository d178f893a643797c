//! Tests of pages without a browser.

use yuba_addrs::ResourceMode;

use super::*;
use crate::report::{ChangeAction, DiffNode, GraphResource, Links, ReportAddress, ReportChange};

fn report_with(addresses: &[&str]) -> Report {
    let change = |text: &&str| ReportChange {
        address: ReportAddress {
            text: (*text).into(),
            deposed: None,
            module: "".into(),
            mode: ResourceMode::Managed,
            kind: "a".into(),
            name: "b".into(),
            key: None,
            provider: "p".into(),
            provider_alias: None,
            provider_key: None,
        },
        action: ChangeAction::Destroy,
        order: None,
        reason: None,
        moved_from: None,
        import: None,
        generated: None,
        forces: Vec::new(),
        risk: ChangeRisk::High,
        dependents: Links::default(),
        depends: Links::default(),
        group: None,
        disabled: false,
        relevant: false,
        diff: DiffNode::default(),
    };
    Report { changes: addresses.iter().map(change).collect(), ..Report::default() }
}

/// The text between two others.
fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    let from = text.find(start).expect("the page has the start") + start.len();
    &text[from..from + text[from..].find(end).expect("the page has the end")]
}

#[test]
fn the_policy_allows_exactly_the_script_and_the_style_of_the_page() {
    let page = file(&report_with(&[]));
    let policy = between(&page, "Content-Security-Policy\" content=\"", "\"");
    let style = between(&page, "<style>", "</style>");
    let script = page.rsplit_once("<script>").expect("it has a script").1.split_once("</script>").expect("it ends").0;
    assert!(policy.contains(&format!("script-src {};", hash(script))), "{policy}");
    assert!(policy.contains(&format!("style-src {};", hash(style))), "{policy}");
    assert!(policy.starts_with("default-src 'none';"), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
    assert!(!policy.contains("connect-src"), "{policy}");
}

#[test]
fn no_text_ends_the_element_of_the_data() {
    let page = file(&report_with(&["a.b[\"</script><script>alert(1)</script><!--\"]"]));
    assert_eq!(page.matches("</script").count(), 2, "{page}");
    assert_eq!(page.matches("<!--").count(), 0);
    assert!(page.contains("<p>destroy: a.b[\"&lt;/script&gt;&lt;script&gt;alert(1)"), "{page}");
}

#[test]
fn angle_brackets_in_data_are_escaped_wherever_they_come_from() {
    assert_eq!(with_positions(r#"{"a":"</script>"}"#, &[]), r#"{"report":{"a":"\u003c/script>"}}"#);
}

#[test]
fn a_large_report_is_compressed() {
    let addresses: Vec<String> = (0..1000).map(|number| format!("a.b[{number}]")).collect();
    let report = report_with(&addresses.iter().map(String::as_str).collect::<Vec<_>>());
    let page = file(&report);
    assert!(page.contains("data-form=\"deflate\""));
    let stored = STANDARD.decode(between(&page, "data-form=\"deflate\">", "<")).expect("it is base64");
    let mut text = String::new();
    std::io::Read::read_to_string(&mut flate2::read::DeflateDecoder::new(&*stored), &mut text).expect("it is complete");
    assert_eq!(text, data(&report));
}

#[test]
fn only_a_live_page_may_make_requests_and_only_to_its_server() {
    let page = live();
    assert!(page.html.contains(&page.policy));
    assert!(page.policy.contains("connect-src 'self';"), "{}", page.policy);
    assert!(page.html.contains("<body data-live=\"yes\">"));
}

#[test]
fn the_code_of_the_page_is_small_and_sets_no_markup() {
    let script = script();
    assert!(script.len() + compact(STYLE).len() + compact(BODY).len() < 100_000, "{}", script.len());
    for banned in
        ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "http:", "https:"]
    {
        let found = script.replace("http://www.w3.org/2000/svg", "").contains(banned);
        assert!(!found, "{banned}");
    }
    assert!(!script.contains("</"), "the script could end its own element");
}

#[test]
fn positions_of_the_graph_are_part_of_the_data() {
    let node = |label: &str| GraphResource {
        id: label.into(),
        label: label.into(),
        module: "".into(),
        changes: Vec::new(),
        action: ChangeAction::NoOp,
    };
    let graph = ReportGraph { nodes: vec![node("a.a"), node("a.b")], edges: vec![(1, 0)] };
    let page = file(&Report { graph, ..Report::default() });
    assert!(page.contains(r#""layout":{"layers":[0,1],"rows":[0,0]}}"#), "{page}");
}
