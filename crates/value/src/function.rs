//! Functions, and the one dispatcher that handles null, unknown and marked arguments for all of them.

use std::borrow::Cow;
use std::fmt;

use ecow::EcoString;

use crate::{Marks, Path, Type, Value, convert};

/// A text about a function: a literal of the sources, or a text from a provider.
pub type Text = Cow<'static, str>;

/// The interface of a function: one row of the table that evaluation, completion and `metadata functions` share.
#[derive(Clone, Debug)]
pub struct Signature {
    /// Name without namespace.
    pub name: Text,
    /// One line for people, where it is not the description itself.
    pub summary: Text,
    /// One or two sentences for people.
    pub description: Text,
    /// The parameters that must be given.
    pub params: Vec<Param>,
    /// The parameter that takes all further arguments.
    pub variadic: Option<Param>,
    /// Facts about the result's type before the arguments are known.
    pub result: Type,
    /// The result is never null (and an unknown result says so).
    pub never_null: bool,
    /// Marks inside the arguments stay on the same elements of the result, so an unknown result has only the arguments' own.
    pub elementwise_marks: bool,
}

/// One parameter, and which special values its function wants to see itself.
#[derive(Clone, Debug)]
pub struct Param {
    /// Name for help and error messages.
    pub name: Text,
    /// One sentence for people.
    pub description: Text,
    /// The type arguments are converted to.
    pub ty: Type,
    /// Null reaches the function; otherwise it is an error.
    pub allow_null: bool,
    /// An unknown value reaches the function; otherwise the result is unknown.
    pub allow_unknown: bool,
    /// A value of unknown type reaches the function; otherwise the result is unknown.
    pub allow_dynamic: bool,
    /// Marks reach the function; otherwise they are moved from the argument to the result.
    pub allow_marked: bool,
}

impl Signature {
    /// A function without variadic parameter, whose result is never null.
    pub fn new(name: impl Into<Text>, description: impl Into<Text>, params: Vec<Param>, result: Type) -> Signature {
        let (name, description) = (name.into(), description.into());
        Signature {
            name,
            summary: Text::default(),
            description,
            params,
            variadic: None,
            result,
            never_null: true,
            elementwise_marks: false,
        }
    }
}

impl Param {
    /// A parameter for which the dispatcher handles every special value.
    pub fn new(name: impl Into<Text>, ty: Type, description: impl Into<Text>) -> Param {
        Param {
            name: name.into(),
            description: description.into(),
            ty,
            allow_null: false,
            allow_unknown: false,
            allow_dynamic: false,
            allow_marked: false,
        }
    }
    /// Null reaches the function.
    #[must_use]
    pub fn null(mut self) -> Param {
        self.allow_null = true;
        self
    }
    /// Unknown values reach the function.
    #[must_use]
    pub fn unknown(mut self) -> Param {
        self.allow_unknown = true;
        self
    }
    /// Values of unknown type reach the function.
    #[must_use]
    pub fn dynamic(mut self) -> Param {
        self.allow_dynamic = true;
        self
    }
    /// Marks reach the function.
    #[must_use]
    pub fn marked(mut self) -> Param {
        self.allow_marked = true;
        self
    }
}

/// The text of a [`FunctionError`], by what it can contain. The dispatcher shows a private one only where no argument is marked.
#[derive(Clone, Debug)]
pub enum Reason {
    /// A literal of the sources.
    Fixed(&'static str),
    /// Composed of types, positions, counts and limits, or of values that were redacted one by one.
    Open(EcoString),
    /// Composed of argument values, or of unknown origin.
    Private {
        /// The whole text.
        text: EcoString,
        /// The part that can be shown when an argument is marked.
        open: Option<EcoString>,
    },
    /// The call exceeds the limit of nested templates. Contains no argument values.
    TemplateLimit(EcoString),
}

impl Reason {
    /// A text without argument values.
    pub fn open(text: impl Into<EcoString>) -> Reason {
        Reason::Open(text.into())
    }
    fn text(&self) -> &str {
        match self {
            Reason::Fixed(text) => text,
            Reason::Open(text) | Reason::Private { text, .. } | Reason::TemplateLimit(text) => text,
        }
    }
    /// The part that can be shown beside arguments with these marks.
    fn withheld(self, marks: &Marks) -> Reason {
        let kind = match (marks.has_ephemeral(), marks.has_sensitive()) {
            (false, false) => return self,
            (true, true) => "an ephemeral sensitive",
            (true, false) => "an ephemeral",
            (false, true) => "a sensitive",
        };
        match self {
            Reason::Private { open, .. } => {
                let open = open.map(|text| ecow::eco_format!("{text}; ")).unwrap_or_default();
                Reason::Open(ecow::eco_format!("{open}the details are hidden because the call has {kind} argument"))
            }
            shown => shown,
        }
    }
}
impl From<&'static str> for Reason {
    fn from(text: &'static str) -> Reason {
        Reason::Fixed(text)
    }
}
impl From<EcoString> for Reason {
    fn from(text: EcoString) -> Reason {
        Reason::Private { text, open: None }
    }
}
impl From<String> for Reason {
    fn from(text: String) -> Reason {
        Reason::Private { text: text.into(), open: None }
    }
}

