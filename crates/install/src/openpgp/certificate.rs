//! Certificates: a main key with its user ids and subkeys, and what their owner has signed about them.

use std::cell::OnceCell;

use aws_lc_rs::digest;

use super::algorithms::Material;
use super::armor;
use super::packets::{Packet, Reader, packets};
use super::signature::{self, Signature, Unreadable};

/// Types of packets.
const PRIMARY_KEY: u8 = 6;
const USER_ID: u8 = 13;
const SUBKEY: u8 = 14;

/// Types of signatures about keys.
const CERTIFICATIONS: std::ops::RangeInclusive<u8> = 0x10..=0x13;
const SUBKEY_BINDING: u8 = 0x18;
const PRIMARY_KEY_BINDING: u8 = 0x19;
const DIRECT_KEY: u8 = 0x1F;
const KEY_REVOCATION: u8 = 0x20;
const SUBKEY_REVOCATION: u8 = 0x28;
const CERTIFICATION_REVOCATION: u8 = 0x30;

/// The flag of keys that may sign documents.
const MAY_SIGN: u8 = 2;

/// Maximum number of signatures of an owner about a certificate. All of them are verified.
const MOST_SIGNATURES: usize = 256;

/// A public key and its subkeys. Nothing in it is verified before it is needed.
#[derive(Clone, Debug)]
pub(crate) struct Certificate {
    primary: PublicKey,
    /// Signatures right behind the main key: revocations and properties.
    signatures: Signatures,
    user_ids: Vec<(Vec<u8>, Signatures)>,
    subkeys: Vec<(PublicKey, Signatures)>,
    owner: OnceCell<Standing>,
}

/// Signatures about a part of a certificate.
#[derive(Clone, Debug, Default)]
struct Signatures {
    read: Vec<Signature>,
    unreadable: Vec<Unreadable>,
}

impl Signatures {
    /// Adds a packet. Of the signatures that cannot be read, only revocations are recorded.
    fn add(&mut self, body: &[u8]) {
        match Signature::read(body) {
            Ok(signature) => self.read.push(signature),
            Err(_) => self.unreadable.extend(Unreadable::of(body).filter(|found| is_revocation(found.kind))),
        }
    }

    /// The revocation of a type that the owner made, where `may_be_own` excludes signatures of other keys. A signature that Yuba
    /// cannot verify is a revocation: its key can have been withdrawn with an algorithm that is not supported, or by a designated revoker.
    fn revocation(
        &self,
        kind: u8,
        is_valid: impl Fn(&Signature) -> bool,
        may_be_own: impl Fn(Result<&Signature, &Unreadable>) -> bool,
    ) -> Option<Revocation> {
        let mut of_kind = self.read.iter().filter(|signature| signature.kind == kind && may_be_own(Ok(signature)));
        let found = of_kind.clone().any(is_valid);
        let is_unverified = of_kind.next().is_some()
            || self.unreadable.iter().any(|found| found.kind == kind && may_be_own(Err(found)));
        match (found, is_unverified) {
            (true, _) => Some(Revocation::Valid),
            (false, true) => Some(Revocation::Unverified),
            (false, false) => None,
        }
    }
}

fn is_revocation(kind: u8) -> bool {
    matches!(kind, KEY_REVOCATION | SUBKEY_REVOCATION | CERTIFICATION_REVOCATION)
}

/// A signature that withdraws a key or a user id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Revocation {
    /// The owner made it.
    Valid,
    /// Yuba cannot verify it.
    Unverified,
}

/// A key of a certificate that made a signature, and what its owner states about it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Issuer<'a> {
    /// The key.
    pub(crate) key: &'a PublicKey,
    /// Whether its owner has withdrawn it.
    pub(crate) revocation: Option<Revocation>,
    /// When it expires, in seconds since 1970.
    pub(crate) expires: Option<u64>,
}

/// A public key.
#[derive(Clone, Debug)]
pub(crate) struct PublicKey {
    version: u8,
    created: u32,
    material: Material,
    /// The packet in the form that signatures over it have signed.
    hashed: Vec<u8>,
    fingerprint: Vec<u8>,
}

