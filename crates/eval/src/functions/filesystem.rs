//! Functions that read files and paths.

use std::io;

use yuba_value::function::{FunctionError, Param, Reason, Result};
use yuba_value::functions::crypto::{BASE64, HEX, Hash, TextOf};
use yuba_value::functions::path;
use yuba_value::{EcoString, Marks, Type, Value, eco_format};

use super::glob::{self, GlobError};
use super::{CallContext, WorldBody, WorldFunction};
use crate::world::FileKind;

/// The functions of this family.
pub(crate) fn functions() -> Vec<WorldFunction> {
    let file =
        || Param::new("path", Type::string(), "The path of the file; a relative one starts at the module's directory.");
    let path = || Param::new("path", Type::string(), "The path.");
    let hash =
        |name, description, body: WorldBody| WorldFunction::new(name, description, [file()], Type::string(), body);
    vec![
        WorldFunction::new("abspath", "Makes a path absolute.", [path()], Type::string(), |context, args, _| {
            let path = argument(args, 0);
            let working_dir = || {
                context.world.working_dir().map_err(|problem| {
                    FunctionError::new(eco_format!("the working directory cannot be found: {problem}"))
                })
            };
            let full = if path.starts_with('/') { path::clean(path) } else { path::join(&working_dir()?, path) };
            Ok(Value::string(full))
        }),
        WorldFunction::new(
            "pathexpand",
            "Replaces `~` at the start of a path by the home directory.",
            [path()],
            Type::string(),
            |context, args, _| Ok(Value::string(expand_home(context, argument(args, 0)).map_err(FunctionError::new)?)),
        ),
        WorldFunction::new(
            "file",
            "Returns the content of a UTF-8 file.",
            [file().marked()],
            Type::string(),
            |context, args, _| {
                let (path, marks, content) = read_marked(context, &args[0])?;
                let text = String::from_utf8(content).map_err(|_| FunctionError::new(Reason::open(eco_format!(
                "the content of {} is not valid UTF-8; `filebase64` reads any file, and `filesha256` and its like hash it",
                marks.redact(&path)
            ))))?;
                Ok(Value::string(text).with_marks(&marks))
            },
        ),
        WorldFunction::new(
            "filebase64",
            "Returns the bytes of a file in Base64.",
            [file().marked()],
            Type::string(),
            |context, args, _| {
                let (_, marks, content) = read_marked(context, &args[0])?;
                Ok(Value::string(BASE64(&content)).with_marks(&marks))
            },
        ),
        WorldFunction::new(
            "fileexists",
            "Returns whether a file exists at a path.",
            [file().marked()],
            Type::bool(),
            file_exists,
        ),
        WorldFunction::new(
            "fileset",
            "Returns the paths of all files below a directory that match a pattern.",
            [
                Param::new("path", Type::string(), "The directory; a relative one starts at the module's directory.")
                    .marked(),
                Param::new(
                    "pattern",
                    Type::string(),
                    "The pattern: `*`, `?`, `[a-z]`, `{a,b}`, and `**` for any directories.",
                )
                .marked(),
            ],
            Type::set(Type::string()),
            file_set,
        ),
        hash("filebase64sha256", "Returns the SHA256 hash of a file, in Base64.", |c, a, _| {
            digest(c, a, Hash::Sha256, BASE64)
        }),
        hash("filebase64sha512", "Returns the SHA512 hash of a file, in Base64.", |c, a, _| {
            digest(c, a, Hash::Sha512, BASE64)
        }),
        hash("filemd5", "Returns the MD5 hash of a file, in hexadecimal digits.", |c, a, _| {
            digest(c, a, Hash::Md5, HEX)
        }),
        hash("filesha1", "Returns the SHA1 hash of a file, in hexadecimal digits.", |c, a, _| {
            digest(c, a, Hash::Sha1, HEX)
        }),
        hash("filesha256", "Returns the SHA256 hash of a file, in hexadecimal digits.", |c, a, _| {
            digest(c, a, Hash::Sha256, HEX)
        }),
        hash("filesha512", "Returns the SHA512 hash of a file, in hexadecimal digits.", |c, a, _| {
            digest(c, a, Hash::Sha512, HEX)
        }),
    ]
}

