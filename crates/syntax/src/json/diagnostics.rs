//! The diagnostics of JSON syntax: titles as OpenTofu's, details in our words.

use ecow::{EcoString, eco_format};

use super::Property;
use crate::body::BodySchema;
use crate::parser::MAX_DEPTH;
use crate::source::Span;
use crate::suggestion::suggest;
use crate::{Diagnostic, diagnostics};

crate::catalogue! {
    /// A file in JSON syntax contains something other than an object or an array of objects.
    JSON_ROOT_NOT_OBJECT = error "json-root-not-object", "Root value must be object";
    /// A JSON value is followed by further data.
    JSON_EXTRA_DATA = error "json-extra-data", "Extraneous data after value";
    /// JSON objects and arrays are nested deeper than the limit.
    JSON_TOO_DEEP = error "json-too-deep", "JSON nested too deeply";
    /// A closing brace stands where a JSON value is required.
    JSON_VALUE_MISSING = error "json-value-missing", "Missing JSON value";
    /// A closing bracket stands where a JSON value is required.
    JSON_ARRAY_ITEM_MISSING = error "json-array-item-missing", "Missing array element value";
    /// The input ends where a JSON value is required.
    JSON_UNEXPECTED_END = error "json-unexpected-end", "Missing value";
    /// A character stands where a JSON value is required, but cannot start one.
    JSON_INVALID_START = error "json-invalid-start", "Invalid start of value";
    /// The name of a JSON property is not a string.
    JSON_INVALID_PROPERTY_NAME = error "json-invalid-property-name", "Invalid object property name";
    /// A JSON property has no value.
    JSON_PROPERTY_VALUE_MISSING = error "json-property-value-missing", "Missing object value";
    /// The name and the value of a JSON property are not separated by a colon.
    JSON_COLON_MISSING = error "json-colon-missing", "Missing property value colon";
    /// A comma follows the last property of a JSON object.
    JSON_TRAILING_COMMA_IN_OBJECT = error "json-trailing-comma-in-object", "Trailing comma in object";
    /// A comma follows the last item of a JSON array.
    JSON_TRAILING_COMMA_IN_ARRAY = error "json-trailing-comma-in-array", "Trailing comma in array";
    /// A JSON object or array is not closed.
    JSON_UNCLOSED = error "json-unclosed", "Unclosed object";
    /// A JSON object is closed with a bracket.
    JSON_OBJECT_CLOSED_WITH_BRACKET = error "json-object-closed-with-bracket", "Mismatched braces";
    /// A JSON array is closed with a brace.
    JSON_ARRAY_CLOSED_WITH_BRACE = error "json-array-closed-with-brace", "Mismatched brackets";
    /// Two properties of a JSON object, or two items of an array, are not separated by a comma.
    JSON_COMMA_MISSING = error "json-comma-missing", "Missing attribute seperator comma";
    /// A JSON array contains a colon.
    JSON_COLON_IN_ARRAY = error "json-colon-in-array", "Invalid array value";
    /// A number does not follow the grammar of JSON.
    JSON_INVALID_NUMBER = error "json-invalid-number", "Invalid JSON number";
    /// A string does not follow the grammar of JSON.
    JSON_INVALID_STRING = error "json-invalid-string", "Invalid JSON string";
    /// A word is not a keyword of JSON.
    JSON_INVALID_KEYWORD = error "json-invalid-keyword", "Invalid JSON keyword";

    /// A JSON property is neither an argument nor a block type of the schema.
    JSON_EXTRANEOUS_PROPERTY = error "json-extraneous-property", "Extraneous JSON object property";
    /// A JSON object that consists of arguments only sets the same argument twice.
    JSON_DUPLICATE_ATTRIBUTE = error "json-duplicate-attribute", "Duplicate attribute definition";
    /// A JSON value has another type than the block or label that it stands for.
    JSON_WRONG_TYPE = error "json-wrong-type", "Incorrect JSON value type";
    /// A block in JSON syntax lacks a label.
    JSON_BLOCK_LABEL_MISSING = error "json-block-label-missing", "Missing block label";
}

// Values.