/// Where the signatures that follow a packet belong.
enum Component {
    Primary,
    UserId,
    Subkey,
    /// Attributes such as pictures, and packets of versions to come.
    Other,
}

/// Reads the certificates of an armored block. Those of unsupported versions are skipped; fails if no other is left.
pub(crate) fn read_certificates(armored: &str) -> Result<Vec<Certificate>, String> {
    let bytes = armor::decode(armored, "PUBLIC KEY BLOCK")?;
    let (mut found, mut current, mut failure) = (Vec::new(), None::<Certificate>, None);
    let mut component = Component::Other;
    for Packet { tag, body } in packets(&bytes)? {
        match (tag, &mut current) {
            (PRIMARY_KEY, _) => {
                found.extend(current.take());
                component = Component::Primary;
                match PublicKey::read(body) {
                    Ok(primary) => current = Some(Certificate::new(primary)),
                    Err(reason) => failure = Some(reason),
                }
            }
            (_, Some(certificate)) => certificate.add(tag, body, &mut component),
            // Packets after a main key of an unsupported version.
            (_, None) => {}
        }
    }
    found.extend(current);
    match found.is_empty() {
        true => Err(failure.unwrap_or_else(|| "it contains no public key".to_owned())),
        false => Ok(found),
    }
}

impl Certificate {
    fn new(primary: PublicKey) -> Certificate {
        let (signatures, owner) = (Signatures::default(), OnceCell::new());
        Certificate { primary, signatures, user_ids: Vec::new(), subkeys: Vec::new(), owner }
    }

    /// Adds a packet. Subkeys of unsupported versions are skipped.
    fn add(&mut self, tag: u8, body: &[u8], component: &mut Component) {
        match tag {
            signature::TAG => {
                let signatures = match component {
                    Component::Primary => Some(&mut self.signatures),
                    Component::UserId => self.user_ids.last_mut().map(|(_, signatures)| signatures),
                    Component::Subkey => self.subkeys.last_mut().map(|(_, signatures)| signatures),
                    Component::Other => None,
                };
                // A revocation of the main key counts wherever it stands.
                let is_revocation = Unreadable::of(body).is_some_and(|found| found.kind == KEY_REVOCATION);
                match signatures {
                    _ if is_revocation => self.signatures.add(body),
                    Some(signatures) => signatures.add(body),
                    None => {}
                }
            }
            USER_ID => {
                self.user_ids.push((body.to_vec(), Signatures::default()));
                *component = Component::UserId;
            }
            SUBKEY => {
                let subkey = PublicKey::read(body);
                *component = if subkey.is_ok() { Component::Subkey } else { Component::Other };
                self.subkeys.extend(subkey.ok().map(|key| (key, Signatures::default())));
            }
            // Markers, trust and padding can be anywhere.
            10 | 12 | 21 => {}
            _ => *component = Component::Other,
        }
    }

    /// The main key.
    pub(crate) fn primary(&self) -> &PublicKey {
        &self.primary
    }

