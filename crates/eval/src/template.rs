//! `templatefile` and `templatestring`: templates that see only the variables they are given.

use ecow::{EcoString, eco_format};
use foldhash::{HashMap, HashMapExt};
use yuba_syntax::lexer::is_identifier;
use yuba_syntax::parser::parse_template;
use yuba_syntax::{Diagnostic, Diagnostics, Expr, SourceFile, Sources, Span, Traversal};
use yuba_value::function::{self, FunctionError, Param, Reason};
use yuba_value::{Type, Value};

use crate::diagnostics::TEMPLATES_NESTED_TOO_DEEPLY;
use crate::expression::{Variables, evaluate};
use crate::functions::{Builtin, CallContext, WorldFunction};
use crate::references::each_traversal;

/// The functions of this family.
pub(crate) fn functions() -> Vec<WorldFunction> {
    let vars = || Param::new("vars", Type::dynamic(), "The template's variables, as an object or map.");
    vec![
        WorldFunction::new(
            "templatefile",
            "Reads a file and renders it as a template.",
            [Param::new("path", Type::string(), "The file, relative to the module's directory.").marked(), vars()],
            Type::dynamic(),
            template_file,
        )
        .nullable(),
        WorldFunction::new(
            "templatestring",
            "Renders a string as a template.",
            [Param::new("data", Type::string(), "The template.").marked(), vars().marked()],
            Type::dynamic(),
            template_string,
        )
        .nullable(),
    ]
}

fn template_file(context: &CallContext<'_>, args: &[Value], _: &Type) -> function::Result {
    let [path, vars] = args else { return Err(FunctionError::new("a path and variables are needed")) };
    let limit = context.world.template_depth_limit().map_err(FunctionError::new)?;
    if i64::from(context.template_depth) > limit {
        return Err(too_deep(limit));
    }
    let Some(Builtin::World(file)) = context.functions.get("file") else {
        return Err(FunctionError::new("files cannot be read here"));
    };
    // The same rules for paths and contents as those of `file`.
    let text = file.call(context, std::slice::from_ref(path))?;
    let name = path.as_str().filter(|_| path.is_deeply_unmarked()).map_or("template", EcoString::as_str);
    let inner = CallContext { template_depth: context.template_depth + 1, ..*context };
    let text = text.as_str().map_or("", EcoString::as_str);
    // The variables come without their marks, so messages about them can contain what was marked.
    let template = Template { name: Some(name), text, messages: Messages::Private };
    Ok(template.render(&inner, vars)?.with_marks(path.marks()))
}

fn template_string(context: &CallContext<'_>, args: &[Value], _: &Type) -> function::Result {
    let [data, vars] = args else { return Err(FunctionError::new("a template and variables are needed")) };
    let text = data.as_str().map_or("", EcoString::as_str);
    let inner = CallContext { template_depth: context.template_depth + 1, ..*context };
    let messages = if data.is_deeply_unmarked() { Messages::Open } else { Messages::Private };
    let template = Template { name: None, text, messages };
    Ok(template.render(&inner, vars)?.with_marks(data.marks()))
}

/// The error of a call beyond the limit. The calls around it fail with the same error.
fn too_deep(limit: i64) -> FunctionError {
    FunctionError::new(Reason::TemplateLimit(eco_format!("templates are nested more than {limit} levels deep")))
}

/// Whether messages about a template can contain marked values.
#[derive(Clone, Copy)]
enum Messages {
    /// They cannot: the template is not marked, and evaluation sees the marks of its variables.
    Open,
    /// They can.
    Private,
}

/// A template to render.
struct Template<'a> {
    /// The name of its file.
    name: Option<&'a str>,
    text: &'a str,
    messages: Messages,
}