fn argument(args: &[Value], index: usize) -> &str {
    args.get(index).and_then(Value::as_str).map_or("", EcoString::as_str)
}

/// Replaces a leading `~`.
fn expand_home(context: &CallContext<'_>, path: &str) -> std::result::Result<String, EcoString> {
    let Some(rest) = path.strip_prefix('~') else { return Ok(path.to_owned()) };
    if !rest.is_empty() && !rest.starts_with(['/', '\\']) {
        return Err("`~` can only stand for your own home directory, not for that of a named user".into());
    }
    let home =
        context.world.home_dir().map_err(|problem| eco_format!("the home directory cannot be found: {problem}"))?;
    Ok(path::join(&home, rest))
}

/// The path of a file an expression asks for, in terms of the working directory.
pub(crate) fn resolve(context: &CallContext<'_>, path: &str) -> std::result::Result<String, EcoString> {
    let path = expand_home(context, path)?;
    Ok(if path.starts_with('/') { path::clean(&path) } else { path::join(context.base_dir, &path) })
}

/// Reads a file whose path may be a secret.
pub(crate) fn read(context: &CallContext<'_>, path: &str, marks: &Marks) -> std::result::Result<Vec<u8>, EcoString> {
    let resolved = resolve(context, path)?;
    context.world.read(&resolved).map_err(|problem| unreadable(path, marks, &problem))
}

fn unreadable(path: &str, marks: &Marks, problem: &io::Error) -> EcoString {
    match problem.kind() {
        io::ErrorKind::NotFound => eco_format!(
            "no file exists at {}; files must exist before the configuration is evaluated, so if a resource of this \
             configuration writes the file, refer to an attribute of that resource instead",
            marks.redact(path)
        ),
        io::ErrorKind::IsADirectory => eco_format!("{} is a directory, not a file", marks.redact(path)),
        _ if marks.has_sensitive() || marks.has_ephemeral() => eco_format!("{} cannot be read", marks.redact(path)),
        _ => eco_format!("{path:?} cannot be read: {problem}"),
    }
}

fn read_marked(context: &CallContext<'_>, path: &Value) -> Result<(EcoString, Marks, Vec<u8>)> {
    let (path, marks) = path.unmark();
    let path = path.as_str().cloned().unwrap_or_default();
    let content = read(context, &path, &marks).map_err(|problem| FunctionError::arg(0, Reason::Open(problem)))?;
    Ok((path, marks, content))
}

fn digest(context: &CallContext<'_>, args: &[Value], hash: Hash, text_of: TextOf) -> Result {
    let path = argument(args, 0);
    let resolved = resolve(context, path).map_err(FunctionError::new)?;
    let mut hasher = hash.start();
    context
        .world
        .read_parts(&resolved, &mut |part| hasher.update(part))
        .map_err(|problem| FunctionError::new(unreadable(path, &Marks::NONE, &problem)))?;
    Ok(Value::string(text_of(&hasher.finish())))
}

fn file_exists(context: &CallContext<'_>, args: &[Value], _: &Type) -> Result {
    let (path, marks) = args[0].unmark();
    let path = resolve(context, path.as_str().map_or("", EcoString::as_str)).map_err(FunctionError::new)?;
    let what = match context.world.kind(&path) {
        Ok(FileKind::File) => return Ok(Value::bool(true).with_marks(&marks)),
        Err(problem) if problem.kind() == io::ErrorKind::NotFound => return Ok(Value::bool(false).with_marks(&marks)),
        Err(_) => {
            return Err(FunctionError::new(Reason::open(eco_format!(
                "the type of {} cannot be determined",
                marks.redact(&path)
            ))));
        }
        Ok(FileKind::Directory) => "a directory",
        Ok(FileKind::Device) => "a device node",
        Ok(FileKind::Pipe) => "a named pipe",
        Ok(FileKind::Socket) => "a unix domain socket",
        Ok(FileKind::Link | FileKind::Other) => "something else",
    };
    // Quirk: this blames the call, not its argument.
    Err(FunctionError::new(Reason::open(eco_format!("{} is {what}, not a regular file", marks.redact(&path)))))
}

