//! Whether the archive of a package is what its publisher has published, and who says so.

use std::collections::{BTreeMap, BTreeSet};

use ecow::EcoString;

use super::hash;
use super::platform::Platform;
use super::signature;
pub use super::signature::ExpiredKeys;
use crate::cli_config::TrustedHashes;

/// A property that an archive must have.
#[derive(Clone, Debug)]
pub enum PackageCheck {
    /// Sizes and hashes of the packages for all platforms, from a registry.
    Declared {
        /// The present platform.
        platform: Platform,
        /// The SHA-256 sum that it declares for the archive elsewhere.
        sum: [u8; 32],
        /// By platform.
        packages: BTreeMap<Platform, (u64, Vec<EcoString>)>,
    },
    /// A list of sums has this one for a file.
    Listed {
        /// The list.
        document: Vec<u8>,
        /// The file.
        file: String,
        /// Its sum.
        sum: [u8; 32],
    },
    /// The archive has this sum.
    Sum(Platform, [u8; 32]),
    /// The list of sums is signed.
    Signed {
        /// The list.
        document: Vec<u8>,
        /// The signature.
        signature: Vec<u8>,
        /// Keys of the publisher, as the registry gives them.
        keys: Vec<String>,
        /// Whether it is an error if there are no keys at all.
        required: bool,
        /// Whether keys that have expired count.
        expired_keys: ExpiredKeys,
    },
    /// The archive has one of these hashes.
    AnyHash {
        /// The present platform.
        platform: Platform,
        /// The hashes.
        hashes: Vec<EcoString>,
        /// Which of them are trusted if one is right.
        trusted: TrustedHashes,
    },
}

/// Known hashes of a package.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackageAuthentication {
    hashes: BTreeMap<EcoString, Known>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Known {
    signed_by: BTreeSet<String>,
    by_registry: bool,
    by_mirror: bool,
    locally: bool,
    platform: Option<Platform>,
}

/// Known sums of an archive: computed once.
#[derive(Clone, Debug)]
pub struct ArchiveFacts {
    /// The SHA-256 sum, where it was requested.
    pub sum: Option<[u8; 32]>,
    /// The size in bytes.
    pub size: u64,
    /// The hash of its files, where it was computed.
    pub h1: Option<EcoString>,
}

impl PackageAuthentication {
    /// The hashes that were checked here.
    pub fn of_local(hashes: impl IntoIterator<Item = EcoString>) -> PackageAuthentication {
        let known = |hash| (hash, Known { locally: true, ..Known::default() });
        PackageAuthentication { hashes: hashes.into_iter().map(known).collect() }
    }

    fn merge(&mut self, other: PackageAuthentication) {
        for (hash, known) in other.hashes {
            let all = self.hashes.entry(hash).or_default();
            all.signed_by.extend(known.signed_by);
            all.by_registry |= known.by_registry;
            all.by_mirror |= known.by_mirror;
            all.locally |= known.locally;
            all.platform = all.platform.take().or(known.platform);
        }
    }

    fn any(&self, is: impl Fn(&Known) -> bool) -> bool {
        self.hashes.values().any(is)
    }

    fn some(&self, is: impl Fn(&Known) -> bool) -> Vec<EcoString> {
        self.hashes.iter().filter(|(_, known)| is(known)).map(|(hash, _)| hash.clone()).collect()
    }

    /// Whether it is signed.
    pub fn is_signed(&self) -> bool {
        self.any(|known| !known.signed_by.is_empty())
    }

    /// Whether it comes from a registry that has no keys for it.
    pub fn is_signing_skipped(&self) -> bool {
        !self.is_signed() && self.any(|known| known.by_registry || known.by_mirror)
    }

    /// The keys that it is signed with.
    pub fn keys(&self) -> String {
        let keys: BTreeSet<&String> = self.hashes.values().flat_map(|known| &known.signed_by).collect();
        keys.into_iter().map(String::as_str).collect::<Vec<_>>().join(", ")
    }