pub(super) fn root_not_object(at: Span) -> Diagnostic {
    let detail = "A configuration file in JSON syntax must contain one JSON object, or an array of JSON objects.";
    Diagnostic::new(&JSON_ROOT_NOT_OBJECT, detail).at(at)
}

pub(super) fn extra_data(at: Span) -> Diagnostic {
    Diagnostic::new(&JSON_EXTRA_DATA, "The JSON value is complete, but further data follows it.").at(at)
}

pub(super) fn too_deep(at: Span) -> Diagnostic {
    let detail = eco_format!("More than {MAX_DEPTH} JSON objects and arrays are nested here.");
    Diagnostic::new(&JSON_TOO_DEEP, detail).at(at)
}

const VALUE_STARTS: &str = "A JSON value must start with a brace, a bracket, a quote or a digit, or be a keyword.";

pub(super) fn value_missing(at: Span) -> Diagnostic {
    Diagnostic::new(&JSON_VALUE_MISSING, VALUE_STARTS).at(at)
}

pub(super) fn array_item_missing(at: Span) -> Diagnostic {
    Diagnostic::new(&JSON_ARRAY_ITEM_MISSING, VALUE_STARTS).at(at)
}

pub(super) fn unexpected_end(at: Span) -> Diagnostic {
    Diagnostic::new(&JSON_UNEXPECTED_END, "The input ends where a JSON value is required.").at(at)
}

pub(super) fn invalid_start(at: Span) -> Diagnostic {
    Diagnostic::new(&JSON_INVALID_START, VALUE_STARTS).at(at)
}

pub(super) fn invalid_property_name(at: Span) -> Diagnostic {
    Diagnostic::new(&JSON_INVALID_PROPERTY_NAME, "The name of a JSON property must be a string.").at(at)
}

pub(super) fn property_value_missing(at: Span) -> Diagnostic {
    let detail = "A colon and a value are required after the name of a JSON property.";
    Diagnostic::new(&JSON_PROPERTY_VALUE_MISSING, detail).at(at)
}

pub(super) fn equals_instead_of_colon(at: Span) -> Diagnostic {
    let detail = "JSON separates the name and the value of a property with a colon, not with an equals sign.";
    Diagnostic::new(&JSON_COLON_MISSING, detail).at(at)
}

pub(super) fn colon_missing(at: Span) -> Diagnostic {
    let detail = "A colon is required between the name and the value of a JSON property.";
    Diagnostic::new(&JSON_COLON_MISSING, detail).at(at)
}

pub(super) fn trailing_comma_in_object(at: Span) -> Diagnostic {
    Diagnostic::new(&JSON_TRAILING_COMMA_IN_OBJECT, "JSON does not allow a comma after the last property.")
        .hint("Remove the comma.")
        .at(at)
}

pub(super) fn trailing_comma_in_array(at: Span) -> Diagnostic {
    Diagnostic::new(&JSON_TRAILING_COMMA_IN_ARRAY, "JSON does not allow a comma after the last item of an array.")
        .hint("Remove the comma.")
        .at(at)
}

pub(super) fn unclosed_object(at: Span) -> Diagnostic {
    Diagnostic::new(&JSON_UNCLOSED, "The closing brace of this JSON object is missing.").at(at)
}

pub(super) fn unclosed_array(at: Span) -> Diagnostic {
    Diagnostic::new(&JSON_UNCLOSED, "The closing bracket of this JSON array is missing.").at(at)
}

pub(super) fn object_closed_with_bracket(at: Span) -> Diagnostic {
    let detail = "A JSON object must be closed with a brace, not with a bracket.";
    Diagnostic::new(&JSON_OBJECT_CLOSED_WITH_BRACKET, detail).at(at)
}

pub(super) fn array_closed_with_brace(at: Span) -> Diagnostic {
    let detail = "A JSON array must be closed with a bracket, not with a brace.";
    Diagnostic::new(&JSON_ARRAY_CLOSED_WITH_BRACE, detail).at(at)
}

// Quirk: the title is misspelt like this in OpenTofu.
pub(super) fn comma_missing_in_object(at: Span) -> Diagnostic {
    Diagnostic::new(&JSON_COMMA_MISSING, "A comma is required between the properties of a JSON object.").at(at)
}