/// Reason why a call failed: about one argument, or about the call as a whole.
#[derive(Clone, Debug)]
pub struct FunctionError {
    /// Index of the argument that is to blame.
    pub arg: Option<usize>,
    /// Path in that argument.
    pub path: Path,
    /// The error, a sentence part without capital and full stop.
    reason: Reason,
}

impl FunctionError {
    /// The call as a whole failed.
    #[cold]
    pub fn new(reason: impl Into<Reason>) -> FunctionError {
        FunctionError { arg: None, path: Path::new(), reason: reason.into() }
    }
    /// One argument is to blame.
    #[cold]
    pub fn arg(index: usize, reason: impl Into<Reason>) -> FunctionError {
        FunctionError { arg: Some(index), path: Path::new(), reason: reason.into() }
    }
    /// Something inside one argument is to blame.
    #[cold]
    pub fn arg_path(index: usize, path: Path, reason: impl Into<Reason>) -> FunctionError {
        FunctionError { arg: Some(index), path, reason: reason.into() }
    }
    /// The error, a sentence part without capital and full stop.
    pub fn message(&self) -> &str {
        self.reason.text()
    }
    /// Whether the call exceeds the limit of nested templates.
    pub fn is_template_limit(&self) -> bool {
        matches!(self.reason, Reason::TemplateLimit(_))
    }
    /// The error as it can be shown where arguments have these marks: without any of their values.
    #[must_use]
    pub fn withheld(self, marks: &Marks) -> FunctionError {
        match marks.has_ephemeral() || marks.has_sensitive() {
            true => FunctionError { reason: self.reason.withheld(marks), path: Path::new(), ..self },
            false => self,
        }
    }
}
impl fmt::Display for FunctionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}
impl std::error::Error for FunctionError {}

/// The result of a function.
pub type Result<T = Value> = std::result::Result<T, FunctionError>;

/// Computes the type of the result from the arguments (which may be unknown here, whatever the parameters say).
pub type ResultType = fn(&[Value]) -> Result<Type>;

/// Body of a function. The second argument is the promised type.
pub type FunctionBody = fn(&[Value], &Type) -> Result;

/// A pure function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its interface.
    pub signature: Signature,
    /// Finds the result's type; `None` where it is always `signature.result`.
    pub result_type: Option<ResultType>,
    /// Does the work.
    pub body: FunctionBody,
}

impl Function {
    /// A function whose result always has the same type.
    pub fn new(
        name: &'static str,
        description: &'static str,
        params: impl Into<Vec<Param>>,
        result: Type,
        body: FunctionBody,
    ) -> Function {
        let params = params.into();
        let signature = Signature::new(name, description, params, result);
        Function { signature, result_type: None, body }
    }
    /// The parameter that takes all further arguments.
    #[must_use]
    pub fn variadic(mut self, param: Param) -> Function {
        self.signature.variadic = Some(param);
        self
    }
    /// The result's type depends on the arguments. `signature.result` stays the type shown to people.
    #[must_use]
    pub fn typed(mut self, result_type: ResultType) -> Function {
        self.result_type = Some(result_type);
        self
    }
    /// The result may be null.
    #[must_use]
    pub fn nullable(mut self) -> Function {
        self.signature.never_null = false;
        self
    }
    /// Marks inside the arguments stay on the same elements of the result.
    #[must_use]
    pub fn elementwise(mut self) -> Function {
        self.signature.elementwise_marks = true;
        self
    }
    /// Calls the function. Arguments must have been converted to the parameters' types.
    pub fn call(&self, args: &[Value]) -> Result {
        let fixed = |_: &[Value]| Ok(self.signature.result.clone());
        match self.result_type {
            Some(result_type) => call(&self.signature, args, result_type, self.body),
            None => call(&self.signature, args, fixed, self.body),
        }
    }
}

/// The dispatcher: checks arguments against the signature, handles special values that the parameters do not accept,
/// moves their marks to the result, refines an unknown result, and removes argument values from errors where an
/// argument is marked.
///
/// Functions that need files or other IO provide closures instead of the function pointers of [`Function`].
pub fn call(
    signature: &Signature,
    args: &[Value],
    result_type: impl FnOnce(&[Value]) -> Result<Type>,
    body: impl FnOnce(&[Value], &Type) -> Result,
) -> Result {
    dispatch(signature, args, result_type, body).map_err(|error| error.withheld(&marks_of(args)))
}

