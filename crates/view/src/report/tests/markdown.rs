//! Comments on pull requests, read by a CommonMark parser.

use expect_test::expect;
use proptest::prelude::*;
use pulldown_cmark::{Event, Parser, Tag, TagEnd};
use yuba_plan::{Action, ResourceChange};
use yuba_value::Value;

use super::views::estate;
use super::*;
use crate::report::markdown::{DEFAULT_LIMIT, MIN_LIMIT, MarkdownPlan, render};
use crate::testing::{addr, change, plan};

fn comment(report: &Report, limit: usize) -> String {
    render(&[MarkdownPlan { root: "network", report }], limit)
}

/// What a text means as Markdown: HTML, links, and texts by kind.
#[derive(Debug, Default)]
struct Meaning {
    html: String,
    links: usize,
    fences: String,
    spans: Vec<String>,
    prose: String,
}

fn meaning(text: &str) -> Meaning {
    let mut meaning = Meaning::default();
    let mut in_fence = false;
    for event in Parser::new(text) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => in_fence = true,
            Event::End(TagEnd::CodeBlock) => in_fence = false,
            Event::Start(Tag::Link { .. } | Tag::Image { .. }) => meaning.links += 1,
            Event::Text(text) if in_fence => meaning.fences.push_str(&text),
            Event::Text(text) => meaning.prose.push_str(&text),
            Event::Code(code) => meaning.spans.push(code.to_string()),
            Event::Html(html) | Event::InlineHtml(html) => meaning.html.push_str(&html),
            _ => {}
        }
    }
    meaning
}

