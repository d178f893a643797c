//! Services of AWS, the partitions with their regions, and the default endpoint of each service.

/// A service that Yuba sends requests to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Service {
    /// Objects in buckets.
    S3,
    /// Rows of tables.
    DynamoDb,
    /// Temporary credentials and the identity of the caller.
    Sts,
    /// Users and roles.
    Iam,
    /// Encryption keys.
    Kms,
    /// Credentials for a token of IAM Identity Center.
    Sso,
    /// Tokens of IAM Identity Center.
    SsoOidc,
}

impl Service {
    /// The name in signatures.
    pub(super) fn signing_name(self) -> &'static str {
        match self {
            Service::S3 => "s3",
            Service::DynamoDb => "dynamodb",
            Service::Sts => "sts",
            Service::Iam => "iam",
            Service::Kms => "kms",
            Service::Sso => "awsssoportal",
            Service::SsoOidc => "sso-oauth",
        }
    }

    /// The part of `AWS_ENDPOINT_URL_S3` after the prefix. In lower case it is the name in a `services` section.
    pub(super) fn variable(self) -> &'static str {
        match self {
            Service::S3 => "S3",
            Service::DynamoDb => "DYNAMODB",
            Service::Sts => "STS",
            Service::Iam => "IAM",
            Service::Kms => "KMS",
            Service::Sso => "SSO",
            Service::SsoOidc => "SSO_OIDC",
        }
    }

    /// For messages.
    pub fn name(self) -> &'static str {
        match self {
            Service::S3 => "S3",
            Service::DynamoDb => "DynamoDB",
            Service::Sts => "STS",
            Service::Iam => "IAM",
            Service::Kms => "KMS",
            Service::Sso => "IAM Identity Center",
            Service::SsoOidc => "IAM Identity Center OIDC",
        }
    }

    /// The first part of the host name.
    fn prefix(self) -> &'static str {
        match self {
            Service::S3 => "s3",
            Service::DynamoDb => "dynamodb",
            Service::Sts => "sts",
            Service::Iam => "iam",
            Service::Kms => "kms",
            Service::Sso => "portal.sso",
            Service::SsoOidc => "oidc",
        }
    }
}

/// A group of regions with a domain of its own.
#[derive(Debug)]
pub struct Partition {
    /// Its name in ARNs.
    pub id: &'static str,
    /// The domain of endpoints.
    pub suffix: &'static str,
    /// The domain of endpoints with IPv4 and IPv6 addresses.
    pub dual_stack_suffix: &'static str,
    /// The region in signatures for services without regions.
    global_region: &'static str,
    /// Beginnings of the names of regions.
    prefixes: &'static [&'static str],
    regions: &'static [&'static str],
}