pub(super) fn comma_missing_in_array(at: Span) -> Diagnostic {
    Diagnostic::new(&JSON_COMMA_MISSING, "A comma is required between the items of a JSON array.").at(at)
}

pub(super) fn colon_in_array(at: Span) -> Diagnostic {
    Diagnostic::new(&JSON_COLON_IN_ARRAY, "The items of a JSON array do not have names or colons.").at(at)
}

pub(super) fn invalid_number(at: Span) -> Diagnostic {
    Diagnostic::new(&JSON_INVALID_NUMBER, "This is not a valid JSON number.").at(at)
}

pub(super) fn invalid_string(at: Span, context: Span) -> Diagnostic {
    Diagnostic::new(&JSON_INVALID_STRING, "This is not a valid JSON string.")
        .hint("Check its quotes and escape sequences.")
        .at(at)
        .within(context)
}

pub(super) fn javascript_keyword(word: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("\"{word}\" is a keyword of JavaScript. JSON does not support it.");
    Diagnostic::new(&JSON_INVALID_KEYWORD, detail).at(at)
}

pub(super) fn unknown_keyword(word: &str, at: Span) -> Diagnostic {
    Diagnostic::new(&JSON_INVALID_KEYWORD, eco_format!("\"{word}\" is not a keyword of JSON."))
        .hint(suggest(word, ["false", "true", "null"]))
        .at(at)
}

// Bodies.

/// `consumed` are the properties that the schema has already matched.
pub(super) fn extraneous_property(property: &Property, schema: &BodySchema, consumed: &[EcoString]) -> Diagnostic {
    let name = &property.name;
    let unset = schema.attributes.iter().map(|a| &a.name).filter(|name| !consumed.contains(name));
    let names = unset.chain(schema.blocks.iter().map(|b| &b.kind)).map(EcoString::as_str);
    let detail = eco_format!("An argument or block type named \"{name}\" is not expected here.");
    Diagnostic::new(&JSON_EXTRANEOUS_PROPERTY, detail)
        .hint(suggest(name, names))
        .at(property.name_span)
        .within(property.name_span)
}

pub(super) fn duplicate_argument(property: &Property, first: Span) -> Diagnostic {
    diagnostics::duplicate_argument(&property.name, property.name_span, first).within(property.name_span)
}

pub(super) fn duplicate_attribute(property: &Property, first: Span) -> Diagnostic {
    let detail = eco_format!("The argument \"{}\" is already set.", property.name);
    Diagnostic::new(&JSON_DUPLICATE_ATTRIBUTE, detail)
        .hint("Set each argument once.")
        .at(property.name_span)
        .after(first)
}

pub(super) fn arguments_not_object(at: Span) -> Diagnostic {
    Diagnostic::new(&JSON_WRONG_TYPE, "The arguments of this block must be a JSON object.").at(at)
}

/// The use of a JSON object: its properties are values of a label, or arguments and blocks.
fn object_use(label: Option<&str>) -> EcoString {
    match label {
        Some(label) => eco_format!("Its property names are the {label} of this block"),
        None => "Its properties are arguments and blocks".into(),
    }
}

pub(super) fn item_not_object(label: Option<&str>, at: Span) -> Diagnostic {
    let detail = eco_format!("A JSON object is required here. {}.", object_use(label));
    Diagnostic::new(&JSON_WRONG_TYPE, detail).at(at)
}

pub(super) fn body_not_object(label: Option<&str>, at: Span) -> Diagnostic {
    let detail = eco_format!("A JSON object or an array of JSON objects is required here. {}.", object_use(label));
    Diagnostic::new(&JSON_WRONG_TYPE, detail).at(at)
}

pub(super) fn block_not_object(kind: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("A \"{kind}\" block must be a JSON object; several blocks are an array of JSON objects.");
    Diagnostic::new(&JSON_WRONG_TYPE, detail).at(at)
}

pub(super) fn block_label_missing(kind: &str, label: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("This \"{kind}\" block lacks its {label}, which is the name of a property of an object.");
    Diagnostic::new(&JSON_BLOCK_LABEL_MISSING, detail).at(at)
}