    /// The keys of this certificate that may sign documents and that a signature names as its issuer. A subkey that is not
    /// bound to the main key in both directions is the reason why it proves nothing.
    pub(crate) fn issuers(&self, signature: &Signature) -> Vec<Result<Issuer<'_>, String>> {
        let is_named = |key: &PublicKey| signature.is_said_to_be_of(key);
        let subkeys: Vec<_> = self.subkeys.iter().filter(|(key, _)| is_named(key)).collect();
        if subkeys.is_empty() && !is_named(&self.primary) {
            return Vec::new();
        }
        if self.own_signatures() > MOST_SIGNATURES {
            return vec![Err(format!(
                "the owner of a signing key has made more than {MOST_SIGNATURES} signatures about it"
            ))];
        }
        let owner = self.owner.get_or_init(|| self.owner());
        let mut found = Vec::new();
        if is_named(&self.primary) && owner.may_sign() {
            found.push(Ok(Issuer { key: &self.primary, revocation: owner.revocation, expires: owner.expires }));
        }
        for (key, signatures) in subkeys {
            match self.bound(key, signatures) {
                Ok(subkey) if subkey.may_sign() => found.push(Ok(Issuer {
                    key,
                    revocation: owner.revocation.or(subkey.revocation),
                    expires: earlier(owner.expires, subkey.expires),
                })),
                Ok(_) => {}
                Err(reason) => found.push(Err(reason)),
            }
        }
        found
    }

    /// Number of signatures that the owner can have made.
    fn own_signatures(&self) -> usize {
        let of_user_ids = self.user_ids.iter().map(|(_, signatures)| signatures);
        let all = of_user_ids.chain(self.subkeys.iter().map(|(_, signatures)| signatures)).chain([&self.signatures]);
        all.flat_map(|signatures| &signatures.read).filter(|signature| signature.may_be_of(&self.primary)).count()
    }

    /// The owner's statements about the main key: in signatures of the key itself and of the first user id. User ids that are
    /// not revoked precede revoked ones, and those marked as primary precede newer ones.
    ///
    /// A main key without such a statement has no flags and does not expire: the registry that names it trusts it.
    fn owner(&self) -> Standing {
        let key = self.primary.hashed.as_slice();
        let is_valid = |signature: &Signature, parts: &[&[u8]]| signature.verify(&self.primary, parts).is_ok();
        let withdrawal = self.signatures.revocation(KEY_REVOCATION, |signature| is_valid(signature, &[key]), |_| true);
        let direct = self.signatures.read.iter().filter(|signature| {
            signature.kind == DIRECT_KEY && signature.may_be_of(&self.primary) && is_valid(signature, &[key])
        });
        let direct = newest(direct);
        let mut identities: Vec<(Option<Revocation>, &Signature)> = Vec::new();
        for (id, signatures) in &self.user_ids {
            let hashed = self.hashed_user_id(id);
            let parts = [key, hashed.as_slice()];
            // Other keys can certify a user id and revoke that certification.
            let may_be_own = |signature: Result<&Signature, &Unreadable>| match signature {
                Ok(signature) => signature.may_be_of(&self.primary),
                Err(unreadable) => unreadable.could_name(&self.primary),
            };
            let is_own = |signature: &Signature| is_valid(signature, &parts);
            let revocation = signatures.revocation(CERTIFICATION_REVOCATION, is_own, may_be_own);
            let certifications = signatures.read.iter().filter(|signature| {
                CERTIFICATIONS.contains(&signature.kind) && may_be_own(Ok(signature)) && is_own(signature)
            });
            identities.extend(newest(certifications).map(|signature| (revocation, signature)));
        }
        let first = identities.iter().max_by_key(|(revocation, signature)| {
            (revocation.is_none(), signature.statements.is_primary_user_id, signature.created())
        });
        let statements = [first.map(|(_, signature)| *signature), direct];
        let mut standing = Standing::of(&self.primary, statements);
        standing.revocation = withdrawal.or(first.and_then(|(revocation, _)| *revocation));
        standing
    }

    fn hashed_user_id(&self, id: &[u8]) -> Vec<u8> {
        let mut hashed = vec![0xB4];
        // User ids are far shorter: packets are part of keys, which have a limit.
        hashed.extend(u32::try_from(id.len()).unwrap_or(u32::MAX).to_be_bytes());
        hashed.extend(id);
        hashed
    }

    /// The owner's statements about a subkey. Fails if the main key has not signed the subkey, or the subkey not the main key.
    fn bound(&self, key: &PublicKey, signatures: &Signatures) -> Result<Standing, String> {
        let parts = [self.primary.hashed.as_slice(), key.hashed.as_slice()];
        let own = |signature: &&Signature, kind: u8| {
            signature.kind == kind && signature.verify(&self.primary, &parts).is_ok()
        };
        let unbound = "a signing key is not bound to its owner";
        let binding = newest(signatures.read.iter().filter(|signature| own(signature, SUBKEY_BINDING)));
        let Some(binding) = binding else { return Err(format!("{unbound}: the main key has not signed it")) };
        let mut standing = Standing::of(key, [Some(binding), None]);
        if standing.may_sign() {
            let embedded = binding.statements.embedded.iter().filter_map(|body| Signature::read(body).ok());
            let mut answers = embedded.filter(|signature| signature.kind == PRIMARY_KEY_BINDING);
            if !answers.any(|signature| signature.verify(key, &parts).is_ok()) {
                return Err(format!("{unbound}: it has not signed the main key"));
            }
        }
        let is_valid = |signature: &Signature| signature.verify(&self.primary, &parts).is_ok();
        standing.revocation = signatures.revocation(SUBKEY_REVOCATION, is_valid, |_| true);
        Ok(standing)
    }
}