/// All partitions. The last partition of which a prefix fits is that of an unknown region.
static PARTITIONS: [Partition; 8] = [
    Partition {
        id: "aws",
        suffix: "amazonaws.com",
        dual_stack_suffix: "api.aws",
        global_region: "us-east-1",
        prefixes: &[""],
        regions: &[
            "af-south-1",
            "ap-east-1",
            "ap-east-2",
            "ap-northeast-1",
            "ap-northeast-2",
            "ap-northeast-3",
            "ap-south-1",
            "ap-south-2",
            "ap-southeast-1",
            "ap-southeast-2",
            "ap-southeast-3",
            "ap-southeast-4",
            "ap-southeast-5",
            "ap-southeast-6",
            "ap-southeast-7",
            "ca-central-1",
            "ca-west-1",
            "eu-central-1",
            "eu-central-2",
            "eu-north-1",
            "eu-south-1",
            "eu-south-2",
            "eu-west-1",
            "eu-west-2",
            "eu-west-3",
            "il-central-1",
            "me-central-1",
            "me-south-1",
            "mx-central-1",
            "sa-east-1",
            "us-east-1",
            "us-east-2",
            "us-west-1",
            "us-west-2",
        ],
    },
    Partition {
        id: "aws-cn",
        suffix: "amazonaws.com.cn",
        dual_stack_suffix: "api.amazonwebservices.com.cn",
        global_region: "cn-northwest-1",
        prefixes: &["cn-"],
        regions: &["cn-north-1", "cn-northwest-1"],
    },
    Partition {
        id: "aws-eusc",
        suffix: "amazonaws.eu",
        dual_stack_suffix: "api.amazonwebservices.eu",
        global_region: "eusc-de-east-1",
        prefixes: &["eusc-"],
        regions: &["eusc-de-east-1"],
    },
    Partition {
        id: "aws-iso",
        suffix: "c2s.ic.gov",
        dual_stack_suffix: "api.aws.ic.gov",
        global_region: "us-iso-east-1",
        prefixes: &["us-iso-"],
        regions: &["us-iso-east-1", "us-iso-west-1"],
    },
    Partition {
        id: "aws-iso-b",
        suffix: "sc2s.sgov.gov",
        dual_stack_suffix: "api.aws.scloud",
        global_region: "us-isob-east-1",
        prefixes: &["us-isob-"],
        regions: &["us-isob-east-1", "us-isob-west-1"],
    },
    Partition {
        id: "aws-iso-e",
        suffix: "cloud.adc-e.uk",
        dual_stack_suffix: "api.cloud-aws.adc-e.uk",
        global_region: "eu-isoe-west-1",
        prefixes: &["eu-isoe-"],
        regions: &["eu-isoe-west-1"],
    },
    Partition {
        id: "aws-iso-f",
        suffix: "csp.hci.ic.gov",
        dual_stack_suffix: "api.aws.hci.ic.gov",
        global_region: "us-isof-south-1",
        prefixes: &["us-isof-"],
        regions: &["us-isof-east-1", "us-isof-south-1"],
    },
    Partition {
        id: "aws-us-gov",
        suffix: "amazonaws.com",
        dual_stack_suffix: "api.aws",
        global_region: "us-gov-west-1",
        prefixes: &["us-gov-"],
        regions: &["us-gov-east-1", "us-gov-west-1"],
    },
];

impl Partition {
    /// The partition of a region. Unknown regions without a known prefix belong to the standard partition.
    pub fn of_region(region: &str) -> &'static Partition {
        let fits = |partition: &&Partition| partition.prefixes.iter().any(|prefix| region.starts_with(prefix));
        PARTITIONS.iter().rfind(fits).unwrap_or(&PARTITIONS[0])
    }

    /// The domain of a partition that a host name ends with.
    pub fn suffix_of_host(host: &str) -> Option<&'static str> {
        PARTITIONS.iter().map(|partition| partition.suffix).find(|suffix| host.ends_with(suffix))
    }
}

/// Whether this is the name of a region.
pub fn is_region(name: &str) -> bool {
    PARTITIONS.iter().any(|partition| partition.regions.contains(&name))
}

/// Kind of addresses of an endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stack {
    /// IPv4.
    #[default]
    Single,
    /// IPv4 and IPv6.
    Dual,
}

/// Cryptography of an endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cryptography {
    /// Any.
    #[default]
    Standard,
    /// Validated by FIPS 140.
    Fips,
}

/// Endpoint of a service, and the region in its signatures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Scheme, host, port and a path if it is custom.
    pub url: String,
    /// The region in signatures.
    pub region: String,
    /// Whether a setting names it.
    pub origin: Origin,
}

/// Source of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// AWS.
    Default,
    /// An argument, an environment variable or a profile.
    Custom,
}

