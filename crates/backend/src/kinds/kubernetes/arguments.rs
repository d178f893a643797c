//! Arguments of the kubernetes backend.

use std::path::Path;

use yuba_provider::{Attribute, BlockSchema, NestedBlock, Nesting};
use yuba_syntax::Diagnostics;
use yuba_value::{Type, Value};

use super::KubernetesStore;
use super::api::Api;
use super::connection::{Outside, SERVICE_ACCOUNT, connection};
use super::objects;
use crate::diagnostics;
use crate::kit::BackendEnvironment;
use crate::kit::arguments::{Argument, ArgumentSchema, Arguments};
use crate::workspace::DEFAULT_WORKSPACE;

pub(in crate::kinds) fn schema() -> ArgumentSchema {
    let text = |name, variables| Argument::optional(name, Type::string()).from_environment(variables);
    let switch = |name, variables, default| {
        Argument::optional(name, Type::bool()).from_environment(variables).default_to(Value::bool(default))
    };
    ArgumentSchema::new([
        Argument::required("secret_suffix", Type::string())
            .described("End of the names of Secrets: tfstate-WORKSPACE-SUFFIX."),
        Argument::optional("labels", Type::map(Type::string())).described("Further labels of Secrets and Leases."),
        text("namespace", &["KUBE_NAMESPACE"])
            .default_to(Value::string("default"))
            .described("Namespace of Secrets and Leases."),
        switch("in_cluster_config", &["KUBE_IN_CLUSTER_CONFIG"], false)
            .described("Use the service account of the pod that runs Yuba."),
        switch("load_config_file", &["KUBE_LOAD_CONFIG_FILE"], true)
            .described("Has no effect: config_path and config_paths decide which kubeconfig files are read."),
        text("host", &["KUBE_HOST"]).described("URL of the API server."),
        text("username", &["KUBE_USER"]).described("User for basic authentication."),
        text("password", &["KUBE_PASSWORD"]).secret().described("Password for basic authentication."),
        switch("insecure", &["KUBE_INSECURE"], false).described("Accept any certificate of the API server."),
        text("client_certificate", &["KUBE_CLIENT_CERT_DATA"]).described("Certificate of the client, in PEM."),
        text("client_key", &["KUBE_CLIENT_KEY_DATA"]).secret().described("Private key of client_certificate, in PEM."),
        text("cluster_ca_certificate", &["KUBE_CLUSTER_CA_CERT_DATA"])
            .described("Certificates of the authorities that sign the certificate of the API server, in PEM."),
        Argument::optional("config_paths", Type::list(Type::string()))
            .described("Paths of kubeconfig files. The environment variable KUBE_CONFIG_PATHS lists them too."),
        text("config_path", &["KUBE_CONFIG_PATH"]).described("Path of a kubeconfig file."),
        text("config_context", &["KUBE_CTX"]).described("Context of the kubeconfig file."),
        text("config_context_auth_info", &["KUBE_CTX_AUTH_INFO"])
            .described("User of the kubeconfig file, instead of that of the context."),
        text("config_context_cluster", &["KUBE_CTX_CLUSTER"])
            .described("Cluster of the kubeconfig file, instead of that of the context."),
        text("token", &["KUBE_TOKEN"]).secret().described("Bearer token."),
    ])
    .with_blocks([("exec", exec())])
}

fn exec() -> NestedBlock {
    let block = BlockSchema::new([
        ("api_version", Attribute::required(Type::string()).described("API version of the plugin.")),
        ("command", Attribute::required(Type::string()).described("Executable that prints a credential.")),
        ("env", Attribute::optional(Type::map(Type::string())).described("Environment variables of the executable.")),
        ("args", Attribute::optional(Type::list(Type::string())).described("Arguments of the executable.")),
    ]);
    NestedBlock { max: 1, ..NestedBlock::new(Nesting::List, block) }
}

pub(in crate::kinds) fn check(arguments: &Arguments) -> Diagnostics {
    let Some(suffix) = arguments.text("secret_suffix") else { return Diagnostics::new() };
    match objects::problem_of_name(&suffix, &objects::secret_name(DEFAULT_WORKSPACE, &suffix)) {
        Some(reason) => diagnostics::kubernetes_suffix_invalid(&reason).into(),
        None => Diagnostics::new(),
    }
}

/// The store that the arguments and the environment describe.
pub(super) fn store(arguments: &Arguments, environment: &BackendEnvironment) -> Result<KubernetesStore, Diagnostics> {
    let problems = check(arguments);
    if problems.has_errors() {
        return Err(problems);
    }
    let Some(suffix) = arguments.text("secret_suffix") else {
        return Err(diagnostics::kubernetes_suffix_missing().into());
    };
    let outside =
        Outside { variables: &environment.variables, files: &environment.files, account: Path::new(SERVICE_ACCOUNT) };
    let connection =
        connection(arguments, &outside).map_err(|reason| diagnostics::kubernetes_not_configured(&reason))?;
    let labels = arguments.text_map("labels");
    let namespace = arguments.text("namespace").unwrap_or_else(|| "default".into()).to_string();
    let api = Api::new(connection, namespace, environment.services.client());
    Ok(KubernetesStore { api, suffix: suffix.to_string(), labels })
}
