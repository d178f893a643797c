//! Results of tests as JUnit XML.

use std::fmt::Write as _;
use std::time::Duration;

use super::TestResult;

/// A run.
pub struct Case {
    /// Its name.
    pub name: String,
    /// Result.
    pub status: TestResult,
    /// Duration.
    pub took: Duration,
    /// The title of the first error.
    pub title: String,
    /// Everything there is to say.
    pub text: String,
}

/// A file.
pub struct JunitSuite {
    /// Its name.
    pub name: String,
    /// Its runs.
    pub cases: Vec<Case>,
}

/// The whole document.
pub fn render(groups: &[JunitSuite]) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    for group in groups {
        let count = |wanted: &[TestResult]| group.cases.iter().filter(|case| wanted.contains(&case.status)).count();
        let time: Duration = group.cases.iter().map(|case| case.took).sum();
        let _ = writeln!(
            out,
            "  <testsuite name=\"{}\" tests=\"{}\" skipped=\"{}\" failures=\"{}\" errors=\"{}\" time=\"{:.3}\">",
            escaped(&group.name),
            group.cases.len(),
            count(&[TestResult::Skip, TestResult::Pending]),
            count(&[TestResult::Fail]),
            count(&[TestResult::Error]),
            time.as_secs_f64()
        );
        for case in &group.cases {
            write_case(&mut out, case, &group.name);
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

fn write_case(out: &mut String, case: &Case, group: &str) {
    let _ = write!(
        out,
        "    <testcase name=\"{}\" classname=\"{}\" time=\"{:.3}\"",
        escaped(&case.name),
        escaped(group),
        case.took.as_secs_f64()
    );
    let inside = match case.status {
        TestResult::Skip | TestResult::Pending => "      <skipped></skipped>\n".to_owned(),
        TestResult::Pass if case.text.is_empty() => String::new(),
        TestResult::Pass => format!("      <system-out>{}</system-out>\n", escaped(&case.text)),
        TestResult::Fail | TestResult::Error => {
            let element = if case.status == TestResult::Fail { "failure" } else { "error" };
            format!("      <{element} message=\"{}\">{}</{element}>\n", escaped(&case.title), escaped(&case.text))
        }
    };
    match inside.is_empty() {
        true => out.push_str("></testcase>\n"),
        false => {
            let _ = write!(out, ">\n{inside}    </testcase>\n");
        }
    }
}

/// Escaped text for XML, without characters that XML does not support.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(character),
            '\r' => out.push_str("&#13;"),
            '\0'..='\x1f' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            _ => out.push(character),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn one_element_for_each_run() {
        let case = |name: &str, status, title: &str, text: &str| Case {
            name: name.into(),
            status,
            took: Duration::from_millis(5),
            title: title.into(),
            text: text.into(),
        };
        let cases = vec![
            case("a", TestResult::Pass, "", ""),
            case("b", TestResult::Fail, "Test \"<assertion>\" failed", "Error: x & y\u{1}\n"),
            case("c", TestResult::Skip, "", ""),
        ];
        expect![[r#"
            <?xml version="1.0" encoding="UTF-8"?>
            <testsuites>
              <testsuite name="main.tftest.hcl" tests="3" skipped="1" failures="1" errors="0" time="0.015">
                <testcase name="a" classname="main.tftest.hcl" time="0.005"></testcase>
                <testcase name="b" classname="main.tftest.hcl" time="0.005">
                  <failure message="Test &quot;&lt;assertion&gt;&quot; failed">Error: x &amp; y�
            </failure>
                </testcase>
                <testcase name="c" classname="main.tftest.hcl" time="0.005">
                  <skipped></skipped>
                </testcase>
              </testsuite>
            </testsuites>
        "#]]
        .assert_eq(&render(&[JunitSuite { name: "main.tftest.hcl".into(), cases }]));
    }
}
