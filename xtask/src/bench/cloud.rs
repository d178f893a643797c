//! Configurations like those of public modules, with a provider of the size of a large cloud's: the provider for tests with a
//! generated schema, so that everyone can repeat it.

use std::path::Path;

use super::run::{Part, Run, WITH_PROVIDERS};
use super::shapes::ConfigFile;
use super::tool::{Scratch, release_build};

/// The source address of the provider for tests, and the version it is offered as.
const SOURCE: (&str, &str) = ("yuba/testing", "1.0.0");

/// The fact with the settings of the provider.
pub(super) const SETTINGS: &str = "Provider of the cloud configurations";

/// Size and speed of the provider.
pub(super) const ENV: [(&str, &str); 5] = [
    ("TESTING_TYPES", "1300"),
    ("TESTING_START_MS", "700"),
    ("TESTING_CALL_MS", "50"),
    ("TESTING_MEMORY_MB", "150"),
    ("TESTING_PROTOCOL", "5"),
];

const NETWORK: [(&str, &str); 3] = [
    ("network/main.tf", include_str!("../../bench/cloud/network/main.tf")),
    ("network/variables.tf", include_str!("../../bench/cloud/network/variables.tf")),
    ("network/outputs.tf", include_str!("../../bench/cloud/network/outputs.tf")),
];
const CLUSTER: [(&str, &str); 3] = [
    ("cluster/main.tf", include_str!("../../bench/cloud/cluster/main.tf")),
    ("cluster/variables.tf", include_str!("../../bench/cloud/cluster/variables.tf")),
    ("cluster/outputs.tf", include_str!("../../bench/cloud/cluster/outputs.tf")),
];
const VPC: &str = include_str!("../../bench/cloud/vpc.tf");
const KUBERNETES: &str = include_str!("../../bench/cloud/kubernetes.tf");

/// A configuration for the page: its name and content.
pub(super) const CLOUD: [(&str, &str); 2] = [
    (
        "vpc",
        "Networks of two environments in two regions: a module with subnets, routes, gateways and security groups is called with `for_each` and two provider configurations.",
    ),
    (
        "kubernetes",
        "A Kubernetes cluster with its network: roles, policies, keys, node groups and add-ons, with data resources and nested blocks.",
    ),
];

fn files(name: &str) -> Vec<ConfigFile> {
    let mut files = vec![("main.tf", if name == "vpc" { VPC } else { KUBERNETES })];
    files.extend(NETWORK);
    files.extend(CLUSTER.iter().filter(|_| name == "kubernetes"));
    files.into_iter().map(|(path, text)| (path.to_owned(), text.to_owned())).collect()
}

/// Builds the provider and offers it to the tools.
pub(super) fn offer(scratch: &Scratch, built: Option<&Path>) -> Result<(), String> {
    // The binary is named too, so that both are built with the same dependencies.
    let packages = ["--package=yuba-cli", "--package=yuba-testprovider"];
    let executable = built.map_or_else(|| release_build(&packages, "yuba-testprovider"), |path| Ok(path.to_owned()))?;
    let (source, version) = SOURCE;
    scratch.offer(source, version, &executable)
}

/// Measures both configurations.
pub(super) fn measure(run: &mut Run<'_>) -> Result<(), String> {
    let settings: Vec<String> = ENV.iter().map(|(name, value)| format!("{name}={value}")).collect();
    run.fact(SETTINGS, &settings.join(" "));
    let cycles = if run.options.quick { 1 } else { 2 };
    for (name, _) in CLOUD {
        run.part(&Part { name, size: 0, files: files(name), steps: WITH_PROVIDERS.into(), env: &ENV, cycles })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configurations_have_all_modules_that_they_call() {
        for (name, _) in CLOUD {
            let files = files(name);
            let (_, main) = files.first().expect("because it has files");
            let called = main.lines().filter_map(|line| line.split_once("= \"./")?.1.strip_suffix('"'));
            let called: Vec<&str> = called.collect();
            assert!(!called.is_empty());
            for module in called {
                assert!(files.iter().any(|(path, _)| path.starts_with(&format!("{module}/"))), "{name}: {module}");
            }
        }
    }
}
