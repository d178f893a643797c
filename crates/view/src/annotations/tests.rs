//! Diagnostics in, workflow commands and SARIF out.

use expect_test::expect;
use yuba_syntax::{Diagnostics, Severity, SourceFile, Sources, Span};

use super::*;
use crate::testing::diagnostic;

fn problems() -> (Diagnostics, Sources) {
    let mut sources = Sources::new();
    let file = sources.add(SourceFile::new("sub dir/main.tf", "a = \"é\" + b\nc {\n}\n".as_bytes()));
    let mut problems = Diagnostics::new();
    let at = |start, end| Span::new(file, start, end);
    problems.push(diagnostic(Severity::Error, "Bad: 100%, really", "First line.\nSecond, 50%.").at(at(10, 11)));
    problems.push(diagnostic(Severity::Warning, "Block", "").at(at(12, 17)));
    problems.push(diagnostic(Severity::Error, "Nowhere", "No location."));
    (problems, sources)
}

#[test]
fn workflow_commands_are_escaped() {
    let (problems, sources) = problems();
    expect![[r#"
        ::error file=infra/prod/sub dir/main.tf,line=1,endLine=1,col=10,endColumn=11,title=Bad%3A 100%25%2C really::First line.%0ASecond, 50%25.
        ::warning file=infra/prod/sub dir/main.tf,line=1,endLine=3,title=Block::Block
        ::error title=Nowhere::No location.
    "#]].assert_eq(&github::render(&problems, &sources, &RepositoryPath("infra/./prod".to_owned())));
    expect![[r#"
        ::error file=x.tf,line=3,title=File is not in the canonical style::Run yuba fmt to reformat ../x.tf.
    "#]]
    .assert_eq(&github::not_canonical("../x.tf", 3, &RepositoryPath("infra".to_owned())));
}

#[test]
fn a_sarif_document() {
    let (problems, sources) = problems();
    let document = sarif::render(&problems, &sources, &RepositoryPath("infra".to_owned())).indented();
    expect![[r#"
        {
          "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
          "version": "2.1.0",
          "runs": [
            {
              "tool": {
                "driver": {
                  "name": "Yuba",
                  "version": "VERSION",
                  "rules": [
                    {
                      "id": "test",
                      "shortDescription": {
                        "text": "test"
                      },
                      "defaultConfiguration": {
                        "level": "error"
                      }
                    }
                  ]
                }
              },
              "columnKind": "unicodeCodePoints",
              "results": [
                {
                  "ruleId": "test",
                  "ruleIndex": 0,
                  "level": "error",
                  "message": {
                    "text": "Bad: 100%, really: First line.\nSecond, 50%."
                  },
                  "locations": [
                    {
                      "physicalLocation": {
                        "artifactLocation": {
                          "uri": "infra/sub%20dir/main.tf",
                          "uriBaseId": "%SRCROOT%"
                        },
                        "region": {
                          "startLine": 1,
                          "startColumn": 10,
                          "endLine": 1,
                          "endColumn": 11,
                          "byteOffset": 10,
                          "byteLength": 1
                        }
                      }
                    }
                  ]
                },
                {
                  "ruleId": "test",
                  "ruleIndex": 0,
                  "level": "warning",
                  "message": {
                    "text": "Block"
                  },
                  "locations": [
                    {
                      "physicalLocation": {
                        "artifactLocation": {
                          "uri": "infra/sub%20dir/main.tf",
                          "uriBaseId": "%SRCROOT%"
                        },
                        "region": {
                          "startLine": 1,
                          "startColumn": 12,
                          "endLine": 3,
                          "endColumn": 1,
                          "byteOffset": 12,
                          "byteLength": 5
                        }
                      }
                    }
                  ]
                },
                {
                  "ruleId": "test",
                  "ruleIndex": 0,
                  "level": "error",
                  "message": {
                    "text": "Nowhere: No location."
                  }
                }
              ]
            }
          ]
        }"#]]
    .assert_eq(&document.replace(env!("CARGO_PKG_VERSION"), "VERSION"));
}

#[test]
fn paths_in_the_repository() {
    let repository = RepositoryPath("a/b".to_owned());
    for (file, expected) in [
        ("main.tf", "a/b/main.tf"),
        ("../c/main.tf", "a/c/main.tf"),
        ("../../../main.tf", "../main.tf"),
        ("./x/./main.tf", "a/b/x/main.tf"),
        ("/abs/main.tf", "/abs/main.tf"),
    ] {
        assert_eq!(repository.of(file), expected);
    }
}
