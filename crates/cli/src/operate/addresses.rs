//! Addresses of resources in flags: `-target`, `-exclude`, their files, and `-replace`.

use yuba_addrs::{AbsResourceInstance, ResourceMode, Target};
use yuba_engine::PlanOptions;
use yuba_engine::targets::{parse_file, parse_option};
use yuba_syntax::files::Files;
use yuba_syntax::{Diagnostics, SourceFile, Sources};

use super::diagnostics;
use crate::flags::Args;

/// Errors in flags, with the files that they point into.
pub(crate) struct InvalidFlags {
    pub(crate) problems: Diagnostics,
    pub(crate) sources: Sources,
}

/// Reads the addresses of `-target`, `-exclude` and `-replace` into the options of a plan.
pub(crate) fn read(args: &Args, files: &dyn Files, plan: &mut PlanOptions) -> InvalidFlags {
    let mut sources = Sources::new();
    let mut problems = Diagnostics::new();
    let has = |names: [&str; 2]| args.iter().any(|(name, _)| names.contains(&name));
    let contradicts = has(["target", "target-file"]) && has(["exclude", "exclude-file"]);
    if contradicts {
        problems.push(diagnostics::target_with_exclude());
    }
    for (name, text) in args.iter().filter(|_| !contradicts) {
        let (found, wrong) = match name {
            "target" | "exclude" => parse_option(name, &[text]),
            "target-file" | "exclude-file" => read_file(files, text, name, &mut sources),
            _ => continue,
        };
        problems.extend(wrong);
        match name {
            "target" | "target-file" => plan.targets.extend(found),
            _ => plan.excludes.extend(found),
        }
    }
    for (_, text) in args.iter().filter(|(name, _)| *name == "replace") {
        // Messages show the text of such an address, without a location.
        let file = Sources::new().add(SourceFile::new("<replace>", text.as_bytes()));
        match AbsResourceInstance::parse_text(file, text) {
            Ok(addr) if addr.resource.mode != ResourceMode::Managed => {
                problems.push(diagnostics::invalid_replace(text, "Only managed resources can be replaced."));
            }
            Ok(addr) => plan.force_replace.push(addr),
            Err(found) => {
                let reasons: Vec<_> = found.iter().map(|problem| problem.explanation().to_string()).collect();
                problems.push(diagnostics::invalid_replace(text, &reasons.join(" ")));
            }
        }
    }
    InvalidFlags { problems, sources }
}

/// Addresses from a file.
fn read_file(files: &dyn Files, path: &str, flag: &str, sources: &mut Sources) -> (Vec<Target>, Diagnostics) {
    match files.read(path) {
        Ok(bytes) => {
            let file = sources.add(SourceFile::new(path, bytes.clone()));
            parse_file(file, &bytes)
        }
        Err(error) => (Vec::new(), diagnostics::target_file_unreadable(flag, path, &error).into()),
    }
}
