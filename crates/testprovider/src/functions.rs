//! Functions of the provider. Some exist only when it is configured.

use std::collections::BTreeMap;

use yuba_plugin::wire::{CallFunctionRequest, CallFunctionResponse, Function, FunctionError, Parameter, Return};
use yuba_value::{Type, Value};

use crate::provider::{Testing, decode};
use crate::wire_schema::type_bytes;

fn function(summary: &str, parameters: Vec<Parameter>, result: &Type) -> Function {
    let result = Some(Return { r#type: type_bytes(result) });
    let description = format!("{summary}.");
    Function { parameters, r#return: result, summary: summary.into(), description, ..Function::default() }
}

fn parameter(name: &str, ty: &Type) -> Parameter {
    Parameter { name: name.into(), r#type: type_bytes(ty), ..Parameter::default() }
}

/// Functions that exist without a configuration.
pub(crate) fn always() -> BTreeMap<String, Function> {
    let text = Type::string();
    let mut joined = function("Texts with something in between", vec![parameter("separator", &text)], &text);
    joined.variadic_parameter = Some(parameter("parts", &text));
    let mut echo = function("The same", vec![parameter("value", &Type::dynamic())], &Type::dynamic());
    for parameter in &mut echo.parameters {
        parameter.allow_null_value = true;
        parameter.allow_unknown_values = true;
    }
    BTreeMap::from([
        ("upper".into(), function("A text in capital letters", vec![parameter("text", &text)], &text)),
        ("joined".into(), joined),
        ("echo".into(), echo),
        ("fail".into(), function("An error", vec![parameter("text", &text)], &text)),
    ])
}

impl Testing {
    /// Functions that exist only with a configuration: its name, and its argument.
    pub(crate) fn configured_functions(&self) -> BTreeMap<String, Function> {
        let Some(configuration) = self.configuration() else { return BTreeMap::new() };
        let extra =
            || function("Asked for by the configuration", vec![parameter("text", &Type::string())], &Type::string());
        let extras = configuration.functions.iter().map(|name| (name.clone(), extra()));
        let instance = function("What the configuration is called", Vec::new(), &Type::string());
        extras.chain([("instance".to_owned(), instance)]).collect()
    }

    pub(crate) fn call_function(&self, request: &CallFunctionRequest) -> CallFunctionResponse {
        let failed = |text: String, argument: Option<i64>| CallFunctionResponse {
            result: None,
            error: Some(FunctionError { text, function_argument: argument }),
        };
        match self.result(request) {
            Ok((value, ty)) => match self.encode(&value, &ty) {
                Ok(result) => CallFunctionResponse { result: Some(result), error: None },
                Err(problem) => failed(problem.detail, None),
            },
            Err((text, argument)) => failed(text, argument),
        }
    }

    fn result(&self, request: &CallFunctionRequest) -> Result<(Value, Type), (String, Option<i64>)> {
        let argument = |index: usize, ty: &Type| {
            let decoded = decode(request.arguments.get(index), ty);
            decoded.map_err(|problem| (problem.detail, i64::try_from(index).ok()))
        };
        let text = |index| argument(index, &Type::string()).map(|value| value.as_str().cloned().unwrap_or_default());
        let instance = self.configuration().map(|configuration| configuration.instance.clone());
        let answer = match request.name.as_str() {
            "upper" => text(0)?.to_uppercase(),
            "joined" => {
                let parts = (1..request.arguments.len()).map(text).collect::<Result<Vec<_>, _>>()?;
                parts.join(text(0)?.as_str()).into()
            }
            "echo" => return Ok((argument(0, &Type::dynamic())?, Type::dynamic())),
            "fail" => return Err((format!("It fails as asked: {}.", text(0)?), Some(0))),
            "instance" => match instance {
                Some(instance) => instance.into(),
                None => return Err(("There is no configuration to know a name from.".into(), None)),
            },
            name if self.configured_functions().contains_key(name) => {
                format!("{name} of {}: {}", instance.unwrap_or_default(), text(0)?).into()
            }
            name => return Err((format!("There is no function {name}."), None)),
        };
        Ok((Value::string(answer), Type::string()))
    }
}
