//! `show -markdown` in a repository: the comment that people see on a pull request.

use yuba_testkit::{Run, Sandbox};

use crate::sandbox;

fn yes(run: &Run) {
    assert_eq!(run.code, 0, "{run}");
}

/// The first line of the comment on a plan.
fn marker(sandbox: &Sandbox, args: &[&str]) -> String {
    let run = sandbox.run(args);
    yes(&run);
    run.stdout.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn directories_with_one_name_have_markers_of_their_own() {
    let sandbox = sandbox("//- .git/HEAD\nref: refs/heads/main\n");
    for dir in ["prod/network", "staging/network"] {
        sandbox.write(&format!("{dir}/main.tf"), "output \"o\" {\n  value = 1\n}\n");
        yes(&sandbox.run(&[&format!("-chdir={dir}"), "plan", "-out=p"]));
    }
    let of_prod = "<!-- yuba:plan default/prod/network -->";
    assert_eq!(marker(&sandbox, &["-chdir=prod/network", "show", "-markdown", "p"]), of_prod);
    assert_eq!(marker(&sandbox, &["-chdir=prod", "show", "-markdown", "network/p"]), of_prod);
    let of_staging = "<!-- yuba:plan default/staging/network -->";
    assert_eq!(marker(&sandbox, &["-chdir=staging/network", "show", "-markdown", "p"]), of_staging);
    // A pipeline names the root of its checkout, which can be part of a larger repository.
    let checkout = sandbox.dir().join("prod");
    let sandbox = sandbox.env("GITHUB_WORKSPACE", &checkout.to_string_lossy());
    assert_eq!(
        marker(&sandbox, &["-chdir=prod/network", "show", "-markdown", "p"]),
        "<!-- yuba:plan default/network -->"
    );
}
