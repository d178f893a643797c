//! Platforms that packages are made for: `linux_amd64`.

use std::fmt;

use ecow::EcoString;

/// An operating system and an architecture, as Go names them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Platform {
    /// The operating system.
    pub os: EcoString,
    /// The architecture.
    pub arch: EcoString,
}

impl Platform {
    /// The platform that this executable is built for.
    pub fn current() -> Platform {
        let os = match std::env::consts::OS {
            "macos" => "darwin",
            os => os,
        };
        let arch = match std::env::consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            "x86" => "386",
            arch => arch,
        };
        Platform { os: os.into(), arch: arch.into() }
    }

    /// Reads `os_arch`.
    pub fn parse(text: &str) -> Option<Platform> {
        let (os, arch) = text.split_once('_')?;
        let is_name = |part: &str| {
            !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        };
        (is_name(os) && is_name(arch)).then(|| Platform { os: os.into(), arch: arch.into() })
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}", self.os, self.arch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn platforms_are_read() {
        for (text, expect) in [
            ("linux_amd64", Some("linux_amd64")),
            ("darwin_arm64", Some("darwin_arm64")),
            ("linux", None),
            ("linux_amd64_x", None),
            ("_amd64", None),
            ("Linux_amd64", None),
            ("linux_../x", None),
        ] {
            assert_eq!(Platform::parse(text).map(|p| p.to_string()).as_deref(), expect, "{text}");
        }
        assert_eq!(Platform::parse(&Platform::current().to_string()), Some(Platform::current()));
    }
}
