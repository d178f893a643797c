//! An estate of 500 resources of four published providers, which Go builds.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::run::{Part, Run, WITH_PROVIDERS};
use super::shapes::ConfigFile;
use super::tool::Scratch;
use crate::tidy::root;

/// A published provider: its source, its version, and the package that `go install` builds.
struct Published {
    source: &'static str,
    version: &'static str,
    package: &'static str,
}

const PROVIDERS: [Published; 4] = [
    Published {
        source: "hashicorp/time",
        version: "0.14.2",
        package: "github.com/hashicorp/terraform-provider-time@v0.14.2",
    },
    Published {
        source: "hashicorp/random",
        version: "3.9.0",
        package: "github.com/terraform-providers/terraform-provider-random@v1.3.2-0.20260513075824-f8d869dc98d9",
    },
    Published {
        source: "hashicorp/local",
        version: "2.9.0",
        package: "github.com/terraform-providers/terraform-provider-local@v1.4.1-0.20260513075820-3561e410f9fe",
    },
    Published {
        source: "hashicorp/null",
        version: "2.1.2",
        package: "github.com/terraform-providers/terraform-provider-null@v1.0.1-0.20190430203517-8d3d85a60e20",
    },
];

/// Number of resources of the estate.
pub(super) const RESOURCES: usize = 500;

/// Builds the providers, once, and offers them to the tools.
pub(super) fn offer(scratch: &Scratch) -> Result<(), String> {
    PROVIDERS.iter().try_for_each(|provider| scratch.offer(provider.source, provider.version, &provider.build()?))
}

/// Measures the estate.
pub(super) fn measure(run: &mut Run<'_>) -> Result<(), String> {
    let list: Vec<String> = PROVIDERS.iter().map(|it| format!("{} {}", it.source, it.version)).collect();
    run.fact("Providers of the estate", &list.join(", "));
    let cycles = if run.options.quick { 1 } else { 2 };
    run.part(&Part { name: "estate", size: 0, files: files(), steps: WITH_PROVIDERS.into(), env: &[], cycles })
}

impl Published {
    /// The executable, which Go builds if it does not exist yet.
    fn build(&self) -> Result<PathBuf, String> {
        let kind = self.source.rsplit_once('/').map_or(self.source, |(_, kind)| kind);
        let directory = root().join("target/bench/providers").join(format!("{kind}_{}", self.version));
        let executable = directory.join(format!("terraform-provider-{kind}"));
        if executable.exists() {
            return Ok(executable);
        }
        fs::create_dir_all(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
        let install = Command::new("go").args(["install", self.package]).env("GOBIN", &directory).output();
        let output = install.map_err(|error| format!("go: {error}"))?;
        if !output.status.success() {
            return Err(format!("go install {} failed", self.package));
        }
        Ok(executable)
    }
}

/// Services with a password, a rotation, a file and a trigger each, and references between them.
fn files() -> Vec<ConfigFile> {
    let services = RESOURCES / 5;
    let required: String = PROVIDERS
        .iter()
        .map(|provider| {
            let kind = provider.source.rsplit_once('/').map_or("", |(_, kind)| kind);
            format!("    {kind} = {{ source = \"{}\", version = \"{}\" }}\n", provider.source, provider.version)
        })
        .collect();
    let text = format!(
        r#"terraform {{
  required_providers {{
{required}  }}
}}

locals {{
  services = {{ for number in range({services}) : format("service-%03d", number) => {{ number = number, port = 8000 + number }} }}
}}

resource "random_password" "service" {{
  for_each = local.services
  length   = 24
}}

resource "random_pet" "service" {{
  for_each  = local.services
  length    = 2
  separator = "-"
}}

resource "time_rotating" "service" {{
  for_each      = local.services
  rfc3339       = "2026-01-01T00:00:00Z"
  rotation_days = 3650
}}

resource "local_file" "service" {{
  for_each        = local.services
  filename        = "${{path.module}}/made/${{each.key}}.json"
  file_permission = "0600"
  content = jsonencode({{
    name    = random_pet.service[each.key].id
    port    = each.value.port
    expires = time_rotating.service[each.key].rotation_rfc3339
    digest  = sha256(random_password.service[each.key].result)
  }})
}}

resource "null_resource" "service" {{
  for_each = local.services
  triggers = {{
    file = nonsensitive(local_file.service[each.key].content_sha256)
    name = random_pet.service[each.key].id
  }}
}}

output "names" {{
  value = {{ for key, pet in random_pet.service : key => pet.id }}
}}
"#
    );
    vec![("main.tf".to_owned(), text)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estate_has_five_kinds_of_resources_of_all_providers() {
        let files = files();
        let [(_, text)] = files.as_slice() else { panic!("one file") };
        assert_eq!(text.matches("resource \"").count(), 5);
        assert!(text.contains("range(100)"));
        for provider in &PROVIDERS {
            assert!(text.contains(provider.source), "{}", provider.source);
        }
    }
}
