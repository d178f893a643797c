//! Providers from a directory: what `init` says about them, what it leaves behind, and what is refused.

use expect_test::expect;
use yuba_testkit::{Sandbox, platform};

use crate::sandbox;

/// A directory with two versions of a provider, and a configuration that needs it.
fn world() -> Sandbox {
    let platform = platform();
    let fixture = format!(
        r#"
//- main.tf
terraform {{
  required_providers {{
    null = {{
      source  = "example.com/x/null"
      version = ">= 1.0, != 1.5.0"
    }}
  }}
}}
//- rc
provider_installation {{
  filesystem_mirror {{
    path = "mirror"
  }}
}}
//- mirror/example.com/x/null/1.0.0/{platform}/terraform-provider-null
one
//- mirror/example.com/x/null/1.1.0/{platform}/terraform-provider-null
two
//- mirror/example.com/x/null/2.0.0-beta1/{platform}/terraform-provider-null
three
"#
    );
    sandbox(&fixture).env("TF_CLI_CONFIG_FILE", "rc")
}

const LOCK: &str = ".terraform.lock.hcl";

#[test]
fn init_installs_and_locks() {
    let sandbox = world();
    let run = sandbox.run(&["init"]).to_string().replace(&platform(), "OS_ARCH");
    expect![[r#"
        exit 0
        --- stdout

        Initializing the backend...

        Initializing provider plugins...
        - Finding example.com/x/null versions matching ">= 1.0.0, != 1.5.0"...
        - Installing example.com/x/null v1.1.0...
        - Installed example.com/x/null v1.1.0 (unauthenticated)

        Yuba has created a lock file .terraform.lock.hcl to record the provider
        selections it made above. Include this file in your version control repository
        so that the same selections are made when you run "yuba init" in the future.

        Warning: Incomplete lock file information for providers

        Yuba calculated the checksums of these providers, because their installation
        source does not publish checksums:
          - example.com/x/null

        The lock file has checksums for OS_ARCH only. Other platforms cannot
        install these providers.

        To add checksums for another platform, run:
          yuba providers lock -platform=OS_ARCH
        (where OS_ARCH is that platform)


        Yuba has been successfully initialized!

        You may now begin working with Yuba. If you add or change modules, providers
        or the backend, run this command again. Other commands remind you if it is
        necessary.
    "#]]
    .assert_eq(&run);
    expect![[r##"
        # This file is maintained automatically by "tofu init".
        # Manual edits may be lost in future updates.

        provider "example.com/x/null" {
          version     = "1.1.0"
          constraints = ">= 1.0.0, != 1.5.0"
          hashes = [
            "h1:vgC0UvSqU90RiiSxVdOcMju58+ewpqkpVnZFqpDhzVk=",
          ]
        }
    "##]]
    .assert_eq(&sandbox.read(LOCK));
    let link = sandbox.dir().join(".terraform/providers/example.com/x/null/1.1.0").join(platform());
    assert!(std::fs::symlink_metadata(link).expect("it exists").is_symlink());
    // Everything is installed already, even if the mirror no longer exists.
    std::fs::rename(sandbox.dir().join("rc"), sandbox.dir().join("rc2")).expect("it exists");
    sandbox.write("rc", "provider_installation {\n  direct {}\n}\n");
    let before = sandbox.read(LOCK);
    let run = sandbox.run(&["init"]).stdout;
    let lines: Vec<&str> = run.lines().filter(|line| line.starts_with("- ")).collect();
    expect![[r#"
        - Reusing previous version of example.com/x/null from the dependency lock file
        - Using previously-installed example.com/x/null v1.1.0"#]]
    .assert_eq(&lines.join("\n"));
    assert_eq!(sandbox.read(LOCK), before);
    expect!["+ provider example.com/x/null v1.1.0"]
        .assert_eq(&sandbox.run(&["version"]).stdout.lines().skip(3).collect::<Vec<_>>().join("\n"));
}

#[test]
fn versions_stay_until_an_upgrade() {
    let sandbox = world();
    let main = sandbox.read("main.tf");
    sandbox.write("main.tf", main.replace(">= 1.0, != 1.5.0", "1.0.0"));
    assert_eq!(sandbox.run(&["init"]).code, 0);
    sandbox.write("main.tf", &main);
    let run = sandbox.run(&["init"]);
    assert!(run.code == 0 && run.stdout.contains("Using previously-installed example.com/x/null v1.0.0"), "{run}");
    let readonly = sandbox.run(&["init", "-upgrade", "-lockfile=readonly"]);
    assert!(readonly.code == 1 && readonly.stderr.contains("The -upgrade flag conflicts"), "{readonly}");
    let run = sandbox.run(&["init", "-upgrade"]);
    assert!(run.code == 0 && run.stdout.contains("Installed example.com/x/null v1.1.0 (unauthenticated)"), "{run}");
    assert!(run.stdout.contains("Yuba has made some changes to the provider dependency selections"), "{run}");
    sandbox.write("main.tf", main.replace(">= 1.0, != 1.5.0", "1.0.0"));
    let run = sandbox.run(&["init"]);
    assert!(run.code == 1 && run.stderr.contains("Failed to resolve provider packages"), "{run}");
}

#[test]
fn a_pre_release_without_a_constraint_is_replaced() {
    let sandbox = world();
    let main = sandbox.read("main.tf");
    sandbox.write("main.tf", main.replace(">= 1.0, != 1.5.0", "2.0.0-beta1"));
    assert_eq!(sandbox.run(&["init"]).code, 0);
    sandbox.write("main.tf", main.replace("version = \">= 1.0, != 1.5.0\"", ""));
    // Plan would refuse the packages that init leaves unchanged.
    let run = sandbox.run(&["init"]);
    assert!(run.code == 1 && run.stderr.contains("Failed to resolve provider packages"), "{run}");
    assert!(run.stderr.contains("is a pre-release"), "{run}");
    let run = sandbox.run(&["init", "-upgrade"]);
    assert!(run.code == 0 && run.stdout.contains("Installed example.com/x/null v1.1.0"), "{run}");
}

#[test]
fn a_lock_file_that_must_not_change_does_not() {
    let sandbox = world();
    let run = sandbox.run(&["init", "-lockfile=readonly"]);
    assert!(run.code == 1 && run.stderr.contains("Provider dependency changes detected"), "{run}");
    assert!(!sandbox.dir().join(LOCK).exists());
    let lock = "provider \"example.com/x/null\" {\n  version = \"1.1.0\"\n  hashes = [\n    \"zh:00\",\n  ]\n}\n";
    sandbox.write(LOCK, lock);
    let run = sandbox.run(&["init", "-lockfile=readonly"]);
    assert!(run.code == 0 && run.stdout.contains("Warning: Provider lock file not updated"), "{run}");
    assert_eq!(sandbox.read(LOCK), lock);
}

#[test]
fn invalid_packages_are_refused() {
    for (file, text, args, expected) in [
        (LOCK, "<<<<<<< HEAD\n", &["init"][..], "Merge conflict in dependency lock file"),
        (LOCK, "provider \"a\" {}\n", &["init"], "Non-normalized provider source address"),
        ("main.tf", "resource \"aws_x\" \"y\" {}\n", &["init"], "Failed to query available provider packages"),
        ("main.tf", "provider \"null\" {\n  version = \"7.0\"\n}\n", &["init"], "Failed to query available"),
        (
            "rc",
            "provider_installation {\n  network_mirror {\n    url = \"http://example.com\"\n  }\n}\n",
            &["init"],
            "Invalid URL for provider installation source",
        ),
        (
            "rc",
            "provider_installation {\n  direct {\n    include = [\"*/x\"]\n  }\n}\n",
            &["init"],
            "Invalid provider source inclusion patterns",
        ),
        ("x", "", &["providers", "lock", "-fs-mirror=mirror", "-platform=nonsense"], "Invalid target platform"),
        (
            "x",
            "",
            &["providers", "lock", "-fs-mirror=mirror", "-platform=plan9_arm"],
            "Could not retrieve providers for locking",
        ),
        ("x", "", &["providers", "lock", "-fs-mirror=mirror", "hashicorp/other"], "Invalid provider argument"),
        ("x", "", &["providers", "lock", "-net-mirror=http://example.com"], "Invalid network mirror URL"),
        ("x", "", &["providers", "lock", "-net-mirror=x", "-fs-mirror=x"], "Invalid installation method options"),
        ("x", "", &["providers", "mirror"], "Wrong number of arguments"),
    ] {
        let sandbox = world();
        sandbox.write(file, text);
        let run = sandbox.run(args);
        assert!(run.code == 1 && run.stderr.contains(expected), "{args:?}: {run}");
        assert!(!sandbox.dir().join(".terraform/providers").exists(), "{args:?}");
    }
}

#[test]
fn a_package_that_was_changed_is_noticed() {
    let sandbox = world();
    assert_eq!(sandbox.run(&["init"]).code, 0);
    sandbox.write(&format!("mirror/example.com/x/null/1.1.0/{}/terraform-provider-null", platform()), "changed");
    let run = sandbox.run(&["init"]);
    assert!(run.code == 1 && run.stderr.contains("doesn't match any of the checksums"), "{run}");
    for args in [&["validate"][..], &["plan"], &["providers", "schema", "-json"]] {
        let run = sandbox.run(args);
        assert!(run.code == 1 && run.stderr.contains("Error: Failed to load plugin schemas"), "{args:?}: {run}");
        assert!(run.stderr.contains("checksums recorded in the dependency"), "{args:?}: {run}");
    }
    // Without the package nothing goes on.
    std::fs::remove_dir_all(sandbox.dir().join(".terraform/providers")).expect("it exists");
    let run = sandbox.run(&["plan"]);
    assert!(run.code == 1 && run.stderr.contains("Required plugins are not installed"), "{run}");
    std::fs::remove_file(sandbox.dir().join(LOCK)).expect("it exists");
    for args in [&["plan"][..], &["providers", "schema", "-json"]] {
        let run = sandbox.run(args);
        assert!(run.code == 1 && run.stderr.contains("Inconsistent dependency lock file"), "{args:?}: {run}");
    }
}

#[test]
fn hashes_are_added_and_directories_named() {
    let sandbox = world();
    let run = sandbox.run(&["providers", "lock", "-fs-mirror=mirror"]).to_string().replace(&platform(), "OS_ARCH");
    expect![[r#"
        exit 0
        --- stdout
        - Fetching example.com/x/null 1.1.0 for OS_ARCH...
        - Retrieved example.com/x/null 1.1.0 for OS_ARCH (unauthenticated)
        - Obtained example.com/x/null checksums for OS_ARCH; This was a new provider and the checksums for this platform are now tracked in the lock file

        Success! Yuba has updated the lock file.

        Review the changes in .terraform.lock.hcl and then commit to your
        version control system to retain the new checksums.

    "#]].assert_eq(&run);
    let run = sandbox.run(&["providers", "lock", "-fs-mirror=mirror"]);
    assert!(run.code == 0 && run.stdout.contains("found no need for changes"), "{run}");
    sandbox.write("rc", "provider_installation {\n  direct {}\n}\n");
    let run = sandbox.run(&["init", "-plugin-dir=mirror"]);
    assert!(run.code == 0 && run.stdout.contains("Installed example.com/x/null v1.1.0"), "{run}");
}

#[test]
fn a_wrong_method_ends_init() {
    let sandbox = world();
    sandbox.write("rc", sandbox.read("rc").replace("}\n}", "}\n  direct {\n    exclude = [\"*/x\"]\n  }\n}"));
    let run = sandbox.run(&["init"]);
    assert!(run.code == 1 && run.stderr.contains("Invalid provider source exclusion patterns"), "{run}");
    assert!(!sandbox.dir().join(LOCK).exists());
}

#[test]
fn packages_beside_a_configuration_are_where_the_program_was_started() {
    let sandbox = world();
    sandbox.write("rc", "");
    sandbox.write("sub/main.tf", sandbox.read("main.tf"));
    std::fs::create_dir(sandbox.dir().join("terraform.d")).expect("it can be made");
    std::fs::rename(sandbox.dir().join("mirror"), sandbox.dir().join("terraform.d/plugins")).expect("it exists");
    let run = sandbox.run(&["-chdir=sub", "init"]);
    assert!(run.code == 0 && run.stdout.contains("Installed example.com/x/null v1.1.0"), "{run}");
}

#[test]
fn what_the_state_needs_counts_too() {
    let sandbox = world();
    let state = r#"{
      "version": 4, "terraform_version": "1.12.6", "serial": 1, "lineage": "l", "outputs": {},
      "resources": [{
        "mode": "managed", "type": "other_x", "name": "a", "provider": "provider[\"example.com/x/other\"]",
        "instances": [{"schema_version": 0, "attributes": {}}]
      }]
    }"#;
    sandbox.write("terraform.tfstate", state);
    for args in [&["init"][..], &["init", "-backend=false"]] {
        let run = sandbox.run(args);
        assert!(run.code == 1 && run.stderr.contains("provider example.com/x/other was not found"), "{run}");
    }
    let run = sandbox.run(&["providers"]).stdout;
    assert!(run.ends_with("\nProviders required by state:\n\n    provider[example.com/x/other]\n\n"), "{run}");
    sandbox.write("terraform.tfstate", "{");
    let run = sandbox.run(&["init"]);
    assert!(run.code == 1 && run.stderr.contains("Error refreshing state"), "{run}");
    let run = sandbox.run(&["init", "-backend=false"]);
    assert!(run.code == 0 && run.stdout.contains("successfully initialized"), "{run}");
    let run = sandbox.run(&["providers"]);
    assert!(run.code == 1 && run.stderr.contains("Failed refreshing the state"), "{run}");
}

#[test]
fn providers_under_development_need_no_init() {
    let sandbox = world();
    sandbox
        .write("rc", "provider_installation {\n  dev_overrides {\n    \"example.com/x/null\" = \"nowhere\"\n  }\n}\n");
    let run = sandbox.run(&["init"]);
    assert!(run.stdout.contains("Warning: Provider development overrides are in effect"), "{run}");
    sandbox.write("main.tf", sandbox.read("main.tf") + "resource \"null_x\" \"y\" {}\n");
    for args in [&["plan"][..], &["validate"]] {
        let run = sandbox.run(args);
        assert!(run.code == 1 && run.stderr.contains("nowhere"), "{args:?}: {run}");
    }
}

/// A lock file of OpenTofu's predecessor keeps its versions.
#[test]
fn lock_entries_of_the_predecessors_registry_are_adopted() {
    let platform = platform();
    let fixture = format!(
        r#"
//- main.tf
terraform {{
  required_providers {{
    null = {{ source = "hashicorp/null" }}
    keep = {{ source = "registry.terraform.io/hashicorp/keep" }}
  }}
}}
//- rc
provider_installation {{
  filesystem_mirror {{
    path = "mirror"
  }}
}}
//- mirror/registry.opentofu.org/hashicorp/null/3.1.1/{platform}/terraform-provider-null
one
//- mirror/registry.opentofu.org/hashicorp/null/3.2.0/{platform}/terraform-provider-null
two
//- mirror/registry.terraform.io/hashicorp/keep/1.0.0/{platform}/terraform-provider-keep
three
//- .terraform.lock.hcl
provider "registry.terraform.io/hashicorp/keep" {{
  version = "1.0.0"
}}
provider "registry.terraform.io/hashicorp/null" {{
  version     = "3.1.1"
  constraints = "~> 3.1"
  hashes = [
    "h1:3+tOFUEYQlh0q8SmbwfpNqXH1mmFcCpjPp6l4nQ6pzA=",
  ]
}}
provider "registry.terraform.io/other/thing" {{
  version = "3.1.1"
}}
"#
    );
    let sandbox = sandbox(&fixture).env("TF_CLI_CONFIG_FILE", "rc");
    let run = sandbox.run(&["init", "-lockfile=readonly"]);
    assert_eq!(run.code, 1, "{run}");
    let run = sandbox.run(&["init"]);
    assert_eq!(run.code, 0, "{run}");
    for text in [
        "- Reusing previous version of hashicorp/null from the dependency lock file",
        "- Installed hashicorp/null v3.1.1",
        "Warning: Dependency lock file entries automatically updated",
        "  - registry.terraform.io/hashicorp/null => registry.opentofu.org/hashicorp/null",
    ] {
        assert!(run.stdout.contains(text), "no {text:?} in {run}");
    }
    let lock = sandbox.read(LOCK);
    let blocks: Vec<&str> =
        lock.lines().filter(|line| line.contains("provider \"") || line.contains("version ")).collect();
    expect![[r#"
        [
            "provider \"registry.opentofu.org/hashicorp/null\" {",
            "  version = \"3.1.1\"",
            "provider \"registry.terraform.io/hashicorp/keep\" {",
            "  version = \"1.0.0\"",
        ]
    "#]]
    .assert_debug_eq(&blocks);
}

/// `validate` names the first resource whose schema it needs.
#[test]
fn a_provider_that_is_not_executable_is_named_with_its_user() {
    let sandbox = world();
    sandbox.write("thing.tf", "resource \"null_thing\" \"x\" {}\n");
    assert_eq!(sandbox.run(&["init"]).code, 0);
    let run = sandbox.run(&["validate", "-no-color"]);
    let title = "Error: failed to read schema for null_thing.x in example.com/x/null: failed to instantiate provider \
                 \"example.com/x/null\" to obtain schema\n";
    assert!(run.code == 1 && run.stderr.contains(title), "{run}");
}

/// A provider that the configuration requires and nothing uses has to say what it has, too.
#[test]
fn a_required_provider_that_is_not_executable_is_an_error() {
    let sandbox = world();
    sandbox.write(
        "main.tf",
        "terraform {\n  required_providers {\n    null = { source = \"example.com/x/null\" }\n  }\n}\n",
    );
    assert_eq!(sandbox.run(&["init"]).code, 0);
    let run = sandbox.run(&["validate", "-no-color"]);
    let title = "Error: failed to read provider configuration schema for example.com/x/null: failed to instantiate \
                 provider \"example.com/x/null\" to obtain schema\n";
    assert!(run.code == 1 && run.stderr.contains(title), "{run}");
    for args in [&["plan"][..], &["apply", "-auto-approve"], &["refresh"], &["destroy", "-auto-approve"]] {
        let run = sandbox.run(args);
        assert!(run.code == 1 && run.stderr.contains("Error: Failed to load plugin schemas"), "{args:?}: {run}");
    }
}

/// With development overrides as the only installation method, `init` finds no version of any provider.
#[test]
fn no_installation_method_is_not_a_provider_that_was_not_found() {
    let sandbox = world();
    for (methods, title) in [
        ("dev_overrides {\n    \"example.com/x/null\" = \"/nonexistent\"\n  }", "Failed to resolve provider packages"),
        ("direct {\n    exclude = [\"*/*/*\"]\n  }", "Failed to query available provider packages"),
    ] {
        sandbox.write("rc", format!("provider_installation {{\n  {methods}\n}}\n"));
        let run = sandbox.run(&["init"]);
        assert!(run.code == 1 && run.stderr.contains(title), "{methods}: {run}");
    }
}

/// An empty directory that an interrupted installation left behind is filled.
#[test]
fn an_empty_package_directory_is_filled() {
    let sandbox = world();
    let package = format!(".terraform/providers/example.com/x/null/1.1.0/{}", platform());
    std::fs::create_dir_all(sandbox.dir().join(&package)).expect("it can be made");
    let run = sandbox.run(&["init"]);
    assert!(run.code == 0 && run.stdout.contains("- Installed example.com/x/null v1.1.0"), "{run}");
    assert_eq!(sandbox.read(&format!("{package}/terraform-provider-null")), "two\n");
}

/// Provider instances are found when a configuration is loaded, whatever for.
#[test]
fn an_unset_static_variable_is_an_error_of_commands_about_providers() {
    let main = "variable \"p\" {}\nprovider \"terraform\" {\n  alias    = \"x\"\n  for_each = toset([var.p])\n}\n";
    let sandbox = sandbox(&format!("//- main.tf\n{main}"));
    for args in [&["providers", "lock"][..], &["providers", "mirror", "m"], &["test"], &["validate"], &["providers"]] {
        let run = sandbox.run(args);
        assert!(run.code == 1 && run.stderr.contains("Unable to compute static value"), "{args:?}: {run}");
    }
}

/// `show -json` prints objects of the state with these schemas, also where the configuration no longer needs the
/// provider.
#[test]
fn schemas_are_those_of_the_configuration_and_of_the_state() {
    let state = r#"{"version": 4, "terraform_version": "1.12.6", "serial": 1, "lineage": "l", "outputs": {}, "resources": [
        {"mode": "managed", "type": "terraform_data", "name": "a", "provider": "provider[\"terraform.io/builtin/terraform\"]",
         "instances": [{"schema_version": 0, "attributes": {"id": "1"}}]}], "check_results": null}"#;
    let sandbox = sandbox("//- main.tf\noutput \"o\" {\n  value = 1\n}\n");
    let run = sandbox.run(&["providers", "schema", "-json"]);
    assert!(run.code == 0 && run.stdout == "{\"format_version\":\"1.0\"}\n", "{run}");
    sandbox.write("terraform.tfstate", state);
    let run = sandbox.run(&["providers", "schema", "-json"]);
    assert!(run.code == 0 && run.stdout.contains("\"terraform.io/builtin/terraform\":{\"provider\""), "{run}");
}
