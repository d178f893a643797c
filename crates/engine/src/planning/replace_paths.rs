//! The order of the paths that make a replacement necessary.

use foldhash::HashSet;
use yuba_value::{Path, PathStep};

/// Each path once, in the order in which plans list them.
// Quirk: paths are ordered by a checksum (CRC-64/GO-ISO of the attribute names, with "#" for each element), as a signed number.
pub(super) fn in_order(mut paths: Vec<Path>) -> Vec<Path> {
    let mut seen: HashSet<String> = HashSet::default();
    paths.retain(|path| seen.insert(format!("{path:?}")));
    paths.sort_by_cached_key(checksum);
    paths
}

fn checksum(path: &Path) -> i64 {
    const POLYNOMIAL: u64 = 0xd800_0000_0000_0000;
    let add = |sum: u64, byte: u8| {
        (0..8).fold(sum ^ u64::from(byte), |sum, _| if sum & 1 == 1 { (sum >> 1) ^ POLYNOMIAL } else { sum >> 1 })
    };
    let sum = path.0.iter().fold(!0, |sum, step| match step {
        PathStep::Attr(name) => name.bytes().fold(sum, add),
        PathStep::Index(_) => add(sum, b'#'),
    });
    (!sum).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use yuba_value::Value;

    fn names(paths: &[Path]) -> String {
        let step = |step: &PathStep| match step {
            PathStep::Attr(name) => name.to_string(),
            PathStep::Index(key) => format!("{:?}", key.as_number().and_then(|number| number.to_i64())),
        };
        let path = |path: &Path| path.0.iter().map(step).collect::<Vec<_>>().join(".");
        paths.iter().map(path).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn plans_list_paths_in_the_order_of_their_checksums() {
        let check = |given: &[&str], expect: &str| {
            let paths = given.iter().map(|name| Path::new().attr(name)).collect();
            assert_eq!(names(&in_order(paths)), expect);
        };
        check(&["keepers", "max", "min", "seed", "max"], "max keepers seed min");
        check(
            &["content", "directory_permission", "file_permission", "filename"],
            "file_permission directory_permission filename content",
        );
        check(&["keepers", "length", "prefix", "separator"], "separator prefix keepers length");
    }

    #[test]
    fn elements_of_one_collection_keep_their_order() {
        let element = |at| Path::new().attr("list").index(Value::int(at));
        let ordered = in_order(vec![element(2), element(0), element(2), element(1)]);
        assert_eq!(names(&ordered), "list.Some(2) list.Some(0) list.Some(1)");
    }
}