    /// In a word.
    pub fn summary(&self) -> &'static str {
        if self.is_signed() {
            "signed"
        } else if self.any(|known| known.by_registry) {
            "signing skipped"
        } else if self.any(|known| known.locally) {
            "verified checksum"
        } else if self.any(|known| known.by_mirror) {
            "signing skipped"
        } else {
            "unauthenticated"
        }
    }

    /// The hashes that were checked here.
    pub fn local(&self) -> Vec<EcoString> {
        self.some(|known| known.locally)
    }

    /// The hashes that have a valid signature.
    pub fn signed(&self) -> Vec<EcoString> {
        self.some(|known| !known.signed_by.is_empty())
    }

    /// The hashes that a registry or a mirror lists, with or without a signature.
    pub fn listed(&self) -> Vec<EcoString> {
        self.some(|known| known.by_registry || known.by_mirror)
    }

    /// The hashes of the package for a platform that can be trusted.
    pub fn of_platform(&self, platform: &Platform) -> Vec<EcoString> {
        self.some(|known| {
            (known.locally || known.by_registry || known.by_mirror) && known.platform.as_ref() == Some(platform)
        })
    }
}

/// Whether hashes of this scheme can be checked.
fn is_checkable(hash: &str) -> bool {
    hash.starts_with("h1:") || hash.starts_with("zh:")
}

/// Whether a check needs the hash of the files in an archive.
pub fn needs_h1(checks: &[PackageCheck]) -> bool {
    checks.iter().any(
        |check| matches!(check, PackageCheck::AnyHash { hashes, .. } if hashes.iter().any(|h| h.starts_with("h1:"))),
    )
}

/// The possible hashes of an archive: of the archive itself if they are known, otherwise of its files.
pub fn announced(checks: &[PackageCheck]) -> Vec<EcoString> {
    let hashes = |check: &PackageCheck| match check {
        PackageCheck::Sum(_, sum) => vec![hash::of_archive_sum(sum)],
        PackageCheck::AnyHash { hashes, .. } => hashes.clone(),
        _ => Vec::new(),
    };
    let (archives, files): (Vec<_>, Vec<_>) =
        checks.iter().flat_map(hashes).filter(|hash| is_checkable(hash)).partition(|hash| hash.starts_with("zh:"));
    if archives.is_empty() { files } else { archives }
}

/// Makes all checks. The reason why one fails is in words that end no sentence.
pub fn check(checks: &[PackageCheck], archive: &ArchiveFacts) -> Result<PackageAuthentication, String> {
    let mut verdict = PackageAuthentication::default();
    for check in checks {
        verdict.merge(one(check, archive)?);
    }
    Ok(verdict)
}

fn one(check: &PackageCheck, archive: &ArchiveFacts) -> Result<PackageAuthentication, String> {
    match check {
        PackageCheck::Declared { packages, .. } if packages.is_empty() => Ok(PackageAuthentication::default()),
        PackageCheck::Declared { platform, sum, packages } => {
            let Some((size, hashes)) = packages.get(platform) else {
                return Err(format!("the registry declares no package for {platform}"));
            };
            check_declared(*size, hashes, sum, archive)?;
            let mut verdict = PackageAuthentication::default();
            for (platform, (_, hashes)) in packages {
                for hash in hashes.iter().filter(|hash| is_checkable(hash)) {
                    let known = Known { by_registry: true, platform: Some(platform.clone()), ..Known::default() };
                    verdict.hashes.insert(hash.clone(), known);
                }
            }
            Ok(verdict)
        }
        PackageCheck::Listed { document, file, sum } => {
            check_listed(document, file, sum).map(|()| PackageAuthentication::default())
        }
        PackageCheck::Sum(platform, sum) => {
            let wanted = hash::of_archive_sum(sum);
            let got = archive.sum.as_ref().map(hash::of_archive_sum);
            let got = got.ok_or_else(|| format!("the archive may have another checksum than {wanted}"))?;
            if got != wanted {
                return Err(format!("the archive has the checksum {got} instead of {wanted}"));
            }
            let mut verdict = PackageAuthentication::default();
            let known = Known { locally: true, platform: Some(platform.clone()), ..Known::default() };
            verdict.hashes.insert(got, known);
            Ok(verdict)
        }
        PackageCheck::Signed { document, signature, keys, required, expired_keys } => {
            let mut signed_by = BTreeSet::new();
            if *required || !keys.is_empty() {
                let key = signature::check(document, signature, keys, *expired_keys).map_err(|reason| {
                    format!("the provider is not signed with a valid signing key; please contact the provider author ({reason})")
                })?;
                signed_by.insert(key);
            }
            let mut verdict = PackageAuthentication::default();
            for hash in sums(document).unwrap_or_default() {
                let known = Known { by_registry: true, signed_by: signed_by.clone(), ..Known::default() };
                verdict.hashes.insert(hash, known);
            }
            Ok(verdict)
        }
        PackageCheck::AnyHash { platform, hashes, trusted } => any_hash(platform, hashes, *trusted, archive),
    }
}