/// All marks of the arguments and of everything inside them.
fn marks_of(args: &[Value]) -> Marks {
    args.iter().fold(Marks::NONE, |all, arg| all.union(&arg.marks_deep()))
}

/// The marks of an unknown result. The function does not get to see the marks that its parameters accept, so the result
/// as a whole gets all marks that it may have.
fn kept_marks(signature: &Signature, args: &[Value]) -> Marks {
    match signature.elementwise_marks {
        true => args.iter().fold(Marks::NONE, |all, arg| all.union(arg.marks())),
        false => marks_of(args),
    }
}

fn dispatch(
    signature: &Signature,
    args: &[Value],
    result_type: impl FnOnce(&[Value]) -> Result<Type>,
    body: impl FnOnce(&[Value], &Type) -> Result,
) -> Result {
    check_count(signature, args.len())?;
    let mut args = Cow::Borrowed(args);
    let mut marks = Marks::NONE;
    let mut unknown = false;
    let mut untyped = false;
    for index in 0..args.len() {
        let Some(param) = signature.params.get(index).or(signature.variadic.as_ref()) else { break };
        if !param.allow_marked && !args[index].is_deeply_unmarked() {
            let (value, found) = args[index].unmark_deep();
            args.to_mut()[index] = value;
            marks = marks.union(&found);
        }
        if untyped {
            // After an argument of unknown type, further arguments only add their marks.
            continue;
        }
        let value = &args[index];
        if value.is_null() && !param.allow_null {
            return Err(FunctionError::arg(index, "argument must not be null"));
        }
        if value.is_untyped() {
            untyped = !param.allow_dynamic;
        } else if !param.ty.is_dynamic()
            && let Some(message) = convert::conformance_error(value.ty(), &param.ty)
        {
            return Err(FunctionError::arg(index, Reason::Open(message)));
        }
        unknown |= !value.is_known() && !param.allow_unknown;
    }
    if untyped {
        return Ok(Value::unknown_dynamic().with_marks(&marks.union(&kept_marks(signature, &args))));
    }
    let ty = result_type(&args)?;
    let result = if unknown { Value::unknown(ty).with_marks(&kept_marks(signature, &args)) } else { body(&args, &ty)? };
    let result = if signature.never_null && !result.is_known() && !result.is_untyped() {
        result.refine_not_null()
    } else {
        result
    };
    Ok(result.with_marks(&marks))
}

fn check_count(signature: &Signature, given: usize) -> Result<()> {
    let required = signature.params.len();
    match &signature.variadic {
        None if given != required => {
            let message = ecow::eco_format!("wrong number of arguments ({required} required; {given} given)");
            Err(FunctionError::new(Reason::Open(message)))
        }
        Some(_) if given < required => {
            let message = ecow::eco_format!("wrong number of arguments (at least {required} required; {given} given)");
            Err(FunctionError::new(Reason::Open(message)))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::Mark;

    #[test]
    fn the_dispatcher_handles_special_values() {
        let text = |name| Param::new(name, Type::string(), "");
        let function =
            Function::new("first", "", [text("a"), text("b")], Type::string(), |args, _| Ok(args[0].clone()))
                .variadic(text("more"));
        let (a, null, unknown) = (Value::string("a"), Value::null(Type::string()), Value::unknown(Type::string()));
        let ephemeral = a.mark(Mark::Ephemeral);
        let calls = [
            vec![a.clone()],
            vec![a.clone(), ephemeral.clone()],
            vec![a.clone(), null.clone()],
            vec![a.clone(), a.clone(), null.clone()],
            vec![unknown.clone(), null.clone()],
            vec![Value::unknown_dynamic(), null, ephemeral.clone()],
            vec![unknown, ephemeral],
            vec![a.clone(), Value::int(1)],
            vec![a.clone(), a],
        ];
        let answers: String = calls
            .iter()
            .map(|args| match function.call(args) {
                Ok(value) => format!("{args:?}: {value:?}\n"),
                Err(error) => format!("{args:?}: error {:?}: {error}\n", error.arg),
            })
            .collect();
        expect![[r#"
            ["a"]: error None: wrong number of arguments (at least 2 required; 1 given)
            ["a", ephemeral:"a"]: ephemeral:"a"
            ["a", null(string)]: error Some(1): argument must not be null
            ["a", "a", null(string)]: error Some(2): argument must not be null
            [unknown(string), null(string)]: error Some(1): argument must not be null
            [unknown(any), null(string), ephemeral:"a"]: ephemeral:unknown(any)
            [unknown(string), ephemeral:"a"]: ephemeral:unknown(string)!
            ["a", 1]: error Some(1): string required, but this is number
            ["a", "a"]: "a"
        "#]]
        .assert_eq(&answers);
    }
}
