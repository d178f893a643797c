//! `-deprecation`: selects which deprecation warnings are shown.

use yuba_syntax::{DeprecatedUse, Diagnostics};

/// Deprecation warnings of one kind to show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Level {
    /// All of them.
    #[default]
    All,
    /// Warnings about uses in the configuration itself and its local modules.
    Local,
    /// None.
    None,
}

/// The values of all flags together.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeprecationChoice {
    /// Variables and outputs of modules.
    modules: Level,
    /// Attributes of resources.
    providers: Level,
    /// Single objects and their children, by address; the last entry applies.
    addresses: Vec<(String, Level)>,
}

impl DeprecationChoice {
    /// Diagnostics without warnings about deprecated objects that the flags hide.
    pub(crate) fn wanted(&self, mut problems: Diagnostics) -> Diagnostics {
        problems.retain(|problem| problem.deprecation().is_none_or(|deprecated| self.wants(deprecated)));
        problems
    }

    /// One value of `-deprecation`.
    pub(crate) fn take(&mut self, value: &str) -> Result<(), String> {
        let only_all_or_none = |level: &str| level_of(level).filter(|level| *level != Level::Local);
        match value.rsplit_once(':') {
            None | Some(("module", _)) => return self.take_module("deprecation", value),
            Some(("provider", level)) => match only_all_or_none(level) {
                Some(level) => self.providers = level,
                None => return Err(refusal("deprecation", value, "\"provider:all\" or \"provider:none\"")),
            },
            Some((address, level)) => match only_all_or_none(level) {
                Some(level) if address.contains('.') && !address.ends_with('.') => {
                    self.addresses.push((address.to_owned(), level));
                }
                _ => {
                    let wanted = "\"module:all\", \"module:local\", \"module:none\", \"provider:all\", \"provider:none\" or an \
                                  address followed by \":all\" or \":none\"";
                    return Err(refusal("deprecation", value, wanted));
                }
            },
        }
        Ok(())
    }

    /// One value for variables and outputs of modules.
    pub(crate) fn take_module(&mut self, flag: &str, value: &str) -> Result<(), String> {
        let scope = if flag == "deprecation" { "module:" } else { "" };
        let level = value.strip_prefix(scope).unwrap_or(value);
        let wanted = || format!("\"{scope}all\", \"{scope}local\" or \"{scope}none\"");
        self.modules = level_of(level).ok_or_else(|| refusal(flag, value, &wanted()))?;
        Ok(())
    }

    /// Whether a use of something deprecated is to be shown.
    pub(crate) fn wants(&self, used: &DeprecatedUse) -> bool {
        let is_in = |address: &str| {
            let rest = used.source.strip_prefix(address);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        let by_address = self.addresses.iter().rev().find(|(address, _)| is_in(address));
        let is_of_module =
            ["module.", "var.", "data.terraform_remote_state."].iter().any(|p| used.source.starts_with(p));
        let level = match (by_address, is_of_module) {
            (Some((_, level)), _) => *level,
            (None, true) => self.modules,
            (None, false) => self.providers,
        };
        match level {
            Level::All => true,
            Level::Local => used.fixable_here,
            Level::None => false,
        }
    }
}

fn level_of(text: &str) -> Option<Level> {
    match text {
        "all" => Some(Level::All),
        "local" => Some(Level::Local),
        "none" => Some(Level::None),
        _ => None,
    }
}

fn refusal(flag: &str, value: &str, wanted: &str) -> String {
    format!("invalid value {value:?} for -{flag}: it must be {wanted}")
}

#[cfg(test)]
mod tests {
    use yuba_syntax::diagnostic::DeprecatedKind;

    use super::*;

    fn check(values: &[&str], expected: &str) {
        let mut choice = DeprecationChoice::default();
        let refused = values.iter().find_map(|value| choice.take(value).err());
        let shown = ["module.m.old", "module.m[\"k\"].var.v", "module.mm.old", "var.v", "x_y.z.attribute"]
            .into_iter()
            .filter(|source| {
                choice.wants(&DeprecatedUse {
                    source: (*source).into(),
                    origin: (*source).into(),
                    kind: DeprecatedKind::Value,
                    message: "".into(),
                    remote: false,
                    fixable_here: false,
                })
            });
        let got = refused.unwrap_or_else(|| shown.collect::<Vec<_>>().join(" "));
        assert_eq!(got, expected, "{values:?}");
    }

    #[test]
    fn selected_warnings() {
        check(&[], "module.m.old module.m[\"k\"].var.v module.mm.old var.v x_y.z.attribute");
        check(&["module:none"], "x_y.z.attribute");
        check(&["local"], "x_y.z.attribute");
        check(&["none", "module:all", "provider:none"], "module.m.old module.m[\"k\"].var.v module.mm.old var.v");
        check(&["module.m:none"], "module.mm.old var.v x_y.z.attribute");
        check(&["module:none", "module.m.old:all"], "module.m.old x_y.z.attribute");
        check(&["x_y.z:none", "module:none"], "");
    }

    #[test]
    fn refused_values() {
        let modules = "it must be \"module:all\", \"module:local\" or \"module:none\"";
        check(&["module:"], &format!("invalid value \"module:\" for -deprecation: {modules}"));
        check(&["some"], &format!("invalid value \"some\" for -deprecation: {modules}"));
        let providers = "it must be \"provider:all\" or \"provider:none\"";
        check(&["provider:local"], &format!("invalid value \"provider:local\" for -deprecation: {providers}"));
    }
}
