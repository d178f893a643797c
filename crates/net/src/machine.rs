//! Services that a cloud offers to its own machines at link-local addresses: metadata and credentials.
//!
//! Invariant: no other file of the shipped code names such an address, so a process asks these services only if its [`Environment`] was
//! made with [`Environment::on_this_machine`].

use crate::Environment;

/// A service at a fixed link-local address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MachineService {
    /// Metadata of an EC2 instance.
    Ec2,
    /// Metadata of an EC2 instance, over IPv6.
    Ec2V6,
    /// Credentials of an ECS task.
    EcsTask,
    /// Metadata of a machine of Google Cloud.
    Google,
    /// Tokens of the managed identities of an Azure virtual machine.
    Azure,
}

impl MachineService {
    const fn address(self) -> &'static str {
        match self {
            MachineService::Ec2 | MachineService::Google | MachineService::Azure => "169.254.169.254",
            MachineService::Ec2V6 => "[fd00:ec2::254]",
            MachineService::EcsTask => "169.254.170.2",
        }
    }
}

/// Whether the services of the machine are asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum MachineAccess {
    #[default]
    Refused,
    Allowed,
}

impl Environment {
    /// The address of a service as the host of a URL. The error is the reason why it is not asked.
    pub(crate) fn machine_service(&self, service: MachineService) -> Result<&'static str, String> {
        match self.machine() {
            MachineAccess::Allowed => Ok(service.address()),
            MachineAccess::Refused => Err("this process does not ask services of the machine".to_owned()),
        }
    }
}

/// Addresses, besides those of loopback, to which the credentials of a container are requested without TLS.
pub(crate) const CONTAINER_HOSTS: [&str; 3] = ["169.254.170.2", "169.254.170.23", "fd00:ec2::23"];

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::Path;
    use std::sync::Arc;

    use super::*;
    use crate::aws::{Aws, AwsSettings, MetadataAddress, MetadataSettings, MetadataUse};
    use crate::google::{self, GoogleSettings};
    use crate::http::{HttpClient, HttpSettings};

    const REFUSED: &str = "does not ask services of the machine";

    fn client() -> HttpClient {
        HttpClient::new(HttpSettings { retries: 0, ..HttpSettings::default() })
    }

    fn no_file(_: &Path) -> io::Result<Vec<u8>> {
        Err(io::ErrorKind::NotFound.into())
    }

    #[test]
    fn services_of_the_machine_are_asked_only_where_the_caller_allows_it() {
        let process = Environment::default().on_this_machine();
        let all = [
            (MachineService::Ec2, "169.254.169.254"),
            (MachineService::Ec2V6, "[fd00:ec2::254]"),
            (MachineService::EcsTask, "169.254.170.2"),
            (MachineService::Google, "169.254.169.254"),
            (MachineService::Azure, "169.254.169.254"),
        ];
        for (service, address) in all {
            assert_eq!(process.machine_service(service), Ok(address));
            assert!(Environment::default().machine_service(service).is_err_and(|reason| reason.contains(REFUSED)));
        }
    }

    #[test]
    fn no_source_of_credentials_passes_the_refusal() {
        let task: Environment = [("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/task")].into_iter().collect();
        let on = |address| MetadataSettings { address, usage: MetadataUse::On, ..MetadataSettings::default() };
        let cases = [
            (Environment::default(), on(MetadataAddress::Ipv4)),
            (Environment::default(), on(MetadataAddress::Ipv6)),
            (task, MetadataSettings::default()),
        ];
        for (environment, metadata) in cases {
            let settings = AwsSettings { region: Some("us-east-1".to_owned()), metadata, ..AwsSettings::default() };
            let aws = Aws::new(settings, &environment, client(), Arc::new(no_file)).expect("it is complete");
            let error = aws.credentials().map(drop).expect_err("no other source has credentials");
            assert!(error.reason.contains(REFUSED), "{}", error.reason);
        }
        let found = google::find(&GoogleSettings::default(), &Environment::default(), &client(), Arc::new(no_file));
        let token = found.and_then(|source| source.token());
        assert!(token.is_err_and(|error| error.reason.contains(REFUSED)));
    }
}