fn file_set(context: &CallContext<'_>, args: &[Value], _: &Type) -> Result {
    let (dir, dir_marks) = args[0].unmark();
    let (pattern, pattern_marks) = args[1].unmark();
    let marks = dir_marks.union(&pattern_marks);
    let dir = dir.as_str().map_or("", EcoString::as_str);
    let dir = if dir.starts_with('/') { dir.to_owned() } else { path::join(context.base_dir, dir) };
    let pattern = path::join(&dir, pattern.as_str().map_or("", EcoString::as_str));
    let found = glob::find(context.world, &pattern).map_err(|problem| {
        FunctionError::new(Reason::Open(match problem {
            GlobError::BadPattern => eco_format!("the pattern {} is not valid", marks.redact(&pattern)),
            GlobError::TooMuch => eco_format!("the pattern {} matches too many files", marks.redact(&pattern)),
        }))
    })?;
    let mut files = Vec::new();
    for file in found {
        match context.world.kind(&file) {
            Ok(FileKind::File) => {}
            Ok(_) => continue,
            Err(_) => {
                return Err(FunctionError::new(Reason::open(eco_format!(
                    "the type of {} cannot be determined",
                    marks.redact(&file)
                ))));
            }
        }
        let Some(file) = path::relative(&dir, &file) else {
            return Err(FunctionError::new(Reason::open(eco_format!(
                "there is no path from {} to {}",
                marks.redact(&dir),
                marks.redact(&file)
            ))));
        };
        files.push(Value::string(file));
    }
    Ok(Value::set(Type::string(), files).with_marks(&marks))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::FunctionTable;
    use crate::world::MemoryWorld;

    fn check(name: &str, args: &[Value], expect: &str) {
        let world = MemoryWorld::new()
            .with_file("a.txt", "hello")
            .with_file("sub/b.txt", "b")
            .with_file("bin", [0xff])
            .with_file("/home/user/h", "home");
        let context = CallContext {
            world: &world,
            base_dir: ".",
            plan_time: None,
            pure_only: false,
            functions: FunctionTable::module(),
            others: None,
            template_depth: 0,
            sources: None,
            symbols: None,
        };
        let table = functions();
        let function = table.iter().find(|f| f.signature.name == name).expect("it is in the table");
        let text = match function.call(&context, args) {
            Ok(value) => format!("{value:?}"),
            Err(error) => format!("{:?} {}", error.arg, error.message()),
        };
        assert_eq!(text, expect, "{name} {args:?}");
    }
    fn text(text: &str) -> Value {
        Value::string(text)
    }

    #[test]
    fn contents() {
        check("file", &[text("./sub/../a.txt")], "\"hello\"");
        check("file", &[text("~/h")], "\"home\"");
        check("filebase64", &[text("bin")], "\"/w==\"");
        check("filemd5", &[text("a.txt")], "\"5d41402abc4b2a76b9719d911017c592\"");
        check("filesha1", &[text("sub")], "None \"sub\" is a directory, not a file");
        check("fileexists", &[text("/work/a.txt")], "true");
        check("fileexists", &[text("nope")], "false");
        check("fileexists", &[text("sub")], "None \"sub\" is a directory, not a regular file");
        check(
            "file",
            &[text("bin")],
            "None the content of \"bin\" is not valid UTF-8; `filebase64` reads any file, and `filesha256` and its like hash it",
        );
        let secret = text("sub").mark(yuba_value::Mark::Sensitive);
        check("file", &[secret], "Some(0) (sensitive value) is a directory, not a file");
    }

    #[test]
    fn paths() {
        check("abspath", &[text("x/../y")], "\"/work/y\"");
        check("abspath", &[text("")], "\"/work\"");
        check("pathexpand", &[text("~")], "\"/home/user\"");
        check("pathexpand", &[text("a~")], "\"a~\"");
        check(
            "pathexpand",
            &[text("~other")],
            "None `~` can only stand for your own home directory, not for that of a named user",
        );
    }
}
