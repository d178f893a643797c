//! Processes of tests do not ask the metadata service of the machine that runs them: it could give them credentials.

/// An address of this machine where no server listens: port 1 is below those that servers of tests get.
macro_rules! nowhere {
    () => {
        "127.0.0.1:1"
    };
}

/// Environment variables that lead requests for metadata of AWS, Google Cloud and Azure to an address of this machine without a server. Yuba,
/// OpenTofu and the libraries of the clouds obey them. [`Sandbox`](crate::Sandbox) sets them for every process; a test that starts a
/// process by itself adds them.
pub const NO_METADATA: [(&str, &str); 4] = [
    ("AWS_EC2_METADATA_DISABLED", "true"),
    // Disabling has no effect where an argument of the configuration enables the service.
    ("AWS_EC2_METADATA_SERVICE_ENDPOINT", concat!("http://", nowhere!())),
    ("GCE_METADATA_HOST", nowhere!()),
    ("MSI_ENDPOINT", concat!("http://", nowhere!(), "/token")),
];