#[test]
fn a_comment() {
    let report = report_of(&estate());
    let text = comment(&report, DEFAULT_LIMIT).replace(env!("CARGO_PKG_VERSION"), "VERSION");
    expect![[r#"
        <!-- yuba:plan default/network -->
        ### Plan for `network`: 9 to add, 3 to change, 2 to destroy.

        **Objects at risk: 1 destroyed, 1 replaced**

        - **destroy** `terraform_data.gone["x"]`: `because key ["x"] is not in for_each map`
        - **replace** `module.network["eu"].terraform_data.base`: `the provider cannot update input`

        | Resource type | Create | Update | Replace | Destroy |
        |---|--:|--:|--:|--:|
        | `terraform_data` | 8 | 3 | 1 | 1 |

        <details><summary><code>root module</code> -1 ~3 +1 &lt;=1</summary>

        ```diff
        # terraform_data.gone["x"] will be destroyed
        # (because key ["x"] is not in for_each map)
        - resource "terraform_data" "gone" {
        -    id     = "i" -> null
        -    input  = 1 -> null
        -    output = 1 -> null
          }

        # 3 instances of terraform_data will be updated in-place
        #   terraform_data.web[0-2]
        ! resource "terraform_data" {
        !    input  = 1 -> 2
        !    output = 1 -> 2
          }

        # terraform_data.fresh will be created
        + resource "terraform_data" "fresh" {
        +    id     = (known after apply)
        +    input  = <<-EOT
        +        one
        +        two
             EOT
        +    output = (known after apply)
          }

        # data.terraform_data.read will be read during apply
        <= data "terraform_data" "read" {
             # The schema of terraform_data is not available.
          }

        ```

        </details>

        <details><summary><code>module.network[&quot;eu&quot;]</code> -/+1</summary>

        ```diff
        # module.network["eu"].terraform_data.base must be replaced
        # (the provider cannot update input)
        -/+ resource "terraform_data" "base" {
        !    id     = "i" -> (known after apply)
        !    input  = "a" -> "b" # forces replacement
        !    output = "a" -> (known after apply)
          }

        ```

        </details>

        <details><summary><code>module.many.module.inner (7 instances)</code> +7</summary>

        ```diff
        # 7 instances of terraform_data will be created
        #   module.many[0].module.inner.terraform_data.leaf
        #   module.many[1].module.inner.terraform_data.leaf
        #   module.many[2].module.inner.terraform_data.leaf
        #   module.many[3].module.inner.terraform_data.leaf
        #   module.many[4].module.inner.terraform_data.leaf
        #   module.many[5].module.inner.terraform_data.leaf
        #   module.many[6].module.inner.terraform_data.leaf
        + resource "terraform_data" {
        +    id     = (known after apply)
        +    input  = 5
        +    output = (known after apply)
          }

        ```

        </details>

        <details><summary>1 changed output</summary>

        ```diff
        ! o = 1 -> 2
        ```

        </details>

        <sub>Planned by yuba VERSION at 2026-01-02T03:04:05Z</sub>
    "#]]
    .assert_eq(&text);
    let found = meaning(&text);
    assert!(
        found.fences.contains("! resource \"terraform_data\" {") && found.spans.contains(&"network".to_owned()),
        "{found:?}"
    );
}

#[test]
fn several_plans_are_a_table() {
    let (one, other) = (report_of(&estate()), report_of(&plan(Vec::new(), Vec::new())));
    let mut failed = report_of(&plan(Vec::new(), Vec::new()));
    failed.errored = true;
    let plans = [
        MarkdownPlan { root: "network", report: &one },
        MarkdownPlan { root: "app|x", report: &other },
        MarkdownPlan { root: "db", report: &failed },
    ];
    let text = render(&plans, 3_000);
    let head: String = text.lines().take(18).map(|line| format!("{line}\n")).collect();
    expect![[r#"
        <!-- yuba:plan * -->
        ### 3 plans: 9 to add, 3 to change, 2 to destroy

        | Root | Workspace | Add | Change | Destroy | |
        |---|---|--:|--:|--:|---|
        | `network` | `default` | 9 | 3 | 2 |  |
        | `app\|x` | `default` | 0 | 0 | 0 | no changes |
        | `db` | `default` | 0 | 0 | 0 | failed |

        - **Planning failed in `db`: the plan is incomplete.**

        **Objects at risk: 1 destroyed, 1 replaced**

        - **destroy** `terraform_data.gone["x"]` in `network`: `because key ["x"] is not in for_each map`
        - **replace** `module.network["eu"].terraform_data.base` in `network`: `the provider cannot update input`

        <details><summary><code>network: root module</code> -1 ~3 +1 &lt;=1</summary>

    "#]]
    .assert_eq(&head);
    assert!(text.len() <= 3_000);
}

#[test]
fn markers_identify_a_plan() {
    let mut report = report_of(&plan(Vec::new(), Vec::new()));
    report.workspace = "a--> <b>".into();
    let text = render(&[MarkdownPlan { root: "envs/prod x", report: &report }], DEFAULT_LIMIT);
    assert_eq!(text.lines().next(), Some("<!-- yuba:plan a-%2D%3E%20%3Cb%3E/envs/prod%20x -->"));
}

#[test]
fn the_middle_is_shortened() {
    let mut changes: Vec<ResourceChange> = (0..5_000)
        .map(|n| {
            let addr = addr(&format!("module.m[{}].terraform_data.a{}[{n}]", n % 70, n % 300));
            let input = Value::string(format!("input {n}"));
            ResourceChange { addr, ..change("terraform_data.x", Action::Create, null(), new(input)) }
        })
        .collect();
    changes[3_000] = change("terraform_data.lost", Action::Delete, old(Value::int(1)), null());
    let report = report_of(&plan(changes, Vec::new()));
    for limit in [MIN_LIMIT, 10_000, DEFAULT_LIMIT] {
        let text = comment(&report, limit);
        assert!(text.len() <= limit, "{} of {limit} bytes", text.len());
        assert!(text.len() > limit / 2, "{} of {limit} bytes", text.len());
        assert!(text.starts_with(
            "<!-- yuba:plan default/network -->\n### Plan for `network`: 4999 to add, 0 to change, 1 to destroy"
        ));
        let lost = text.find("- **destroy** `terraform_data.lost`").unwrap_or(usize::MAX);
        assert!(lost < 400, "{text}");
        assert!(text.contains("not shown"), "{text}");
        assert_eq!(text.matches("<details>").count(), text.matches("</details>").count());
    }
    let gone = |n: usize| change(&format!("terraform_data.gone[{n}]"), Action::Delete, old(Value::int(1)), null());
    let report = report_of(&plan((0..1_000).map(gone).collect(), Vec::new()));
    let text = comment(&report, MIN_LIMIT);
    assert!(text.len() <= MIN_LIMIT && text.contains("more objects at risk (in total 1000 destroyed)"), "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever values contain, the comment keeps its limit, its structure and no markup of its own.
    #[test]
    fn values_are_inert(
        texts in proptest::collection::vec("(`{1,5}|<b>|</details>|<!--|\\[x\\]\\(http://x\\)|!|@team|#1|\\||\n|~{3}|\\*|a|é| ){0,12}", 1..6),
        limit in MIN_LIMIT..20_000,
    ) {
        let mut changes = Vec::new();
        for (n, text) in texts.iter().enumerate() {
            let key = yuba_value::json::quote(&text.replace("${", "").replace("%{", ""));
            let mut one = change("terraform_data.x", Action::Delete, old(Value::string(text.as_str())), null());
            one.addr.key = Some(yuba_addrs::InstanceKey::String(text.as_str().into()));
            one.reason = ActionReason::DeleteBecauseEachKey;
            changes.push(one);
            changes.push(change(&format!("terraform_data.y[{n}]"), Action::Create, null(), new(Value::string(format!("{key}\n{text}")))));
        }
        let mut report = report_of(&plan(changes, Vec::new()));
        report.checks.push(ReportCheck { address: "check.c".into(), status: "fail", messages: texts.iter().map(|text| text.as_str().into()).collect() });
        let text = comment(&report, limit);
        prop_assert!(text.len() <= limit);
        let found = meaning(&text);
        prop_assert_eq!(found.links, 0, "{}", text);
        prop_assert!(!found.html.contains("<b>"), "{}", text);
        prop_assert_eq!(found.html.matches("<details>").count(), found.html.matches("</details>").count(), "{}", &text);
        prop_assert!(!found.prose.contains("@team") && !found.prose.contains("#1"), "{}", text);
    }
}