/// Compares the declaration of a registry for one package with the archive and with the checksum that the registry
/// gives elsewhere.
fn check_declared(size: u64, hashes: &[EcoString], sum: &[u8; 32], archive: &ArchiveFacts) -> Result<(), String> {
    if size != archive.size {
        return Err(format!("the registry declares {size} bytes, but the archive has {}", archive.size));
    }
    let zip: Vec<&EcoString> = hashes.iter().filter(|hash| hash.starts_with("zh:")).collect();
    if zip.is_empty() || zip.iter().any(|hash| **hash != hash::of_archive_sum(sum)) {
        return Err("the registry declares two different checksums for the archive".to_owned());
    }
    Ok(())
}

/// Compares the checksum of a file in a list of checksums with the one that the registry gives.
fn check_listed(document: &[u8], file: &str, sum: &[u8; 32]) -> Result<(), String> {
    let text = String::from_utf8_lossy(document);
    let line = text.lines().map(|line| line.split_whitespace()).find_map(|mut words| {
        let (listed, name) = (words.next()?, words.next()?);
        (name == file).then(|| listed.to_owned())
    });
    let Some(listed) = line else { return Err(format!("the list of checksums does not contain {file:?}")) };
    match hash::parse_sum(&listed) {
        Some(listed) if listed == *sum => Ok(()),
        Some(_) => {
            Err(format!("the list of checksums has {listed} for {file:?}, and the registry {} itself", hash::hex(sum)))
        }
        None => Err(format!("the list of checksums has {listed:?} for {file:?}, which is not a SHA-256 sum")),
    }
}

/// Requires one of the expected checksums. The other ones are trusted if the caller says so.
fn any_hash(
    platform: &Platform,
    hashes: &[EcoString],
    trusted: TrustedHashes,
    archive: &ArchiveFacts,
) -> Result<PackageAuthentication, String> {
    let checkable: Vec<&EcoString> = hashes.iter().filter(|hash| is_checkable(hash)).collect();
    if checkable.is_empty() {
        return Err("its checksums are in formats that this version of Yuba does not support".to_owned());
    }
    let zip = archive.sum.as_ref().map(hash::of_archive_sum);
    let is_right = |hash: &EcoString| zip.as_ref() == Some(hash) || archive.h1.as_ref() == Some(hash);
    if !checkable.iter().any(|hash| is_right(hash)) {
        return Err(match checkable.as_slice() {
            [only] => format!("the package does not have the expected checksum {only}"),
            _ => "the checksum of the package does not match any expected checksum".to_owned(),
        });
    }
    let mut verdict = PackageAuthentication::default();
    for hash in checkable {
        let locally = is_right(hash);
        if locally || trusted == TrustedHashes::All {
            let platform = Some(platform.clone());
            let known = Known { locally, by_mirror: !locally, platform, ..Known::default() };
            verdict.hashes.insert(hash.clone(), known);
        }
    }
    Ok(verdict)
}

/// The hashes in a list of sums; none if it is something else.
fn sums(document: &[u8]) -> Option<Vec<EcoString>> {
    let text = std::str::from_utf8(document).ok()?;
    let line = |line: &str| {
        let mut words = line.split_whitespace();
        let (sum, _) = (words.next()?, words.next()?);
        Some(hash::of_archive_sum(&hash::parse_sum(sum)?))
    };
    text.lines().map(line).collect()
}