impl Template<'_> {
    /// The reason for the problems in the template.
    fn reason(&self, problems: &Diagnostics, sources: &Sources) -> Reason {
        let text =
            problem_text(problems, sources, |first| eco_format!("; {}", first.explanation().trim_end_matches('.')));
        match self.messages {
            Messages::Open => Reason::Open(text),
            Messages::Private => Reason::Private { text, open: Some(problem_text(problems, sources, |_| "".into())) },
        }
    }

    fn render(&self, context: &CallContext<'_>, vars: &Value) -> function::Result {
        let mut sources = Sources::new();
        let file = sources.add(SourceFile::new(self.name.unwrap_or("template"), self.text.as_bytes()));
        let (expr, problems) = parse_template(file, self.text.as_bytes());
        if problems.has_errors() {
            return Err(FunctionError::new(self.reason(&problems, &sources)));
        }
        self.evaluate(context, vars, &expr, &sources)
    }

    fn evaluate(&self, context: &CallContext<'_>, vars: &Value, expr: &Expr, sources: &Sources) -> function::Result {
        if !vars.ty().is_map() && !vars.ty().is_object() {
            return Err(FunctionError::arg(1, "the template's variables must be an object or a map"));
        }
        let marks = vars.marks().clone();
        let mut variables = TemplateVariables { values: HashMap::new() };
        for (key, value) in vars.entries().unwrap_or_default() {
            if !is_identifier(&key) {
                return Err(FunctionError::arg(
                    1,
                    eco_format!(
                        "{key:?} cannot be the name of a template variable: it must start with a letter, and only letters, \
                     digits and underscores may follow"
                    ),
                ));
            }
            variables.values.insert(key, value.with_marks(&marks));
        }
        let mut missing = None;
        each_traversal(expr, &mut |traversal| {
            if missing.is_none() && !variables.values.contains_key(&traversal.root) {
                missing = Some((traversal.root.clone(), traversal.root_span));
            }
        });
        if let Some((root, span)) = missing {
            let location = self.name.and_then(|_| location(Some(sources), span));
            let location = location.map(|p| format!(", which the template uses at {p}")).unwrap_or_default();
            return Err(FunctionError::arg(1, eco_format!("there is no value for {root:?}{location}")));
        }
        let (value, problems) = evaluate(expr, &variables, CallContext { sources: Some(sources), ..*context });
        if problems.has_errors() {
            if problems.iter().any(|problem| problem.is(&TEMPLATES_NESTED_TOO_DEEPLY)) {
                return Err(too_deep(context.world.template_depth_limit().map_err(FunctionError::new)?));
            }
            return Err(FunctionError::new(self.reason(&problems, sources)));
        }
        Ok(value)
    }
}

struct TemplateVariables {
    values: HashMap<EcoString, Value>,
}

impl Variables for TemplateVariables {
    fn get(&self, traversal: &Traversal) -> Option<(Value, usize)> {
        self.values.get(&traversal.root).map(|value| (value.clone(), 0))
    }
    fn names(&self) -> Vec<EcoString> {
        self.values.keys().cloned().collect()
    }
}

/// The first problem with its location and its `details`, and the number of further ones.
fn problem_text(
    problems: &Diagnostics,
    sources: &Sources,
    details: impl FnOnce(&Diagnostic) -> EcoString,
) -> EcoString {
    let mut errors = problems.iter().filter(|d| d.is_error());
    let Some(first) = errors.next() else { return EcoString::new() };
    let location = first.subject.and_then(|span| location(Some(sources), span));
    let location = location.map(|p| format!("{p}: ")).unwrap_or_default();
    let details = details(first);
    let more = match errors.count() {
        0 => String::new(),
        1 => "; and 1 more error".to_owned(),
        n => format!("; and {n} more errors"),
    };
    eco_format!("{location}{}{details}{more}", first.summary)
}

/// `name:line,column-column` or `name:line,column-line,column`
pub(crate) fn location(sources: Option<&Sources>, span: Span) -> Option<String> {
    let file = sources?.get(span.file)?;
    let (start, end) = (file.position(span.start as usize), file.position(span.end as usize));
    Some(match start.line == end.line {
        true => format!("{}:{},{}-{}", file.name, start.line, start.column, end.column),
        false => format!("{}:{},{}-{},{}", file.name, start.line, start.column, end.line, end.column),
    })
}
