//! `-format=github`: diagnostics as annotations of a pull request, beside the text.

use std::path::{Path, PathBuf};

use yuba_net::Environment;
use yuba_view::annotations::RepositoryPath;

use crate::diagnostics;
use crate::exit::Failure;
use crate::flags::{Args, Flag};

/// `-format`
pub(crate) const FORMAT: Flag = Flag::text(
    "format",
    "github",
    "With \"github\", write diagnostics as workflow commands too, so that GitHub shows them at their lines in a pull request.",
);

/// Variables with the root of the repository in pipelines.
const ROOTS: [&str; 2] = ["GITHUB_WORKSPACE", "CI_PROJECT_DIR"];

/// The path for annotations, if they are requested.
pub(crate) fn resolve(args: &Args) -> Result<Option<RepositoryPath>, Failure> {
    let format = if args.table_has(FORMAT.name) { args.non_empty(FORMAT.name) } else { None };
    match format {
        None | Some("text") => Ok(None),
        Some("github") if args.table_has("json") && args.is_on("json") => {
            Err(Failure::usage(diagnostics::annotations_with_json()))
        }
        Some("github") => Ok(Some(repository_path(args.hosts.environment()))),
        Some(other) => Err(Failure::usage(diagnostics::unknown_format(other))),
    }
}

/// The path of a directory in its repository: below the root that a pipeline names, or below the closest directory with `.git`. None
/// outside of repositories.
pub(crate) fn path_in_repository(environment: &Environment, dir: &Path) -> Option<String> {
    let of_pipeline = ROOTS.iter().find_map(|name| environment.get(name)).map(PathBuf::from);
    let inside = of_pipeline.and_then(|root| relative(&root, dir));
    inside.or_else(|| relative(dir.ancestors().find(|above| above.join(".git").exists())?, dir))
}

/// The working directory, relative to the root of the repository in a pipeline. Empty elsewhere.
pub(crate) fn repository_path(environment: &Environment) -> RepositoryPath {
    let root = ROOTS.iter().find_map(|name| environment.get(name)).map(PathBuf::from);
    let current = std::env::current_dir().ok();
    let inside = root.zip(current).and_then(|(root, current)| relative(&root, &current));
    RepositoryPath(inside.unwrap_or_default())
}

fn relative(root: &Path, current: &Path) -> Option<String> {
    let whole = |path: &Path| path.canonicalize().ok();
    let inside = whole(current)?.strip_prefix(whole(root)?).ok()?.to_owned();
    Some(inside.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/"))
}