/// The endpoint of AWS for a service in a region.
pub(super) fn default_endpoint(service: Service, region: &str, stack: Stack, cryptography: Cryptography) -> Endpoint {
    let partition = Partition::of_region(region);
    let is_gov = partition.id == "aws-us-gov";
    // Quirk: endpoints of these services in GovCloud use validated cryptography without saying so.
    let fips_by_default = is_gov && stack == Stack::Single && matches!(service, Service::Sts | Service::DynamoDb);
    let is_fips = cryptography == Cryptography::Fips && !fips_by_default;
    let prefix = match (service, is_fips) {
        (Service::Iam, false) if is_gov && stack == Stack::Single => "iam.us-gov".to_owned(),
        (service, false) => service.prefix().to_owned(),
        (service, true) => format!("{}-fips", service.prefix()),
    };
    let suffix = match (service, stack) {
        (Service::S3, _) | (_, Stack::Single) => partition.suffix,
        (_, Stack::Dual) => partition.dual_stack_suffix,
    };
    let (host, region) = match service {
        Service::Iam if partition.id == "aws-cn" && stack == Stack::Single => {
            (format!("{prefix}.cn-north-1.{suffix}"), "cn-north-1")
        }
        Service::Iam if matches!(partition.id, "aws" | "aws-us-gov") => {
            (format!("{prefix}.{suffix}"), partition.global_region)
        }
        Service::Iam => (format!("{prefix}.{}.{suffix}", partition.global_region), partition.global_region),
        Service::Sts if region == "aws-global" => (format!("{prefix}.{suffix}"), "us-east-1"),
        Service::S3 if region == "aws-global" => (format!("{prefix}.{suffix}"), "us-east-1"),
        Service::S3 if stack == Stack::Dual => (format!("{prefix}.dualstack.{region}.{suffix}"), region),
        _ => (format!("{prefix}.{region}.{suffix}"), region),
    };
    Endpoint { url: format!("https://{host}"), region: region.to_owned(), origin: Origin::Default }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_by_service_and_region() {
        use Cryptography::{Fips, Standard};
        use Stack::{Dual, Single};
        for (service, region, stack, cryptography, host) in [
            (Service::S3, "us-east-1", Single, Standard, "s3.us-east-1.amazonaws.com"),
            (Service::S3, "cn-north-1", Single, Standard, "s3.cn-north-1.amazonaws.com.cn"),
            (Service::S3, "eu-west-1", Dual, Standard, "s3.dualstack.eu-west-1.amazonaws.com"),
            (Service::S3, "us-gov-west-1", Single, Fips, "s3-fips.us-gov-west-1.amazonaws.com"),
            (Service::S3, "us-east-2", Dual, Fips, "s3-fips.dualstack.us-east-2.amazonaws.com"),
            (Service::DynamoDb, "eu-central-1", Single, Standard, "dynamodb.eu-central-1.amazonaws.com"),
            (Service::DynamoDb, "us-east-1", Single, Fips, "dynamodb-fips.us-east-1.amazonaws.com"),
            (Service::DynamoDb, "us-gov-east-1", Single, Fips, "dynamodb.us-gov-east-1.amazonaws.com"),
            (Service::DynamoDb, "us-east-1", Dual, Standard, "dynamodb.us-east-1.api.aws"),
            (Service::Sts, "ap-east-1", Single, Standard, "sts.ap-east-1.amazonaws.com"),
            (Service::Sts, "us-gov-west-1", Single, Fips, "sts.us-gov-west-1.amazonaws.com"),
            (Service::Sts, "us-west-2", Single, Fips, "sts-fips.us-west-2.amazonaws.com"),
            (Service::Iam, "eu-west-1", Single, Standard, "iam.amazonaws.com"),
            (Service::Iam, "us-gov-east-1", Single, Standard, "iam.us-gov.amazonaws.com"),
            (Service::Iam, "cn-northwest-1", Single, Standard, "iam.cn-north-1.amazonaws.com.cn"),
            (Service::Kms, "eusc-de-east-1", Single, Standard, "kms.eusc-de-east-1.amazonaws.eu"),
            (Service::Kms, "us-isob-east-1", Single, Standard, "kms.us-isob-east-1.sc2s.sgov.gov"),
            (Service::Sso, "us-east-1", Single, Standard, "portal.sso.us-east-1.amazonaws.com"),
            (Service::SsoOidc, "us-east-1", Single, Standard, "oidc.us-east-1.amazonaws.com"),
        ] {
            let endpoint = default_endpoint(service, region, stack, cryptography);
            assert_eq!(endpoint.url, format!("https://{host}"), "{service:?} {region}");
        }
        assert_eq!(default_endpoint(Service::Iam, "eu-west-1", Single, Standard).region, "us-east-1");
        assert!(is_region("us-east-1") && is_region("cn-north-1") && !is_region("us-east-9") && !is_region(""));
        assert_eq!(Partition::of_region("us-east-9").id, "aws");
    }
}
