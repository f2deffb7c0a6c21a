//! The description of the HTTP API (OpenAPI 3.1), built from one table of routes. A test holds the
//! table against the router, so that no route is missing from it and none is in it alone.

mod routes;
mod schemas;

use serde_json::{Map, Value, json};

use routes::{Answer, Route};

/// The document that `/openapi.json` serves and `chronq openapi` prints.
pub fn document() -> Value {
    let mut paths = Map::new();
    for route in routes::ROUTES {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method] = operation(route);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "chronq",
            "summary": "A self-hosted HTTP queue, with timers you can take back",
            "version": env!("CARGO_PKG_VERSION"),
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "tags": routes::Tag::ALL.iter().map(|tag| json!({ "name": tag.name() })).collect::<Vec<_>>(),
        "paths": paths,
        "components": {
            "securitySchemes": {
                "token": { "type": "http", "scheme": "bearer", "description": "A token; all begin with chronq_" },
            },
            "schemas": schemas::all(),
        },
    })
}

fn operation(route: &Route) -> Value {
    let mut operation = json!({
        "tags": [route.tag.name()],
        "operationId": operation_id(route),
        "summary": route.summary,
        "parameters": parameters(route),
        "responses": responses(route),
        "security": [],
    });
    if let Some(access) = route.access {
        operation["security"] = json!([{ "token": [] }]);
        operation["description"] = format!("Needs a token with {access} access.").into();
    }
    if let Some(body) = route.body {
        operation["requestBody"] = json!({ "required": true, "content": content(body) });
    }
    operation
}

fn operation_id(route: &Route) -> String {
    let words =
        route.path.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    std::iter::once(route.method).chain(words).collect::<Vec<_>>().join("_")
}

fn parameters(route: &Route) -> Vec<Value> {
    let in_path = route.path.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'));
    let path = in_path
        .map(|name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }));
    let query = route.query.iter().map(|(name, description)| {
        json!({ "name": name, "in": "query", "description": description, "schema": { "type": "string" } })
    });
    let headers = route.headers.iter().map(|(name, description)| {
        json!({ "name": name, "in": "header", "description": description, "schema": { "type": "string" } })
    });
    path.chain(query).chain(headers).collect()
}

fn responses(route: &Route) -> Map<String, Value> {
    let mut responses = Map::new();
    for Answer { status, description, schema } in route.answers {
        let mut response = json!({ "description": description });
        if let Some(schema) = schema {
            response["content"] = content(schema);
        }
        responses.insert(status.to_string(), response);
    }
    let error = |description: &str| json!({ "description": description, "content": content("Error") });
    if route.access.is_some() {
        responses.insert("401".to_owned(), error("No token, or one that is not known"));
        responses.entry("403").or_insert_with(|| error("The token's level is too low"));
        responses.entry("503").or_insert_with(|| error("The store is unavailable; see Retry-After"));
    }
    responses
}

/// A JSON body of a named schema; `*` is any content, `text` plain text.
fn content(schema: &str) -> Value {
    match schema {
        routes::ANY => json!({ "*/*": {} }),
        routes::TEXT => json!({ "text/plain": { "schema": { "type": "string" } } }),
        name => match name.strip_suffix("[]") {
            Some(item) => {
                json!({ "application/json": { "schema": { "type": "array", "items": reference(item) } } })
            }
            None => json!({ "application/json": { "schema": reference(name) } }),
        },
    }
}

fn reference(schema: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Every `$ref` below a value.
    fn references(value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(fields) => fields.iter().for_each(|(name, value)| match (name.as_str(), value) {
                ("$ref", Value::String(target)) => {
                    found.insert(target.trim_start_matches("#/components/schemas/").to_owned());
                }
                _ => references(value, found),
            }),
            Value::Array(items) => items.iter().for_each(|item| references(item, found)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    #[test]
    fn every_schema_that_is_named_exists_and_none_is_unused() {
        let document = document();
        let mut named = BTreeSet::new();
        references(&document, &mut named);
        let schemas = document["components"]["schemas"].as_object().expect("schemas");
        let known: BTreeSet<String> = schemas.keys().cloned().collect();
        assert_eq!(named, known);
    }

    #[test]
    fn no_route_stands_twice_and_every_operation_has_its_own_id() {
        let mut routes = BTreeSet::new();
        let mut ids = BTreeSet::new();
        for route in routes::ROUTES {
            assert!(routes.insert((route.path, route.method)), "{} {}", route.method, route.path);
            assert!(ids.insert(operation_id(route)), "{}", operation_id(route));
            assert!(route.answers.iter().any(|answer| answer.status < 300), "{}", route.path);
        }
    }
}
