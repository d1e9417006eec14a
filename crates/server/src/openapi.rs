//! The OpenAPI document, generated from the table of routes.

use axum::http::StatusCode;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::route::{Route, Who};

/// Describes these routes as OpenAPI 3.1.
pub(crate) fn document(routes: &[Route]) -> Value {
    let settings = SchemaSettings::draft2020_12()
        .with(|settings| settings.definitions_path = "/components/schemas".into());
    let mut generator = settings.into_generator();
    let mut paths: Map<String, Value> = Map::new();
    // Pages are for people; programs have everything under `/api`.
    for route in routes.iter().filter(|route| !route.page) {
        let operation = operation(route, &mut generator);
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        if let Some(path) = path.as_object_mut() {
            path.insert(route.method.as_str().to_ascii_lowercase(), operation);
        }
    }
    // Every response can be a problem.
    drop(generator.subschema_for::<countersign_wire::Problem>());
    let schemas = generator.take_definitions(true);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Countersign",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "The safety gate between AI agents and the world.",
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "key": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "An API key, `csk_…`, or the secret of a signed-in device, `csd_…`.",
                },
                "cookie": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": "countersign",
                    "description": "A signed-in browser. Requests that change something also need `X-CSRF-Token`.",
                },
            },
        },
    })
}

fn operation(route: &Route, generator: &mut SchemaGenerator) -> Value {
    let mut operation = json!({
        "operationId": route.id,
        "summary": route.summary,
        "tags": [tag(route.path)],
        "responses": responses(route, generator),
        "x-who": route.who.as_str(),
    });
    let Some(fields) = operation.as_object_mut() else { return operation };
    let parameters = parameters(route, generator);
    if !parameters.is_empty() {
        fields.insert("parameters".to_owned(), parameters.into());
    }
    if let Some(body) = &route.body {
        let schema = body.schema.map_or_else(|| json!({}), |schema| json!(schema(generator)));
        let content = json!({body.media: {"schema": schema}});
        fields.insert("requestBody".to_owned(), json!({"required": true, "content": content}));
    }
    let security = match route.who {
        Who::Anybody => json!([]),
        Who::KeyAnywhere => json!([{"key": []}]),
        Who::Person | Who::Either | Who::PersonOrKey | Who::PersonOrLocalAgent => {
            json!([{"key": []}, {"cookie": []}])
        }
    };
    fields.insert("security".to_owned(), security);
    operation
}

/// The tag of a route: the noun it is about.
fn tag(path: &str) -> &str {
    path.strip_prefix(countersign_wire::path::ROOT)
        .and_then(|rest| rest.split('/').next())
        .unwrap_or("pages")
}

fn responses(route: &Route, generator: &mut SchemaGenerator) -> Value {
    let mut responses = Map::new();
    for gives in &route.gives {
        let status = StatusCode::from_u16(gives.status).ok();
        let description = status.and_then(|status| status.canonical_reason()).unwrap_or_default();
        let response = if gives.media.is_empty() {
            json!({"description": description})
        } else {
            let schema = gives.schema.map_or_else(|| json!({}), |schema| json!(schema(generator)));
            json!({"description": description, "content": {gives.media: {"schema": schema}}})
        };
        responses.insert(gives.status.to_string(), response);
    }
    let problem = json!({
        "description": "A problem; nothing was allowed because of it.",
        "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
    });
    responses.insert("default".to_owned(), problem);
    Value::Object(responses)
}

fn parameters(route: &Route, generator: &mut SchemaGenerator) -> Vec<Value> {
    let mut parameters = Vec::new();
    for part in route.path.split('/') {
        let name = part.strip_prefix('{').and_then(|part| part.strip_suffix('}'));
        if let Some(name) = name {
            let schema = json!({"type": "string"});
            parameters
                .push(json!({"name": name, "in": "path", "required": true, "schema": schema}));
        }
    }
    if let Some(query) = route.query {
        parameters.extend(query_parameters(&json!(query(generator)), generator));
    }
    if route.may_be_sent_twice() {
        parameters.push(json!({
            "name": "Idempotency-Key",
            "in": "header",
            "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$"},
            "description": "Makes the request idempotent: sent again with the same key, it gets the first answer.",
        }));
    }
    parameters
}

/// The fields of a query, one parameter each.
fn query_parameters(schema: &Value, generator: &SchemaGenerator) -> Vec<Value> {
    let reference = schema.get("$ref").and_then(Value::as_str);
    let name = reference.and_then(|text| text.rsplit('/').next());
    let defined = name.and_then(|name| generator.definitions().get(name));
    let properties = defined.unwrap_or(schema).get("properties").and_then(Value::as_object);
    let parameter = |(name, schema): (&String, &Value)| {
        let description = schema.get("description").cloned().unwrap_or_default();
        json!({"name": name, "in": "query", "schema": optional(schema), "description": description})
    };
    properties.into_iter().flatten().map(parameter).collect()
}

/// In a query a missing value is left out: there is no `null`.
fn optional(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(fields) = schema.as_object_mut() {
        fields.remove("description");
        if let Some(kinds) = fields.get("type").and_then(Value::as_array) {
            let kind = kinds.iter().find(|kind| **kind != "null").cloned();
            if let Some(kind) = kind {
                fields.insert("type".to_owned(), kind);
            }
        }
        if let Some(any) = fields.get("anyOf").and_then(Value::as_array)
            && let Some(one) = any.iter().find(|one| one.get("type") != Some(&json!("null")))
        {
            return one.clone();
        }
    }
    schema
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::table::{document, routes};

    #[test]
    fn every_route_is_named_once_and_says_what_it_does() {
        let mut names = HashSet::new();
        // Pages are for people; programs have everything under `/api`.
        for route in routes().into_iter().filter(|route| !route.page) {
            assert!(names.insert(route.id), "{} twice", route.id);
            assert!(route.summary.ends_with('.'), "{}", route.id);
            assert!(!route.gives.is_empty(), "{}", route.id);
        }
    }

    #[test]
    fn every_scope_that_is_named_can_be_given_to_a_key() {
        let document = document();
        let schemas = "/components/schemas";
        let skills = countersign_core::Policy::default().skill_ids();
        for place in ["NewKeyRequest/properties/scopes", "Scope"] {
            let pointer = format!("{schemas}/{place}/description");
            let text = document.pointer(&pointer).and_then(Value::as_str).unwrap();
            let named: Vec<_> = text.split('`').skip(1).step_by(2).collect();
            assert!(named.len() > 2, "{text}");
            for scope in named {
                let read = countersign_gate::scope::Scope::parse(scope, &skills);
                assert!(read.is_ok(), "{place}: {read:?}");
            }
        }
    }

    #[test]
    fn every_reference_leads_somewhere() {
        let document = document();
        let text = document.to_string();
        for reference in text.split("\"$ref\":\"").skip(1) {
            let reference = reference.split('"').next().unwrap();
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{reference}");
        }
    }
}
