//! The servers that tests start: one row each.

/// A server.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// The pinned version. That of the distribution for packages of Debian.
    pub(crate) version: &'static str,
    /// The executable that shows that the server is installed.
    pub(crate) program: &'static str,
    pub(crate) client: Client,
    pub(crate) cost: Cost,
    /// Names of further rows that the server does not run without.
    pub(crate) needs: &'static [&'static str],
    pub(crate) purpose: &'static str,
}

/// Whether a plain `install` includes the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cost {
    /// Suits every CI run.
    Light,
    /// Takes minutes to build: only by name or with `--all`.
    Heavy,
}

/// The package client that installs a server.
pub(crate) enum Client {
    /// `apt-get install PACKAGE`.
    Apt(&'static str),
    /// `pip install REQUIREMENT==VERSION` in an environment of its own.
    Pip(&'static str),
    /// `npm install PACKAGE@VERSION`.
    Npm(&'static str),
    /// `go install PACKAGE@vVERSION`.
    GoInstall(&'static str),
    /// `go build` in a copy of a module.
    GoModule(GoModule),
}

/// A module that `go install` refuses because its `go.mod` replaces modules by directories of its repository.
pub(crate) struct GoModule {
    pub(crate) module: &'static str,
    /// The package to build, relative to the module.
    pub(crate) package: &'static str,
    pub(crate) replaced: Replaced,
    /// Modules to require in another version: `PATH@VERSION`.
    pub(crate) require: &'static [&'static str],
    /// Changes of files: path, text, replacement.
    pub(crate) edits: &'static [(&'static str, &'static str, &'static str)],
    /// The file `main.go` of the package, where the module does not contain the package.
    pub(crate) main: Option<&'static str>,
}

/// Directories that replace modules in `go.mod`.
pub(crate) enum Replaced {
    /// In the versions that `go.mod` requires.
    ByRequired,
    /// In the first of these versions that downloads and verifies.
    ByFirstOf(&'static [&'static str]),
}

/// Every server, in the order of installation.
pub(crate) const TABLE: &[Row] = &[
    Row {
        name: "postgresql",
        version: "distribution",
        program: "postgres",
        client: Client::Apt("postgresql"),
        cost: Cost::Light,
        needs: &[],
        purpose: "backend pg",
    },
    Row {
        name: "moto",
        version: "5.2.5",
        program: "moto_server",
        client: Client::Pip("moto[server]"),
        cost: Cost::Light,
        needs: &[],
        purpose: "backend s3 with DynamoDB, key provider aws_kms",
    },
    Row {
        name: "azurite",
        version: "3.37.0",
        program: "azurite-blob",
        client: Client::Npm("azurite"),
        cost: Cost::Light,
        needs: &[],
        purpose: "backend azurerm",
    },
    Row {
        name: "fake-gcs-server",
        version: "1.56.1",
        program: "fake-gcs-server",
        client: Client::GoInstall("github.com/fsouza/fake-gcs-server"),
        cost: Cost::Light,
        needs: &[],
        purpose: "backend gcs",
    },
    Row {
        name: "versitygw",
        version: "1.8.0",
        program: "versitygw",
        client: Client::GoInstall("github.com/versity/versitygw/cmd/versitygw"),
        cost: Cost::Heavy,
        needs: &[],
        purpose: "backend s3, with verified signatures",
    },
    Row {
        name: "minio",
        version: "0.0.0-20260212201848-7aac2a2c5b7c",
        program: "minio",
        client: Client::GoInstall("github.com/minio/minio"),
        cost: Cost::Heavy,
        needs: &[],
        purpose: "backend s3, with customer keys (SSE-C)",
    },
    Row {
        name: "consul",
        version: "1.14.11",
        program: "consul",
        client: Client::GoModule(GoModule {
            module: "github.com/hashicorp/consul",
            package: ".",
            replaced: Replaced::ByRequired,
            require: &[],
            edits: &[],
            main: None,
        }),
        cost: Cost::Heavy,
        needs: &[],
        purpose: "backend consul",
    },
    Row {
        name: "vault-transit",
        version: "1.14.1",
        program: "vault-transit",
        client: Client::GoModule(GoModule {
            module: "github.com/hashicorp/vault",
            package: "./cmd/vault-transit",
            replaced: Replaced::ByRequired,
            require: &["github.com/hashicorp/vault/sdk@v0.9.2"],
            // The sdk panics on a create operation without existence check. These two paths are not used by tests.
            edits: &[
                ("vault/logical_system_helpers.go", "logical.CreateOperation, ", ""),
                (
                    "builtin/logical/transit/path_cache_config.go",
                    "logical.CreateOperation: ",
                    "logical.PatchOperation: ",
                ),
            ],
            main: Some(include_str!("vault_transit.go")),
        }),
        cost: Cost::Heavy,
        needs: &[],
        purpose: "key provider openbao",
    },
    Row {
        name: "etcd",
        version: "distribution",
        program: "etcd",
        client: Client::Apt("etcd-server"),
        cost: Cost::Heavy,
        needs: &[],
        purpose: "storage of kube-apiserver",
    },
    Row {
        name: "kube-apiserver",
        version: "1.32.7",
        program: "kube-apiserver",
        client: Client::GoModule(GoModule {
            module: "k8s.io/kubernetes",
            package: "./cmd/kube-apiserver",
            // Some modules were not published in the version of this release.
            replaced: Replaced::ByFirstOf(&["v0.32.7", "v0.32.8", "v0.32.6", "v0.32.5"]),
            require: &[],
            edits: &[],
            main: None,
        }),
        cost: Cost::Heavy,
        needs: &["etcd"],
        purpose: "backend kubernetes",
    },
];

impl Client {
    /// The executable that the installation of the server requires.
    pub(crate) fn program(&self) -> &'static str {
        match self {
            Client::Apt(_) => "apt-get",
            Client::Pip(_) => "python3",
            Client::Npm(_) => "npm",
            Client::GoInstall(_) | Client::GoModule(_) => "go",
        }
    }
}
