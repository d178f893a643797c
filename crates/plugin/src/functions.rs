//! Functions of providers: their signatures, and calls.

use std::collections::BTreeMap;

use ecow::{EcoString, eco_format};
use yuba_value::function::{FunctionError, Param, Signature};
use yuba_value::{Type, Value, json};

use crate::values;
use crate::wire::{self, DynamicValue};

/// Signatures by name. The error is part of a sentence.
pub(crate) fn signatures(
    functions: BTreeMap<String, wire::Function>,
) -> Result<BTreeMap<EcoString, Signature>, EcoString> {
    functions
        .into_iter()
        .map(|(name, function)| {
            let signature =
                signature(&name, function).map_err(|reason| eco_format!("in the function {name:?} {reason}"))?;
            Ok((name.into(), signature))
        })
        .collect()
}

fn signature(name: &str, function: wire::Function) -> Result<Signature, EcoString> {
    let params = function.parameters.into_iter().map(param).collect::<Result<Vec<Param>, EcoString>>()?;
    let result = type_of(&function.r#return.unwrap_or_default().r#type)
        .map_err(|reason| eco_format!("the type of the result {reason}"))?;
    Ok(Signature {
        summary: function.summary.into(),
        variadic: function.variadic_parameter.map(param).transpose()?,
        never_null: false,
        elementwise_marks: false,
        ..Signature::new(name.to_owned(), function.description, params, result)
    })
}

fn param(param: wire::Parameter) -> Result<Param, EcoString> {
    let ty =
        type_of(&param.r#type).map_err(|reason| eco_format!("the type of the parameter {:?} {reason}", param.name))?;
    let mut found = Param::new(param.name, ty, param.description);
    found.allow_null = param.allow_null_value;
    found.allow_unknown = param.allow_unknown_values;
    Ok(found)
}

/// A type from JSON. The error is part of a sentence about it.
pub(crate) fn type_of(text: &[u8]) -> Result<Type, EcoString> {
    json::decode_type(text).map_err(|error| eco_format!("is not a type: {error}"))
}

/// The arguments for the wire; none if the result is unknown because an argument is.
pub(crate) fn arguments(signature: &Signature, args: &[Value]) -> Result<Option<Vec<DynamicValue>>, FunctionError> {
    if args.len() < signature.params.len() {
        let needed = signature.params.len();
        return Err(FunctionError::new(eco_format!("takes {needed} arguments, and {} are given", args.len())));
    }
    let mut sent = Vec::with_capacity(args.len());
    for (at, arg) in args.iter().enumerate() {
        let param = signature.params.get(at).or(signature.variadic.as_ref());
        let Some(param) = param else { return Err(FunctionError::arg(at, "there are too many arguments")) };
        // Not only as a whole: the provider must not see anything unknown inside either.
        if !param.allow_unknown && !arg.is_wholly_known() {
            return Ok(None);
        }
        if arg.is_null() && !param.allow_null {
            return Err(FunctionError::arg(at, "argument must not be null"));
        }
        sent.push(values::encode(arg, &param.ty).map_err(|reason| FunctionError::arg(at, reason))?);
    }
    Ok(Some(sent))
}

/// Error of a provider about a call.
pub(crate) fn error(error: wire::FunctionError) -> FunctionError {
    match error.function_argument.and_then(|at| usize::try_from(at).ok()) {
        Some(at) => FunctionError::arg(at, error.text),
        None => FunctionError::new(error.text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameter(name: &str, ty: &'static str, allow_null: bool, allow_unknown: bool) -> wire::Parameter {
        wire::Parameter {
            name: name.into(),
            r#type: ty.into(),
            allow_null_value: allow_null,
            allow_unknown_values: allow_unknown,
            ..wire::Parameter::default()
        }
    }

    #[test]
    fn arguments_are_checked_before_they_are_sent() {
        let function = wire::Function {
            parameters: vec![parameter("a", r#"["list","string"]"#, false, false)],
            variadic_parameter: Some(parameter("more", r#""dynamic""#, true, true)),
            r#return: Some(wire::Return { r#type: r#""bool""#.into() }),
            ..wire::Function::default()
        };
        let found = signatures(BTreeMap::from([("f".to_owned(), function)])).expect("because it is valid");
        let found = &found["f"];
        assert_eq!((found.result.clone(), found.params.len()), (Type::bool(), 1));
        let list = |items| Value::list(Type::string(), items);
        let text = Value::string("x");
        let unknown = Value::unknown(Type::string());
        let count = |args: &[Value]| match arguments(found, args) {
            Ok(Some(sent)) => format!("{} sent", sent.len()),
            Ok(None) => "unknown".to_owned(),
            Err(error) => format!("{:?} {error}", error.arg),
        };
        assert_eq!(count(&[]), "None takes 1 arguments, and 0 are given");
        assert_eq!(count(&[list(vec![text.clone()])]), "1 sent");
        assert_eq!(count(&[list(vec![unknown.clone()])]), "unknown");
        assert_eq!(count(&[Value::null(Type::list(Type::string()))]), "Some(0) argument must not be null");
        assert_eq!(count(&[list(vec![text]), Value::null(Type::string()), unknown]), "3 sent");
    }

    #[test]
    fn invalid_descriptions_are_reported() {
        let bad =
            wire::Function { parameters: vec![parameter("p", "nonsense", false, false)], ..wire::Function::default() };
        let problem = signatures(BTreeMap::from([("f".to_owned(), bad)])).err().unwrap_or_default();
        assert!(
            problem.starts_with("in the function \"f\" the type of the parameter \"p\" is not a type: "),
            "{problem}"
        );
    }
}
