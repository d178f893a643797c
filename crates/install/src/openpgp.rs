//! OpenPGP for detached signatures: keys and signatures of the versions 4 and 6 of RFC 9580, verified with aws-lc.
//!
//! It reads public keys and signatures and checks them. It creates no signatures, decrypts nothing, and knows no web of
//! trust: the caller trusts the keys that it passes. `providers::signature` decides what a signature must fulfil beyond being
//! correct.

mod algorithms;
mod armor;
mod certificate;
mod packets;
mod signature;
#[cfg(test)]
pub(crate) mod signing;

pub(crate) use algorithms::MISMATCH;
pub(crate) use certificate::{Certificate, Issuer, PublicKey, Revocation, read_certificates};
pub(crate) use signature::{Signature, read_signatures};
