//! The bill of materials of a binary: CycloneDX 1.5 as JSON.

use serde_json::{Value, json};

use super::crates::LinkedCrate;

/// The document for a binary that is made of these crates. Crates of this repository are part of the application itself.
pub(super) fn document(version: &str, target: &str, time: &str, crates: &[LinkedCrate]) -> Value {
    let own = format!("pkg:generic/yuba@{version}");
    let foreign: Vec<&LinkedCrate> = crates.iter().filter(|linked| linked.is_foreign).collect();
    let purls = |uses: &mut dyn Iterator<Item = &(String, String)>| {
        let mut purls: Vec<String> = uses.map(|(name, version)| purl(name, version)).collect();
        purls.sort();
        purls.dedup();
        purls
    };
    let is_foreign =
        |used: &&(String, String)| foreign.iter().any(|linked| (&linked.name, &linked.version) == (&used.0, &used.1));
    let direct = crates.iter().filter(|linked| !linked.is_foreign).flat_map(|linked| &linked.uses);
    let mut dependencies = vec![json!({"ref": own, "dependsOn": purls(&mut direct.filter(is_foreign))})];
    for linked in &foreign {
        let uses = purls(&mut linked.uses.iter());
        dependencies.push(json!({"ref": purl(&linked.name, &linked.version), "dependsOn": uses}));
    }
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": time,
            "component": {
                "type": "application", "bom-ref": own, "name": "yuba", "version": version, "purl": own,
                "licenses": [{"expression": "MPL-2.0"}],
                "properties": [{"name": "yuba:target", "value": target}],
            },
        },
        "components": foreign.iter().map(|linked| component(linked)).collect::<Vec<_>>(),
        "dependencies": dependencies,
    })
}

fn component(linked: &LinkedCrate) -> Value {
    let purl = purl(&linked.name, &linked.version);
    let mut component = json!({
        "type": "library", "bom-ref": purl, "name": linked.name, "version": linked.version, "purl": purl,
        "licenses": [{"expression": linked.licence}],
    });
    if let Some(checksum) = &linked.checksum {
        component["hashes"] = json!([{"alg": "SHA-256", "content": checksum}]);
    }
    if let Some(repository) = &linked.repository {
        component["externalReferences"] = json!([{"type": "vcs", "url": repository}]);
    }
    component
}

fn purl(name: &str, version: &str) -> String {
    format!("pkg:cargo/{name}@{version}")
}

#[cfg(test)]
mod tests {
    use super::super::crates::LinkedCrate;
    use super::document;

    fn linked(name: &str, is_foreign: bool, uses: &[&str]) -> LinkedCrate {
        let uses = uses.iter().map(|name| ((*name).to_owned(), "1.0.0".to_owned())).collect();
        let checksum = is_foreign.then(|| "ab".repeat(32));
        let (directory, repository) = (Default::default(), None);
        let (name, version, licence) = (name.to_owned(), "1.0.0".to_owned(), "MIT".to_owned());
        LinkedCrate { name, version, licence, directory, repository, is_foreign, checksum, uses }
    }

    #[test]
    fn references_between_components_resolve() {
        let crates = [linked("a", true, &["b"]), linked("b", true, &[]), linked("yuba-cli", false, &["a", "yuba-x"])];
        let document = document("0.2.0", "t", "2026-01-01T00:00:00Z", &crates);
        let components = document["components"].as_array().expect("because it is a list");
        let names: Vec<_> = components.iter().map(|component| component["bom-ref"].as_str()).collect();
        assert_eq!(names, [Some("pkg:cargo/a@1.0.0"), Some("pkg:cargo/b@1.0.0")]);
        assert_eq!(document["dependencies"][0]["dependsOn"], serde_json::json!(["pkg:cargo/a@1.0.0"]));
        assert_eq!(document["dependencies"][1]["dependsOn"], serde_json::json!(["pkg:cargo/b@1.0.0"]));
    }
}