/// Statements of an owner about a key.
#[derive(Clone, Copy, Debug)]
struct Standing {
    flags: Option<u8>,
    revocation: Option<Revocation>,
    expires: Option<u64>,
}

impl Standing {
    /// The statements of signatures about a key, the most specific first. The key expires with the first of them that does.
    fn of(key: &PublicKey, signatures: [Option<&Signature>; 2]) -> Standing {
        let mut standing = Standing { flags: None, revocation: None, expires: None };
        for signature in signatures.into_iter().flatten() {
            let after = signature.statements.key_expires_after.filter(|after| *after != 0);
            let key_expires = after.map(|after| u64::from(key.created) + u64::from(after));
            standing.expires = earlier(standing.expires, earlier(key_expires, signature.expires()));
            standing.flags = standing.flags.or(signature.statements.key_flags);
        }
        standing
    }

    /// Without a statement about the use of a key, it may be used for everything.
    fn may_sign(&self) -> bool {
        self.flags.is_none_or(|flags| flags & MAY_SIGN != 0)
    }
}

fn earlier(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.into_iter().chain(other).min()
}

fn newest<'a>(signatures: impl Iterator<Item = &'a Signature>) -> Option<&'a Signature> {
    signatures.max_by_key(|signature| signature.created())
}

impl PublicKey {
    /// Reads the body of a packet.
    fn read(body: &[u8]) -> Result<PublicKey, String> {
        let mut reader = Reader(body);
        let version = reader.u8()?;
        if !matches!(version, 4 | 6) {
            return Err(format!("keys of version {version} are not supported"));
        }
        let (created, algorithm) = (reader.u32()?, reader.u8()?);
        if version == 6 {
            let length = reader.length()?;
            reader = Reader(reader.take(length)?);
        }
        let material = Material::read(algorithm, &mut reader)?;
        let mut hashed = Vec::with_capacity(body.len() + 5);
        match version {
            4 => {
                let length = u16::try_from(body.len()).map_err(|_| "the key is too long".to_owned())?;
                hashed.push(0x99);
                hashed.extend(length.to_be_bytes());
            }
            _ => {
                let length = u32::try_from(body.len()).map_err(|_| "the key is too long".to_owned())?;
                hashed.push(0x9B);
                hashed.extend(length.to_be_bytes());
            }
        }
        hashed.extend_from_slice(body);
        let algorithm = if version == 4 { &digest::SHA1_FOR_LEGACY_USE_ONLY } else { &digest::SHA256 };
        let fingerprint = digest::digest(algorithm, &hashed).as_ref().to_vec();
        Ok(PublicKey { version, created, material, hashed, fingerprint })
    }

    /// The id: a part of the fingerprint.
    pub(crate) fn id(&self) -> &[u8] {
        if self.version == 4 { &self.fingerprint[12..] } else { &self.fingerprint[..8] }
    }

    pub(super) fn fingerprint(&self) -> &[u8] {
        &self.fingerprint
    }

    pub(super) fn version(&self) -> u8 {
        self.version
    }

    pub(super) fn material(&self) -> &Material {
        &self.material
    }
}
