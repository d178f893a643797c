//! Names of functions outside the language: those of providers and those of opt-in features.

use std::fmt;

use ecow::EcoString;
use yuba_syntax::Diagnostic;

use crate::diagnostics;
use crate::features::Feature;

/// `provider::name::function` or `provider::name::alias::function`
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProviderFunction {
    /// The provider's local name.
    pub provider: EcoString,
    /// The alias of its configuration.
    pub alias: Option<EcoString>,
    /// The function.
    pub function: EcoString,
}

impl ProviderFunction {
    /// Reads a function name; `None` if it is not in the `provider` namespace, an error if it has too few or too many
    /// parts.
    pub fn parse(name: &str) -> Option<Result<ProviderFunction, Diagnostic>> {
        let parts: Vec<&str> = name.split("::").collect();
        let function = match parts.as_slice() {
            ["provider"] => return None,
            ["provider", provider, function] => {
                ProviderFunction { provider: (*provider).into(), alias: None, function: (*function).into() }
            }
            ["provider", provider, alias, function] => ProviderFunction {
                provider: (*provider).into(),
                alias: Some((*alias).into()),
                function: (*function).into(),
            },
            ["provider", ..] => {
                return Some(Err(diagnostics::provider_function_name(name)));
            }
            _ => return None,
        };
        Some(Ok(function))
    }
}

impl fmt::Display for ProviderFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "provider::{}::", self.provider)?;
        if let Some(alias) = &self.alias {
            write!(f, "{alias}::")?;
        }
        f.write_str(&self.function)
    }
}

/// A function of an opt-in feature: `symbols::library::name`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SymbolFunction {
    /// The feature.
    pub feature: Feature,
    /// The label of the block; none inside of a library, for its own functions.
    pub library: Option<EcoString>,
    /// The function.
    pub name: EcoString,
}

impl SymbolFunction {
    /// Reads a function name; `None` if its namespace belongs to no opt-in feature or it has too many parts.
    pub fn parse(name: &str) -> Option<SymbolFunction> {
        let (root, rest) = name.split_once("::")?;
        let feature = Feature::from_root_word(root)?;
        let parts: Vec<&str> = rest.split("::").collect();
        match parts.as_slice() {
            [name] => Some(SymbolFunction { feature, library: None, name: (*name).into() }),
            [library, name] => Some(SymbolFunction { feature, library: Some((*library).into()), name: (*name).into() }),
            _ => None,
        }
    }
}

impl fmt::Display for SymbolFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}::", self.feature.root_word())?;
        self.library.iter().try_for_each(|library| write!(f, "{library}::"))?;
        f.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn provider_functions_have_two_or_three_names() {
        let parse = |name: &str| match ProviderFunction::parse(name) {
            None => "none".to_owned(),
            Some(Ok(f)) => f.to_string(),
            Some(Err(_)) => "error".to_owned(),
        };
        assert_eq!(parse("upper"), "none");
        assert_eq!(parse("provider"), "none");
        assert_eq!(parse("core::upper"), "none");
        assert_eq!(parse("provider::a"), "error");
        assert_eq!(parse("provider::a::f"), "provider::a::f");
        assert_eq!(parse("provider::a::b::f"), "provider::a::b::f");
        assert_eq!(parse("provider::a::b::c::f"), "error");
    }
}
