//! Generated configurations that need no provider but the one that is built in.

use std::fmt::Write as _;

/// A file of a configuration: its path, and its text.
pub(super) type ConfigFile = (String, String);

/// A kind of configuration that is generated in any size.
pub(super) struct Shape {
    pub(super) name: &'static str,
    /// Its content, for the page.
    pub(super) about: &'static str,
    /// Unit of its size.
    pub(super) unit: &'static str,
    pub(super) generate: fn(usize) -> Vec<ConfigFile>,
}

/// All of them, in the order in which they are measured.
pub(super) const SHAPES: [Shape; 4] = [
    Shape {
        name: "flat",
        about: "Resource blocks without repetition. Each one refers to the output of the block ten before it.",
        unit: "resources",
        generate: flat,
    },
    Shape {
        name: "foreach",
        about: "Two resource blocks with `for_each`. Half of the instances refer to the other half by key.",
        unit: "resources",
        generate: foreach,
    },
    Shape {
        name: "modules",
        about: "Module calls with ten resources each. Each call refers to an output of the call five before it.",
        unit: "resources",
        generate: modules,
    },
    Shape {
        name: "locals",
        about: "Local values in chains of seven: `for` expressions and `merge`. The configuration has no resources.",
        unit: "local values",
        generate: locals,
    },
];

/// Resources of a module of the shape `modules`.
const IN_MODULE: usize = 10;

fn main_file(text: String) -> Vec<ConfigFile> {
    vec![("main.tf".to_owned(), text)]
}

fn flat(size: usize) -> Vec<ConfigFile> {
    let mut text = String::new();
    for at in 0..size {
        let input = match at.checked_sub(10) {
            Some(before) => format!("terraform_data.r{before}.output"),
            None => format!("\"value {at}\""),
        };
        let _ = writeln!(text, "resource \"terraform_data\" \"r{at}\" {{\n  input = {input}\n}}\n");
    }
    main_file(text)
}

fn foreach(size: usize) -> Vec<ConfigFile> {
    let half = size / 2;
    let thousands = half.div_ceil(1000);
    main_file(format!(
        r#"locals {{
  numbers = flatten([for high in range({thousands}) : [for low in range(1000) : high * 1000 + low]])
  keys    = toset([for number in local.numbers : format("key-%06d", number) if number < {half}])
}}

resource "terraform_data" "service" {{
  for_each = local.keys
  input = {{
    name  = each.key
    tags  = {{ owner = "team-${{each.key}}", environment = "production" }}
    ports = [80, 443]
  }}
}}

resource "terraform_data" "record" {{
  for_each = local.keys
  input    = terraform_data.service[each.key].output.tags.owner
}}

output "records" {{
  value = length(terraform_data.record)
}}
"#
    ))
}

fn modules(size: usize) -> Vec<ConfigFile> {
    let mut module = String::from(
        "variable \"name\" {\n  type = string\n}\n\nvariable \"before\" {\n  type    = string\n  default = null\n}\n\n",
    );
    for at in 0..IN_MODULE {
        let _ = writeln!(
            module,
            "resource \"terraform_data\" \"r{at}\" {{\n  input = \"${{var.name}}-{at}-${{coalesce(var.before, \"first\")}}\"\n}}\n"
        );
    }
    let _ = writeln!(module, "output \"last\" {{\n  value = terraform_data.r{}.id\n}}", IN_MODULE - 1);
    let mut root = String::new();
    for at in 0..size / IN_MODULE {
        let before = at.checked_sub(5).map(|before| format!("  before = module.m{before}.last\n")).unwrap_or_default();
        let _ = writeln!(root, "module \"m{at}\" {{\n  source = \"./part\"\n  name   = \"m{at}\"\n{before}}}\n");
    }
    vec![("main.tf".to_owned(), root), ("part/main.tf".to_owned(), module)]
}

fn locals(size: usize) -> Vec<ConfigFile> {
    let mut text = String::from("locals {\n");
    for at in 0..size {
        let value = match at % 7 {
            0 => format!("{{ first = {at}, even = [for x in range(20) : x * {at} if x % 2 == 0] }}"),
            _ => format!("merge(local.v{}, {{ k{at} = upper(\"v{at}\"), twice = {at} * 2 }})", at - 1),
        };
        let _ = writeln!(text, "  v{at} = {value}");
    }
    let _ = writeln!(text, "}}\n\noutput \"last\" {{\n  value = local.v{}\n}}", size.saturating_sub(1));
    main_file(text)
}

/// The smallest useful configuration.
pub(super) fn hello() -> Vec<ConfigFile> {
    main_file("output \"hello\" {\n  value = \"world\"\n}\n".to_owned())
}

/// Files that are not formatted, with 20 resource blocks each.
pub(super) fn unformatted(files: usize) -> Vec<ConfigFile> {
    let block = |file: usize, at: usize| {
        format!(
            "resource \"x\" \"r{file}_{at}\" {{\ncount=2\n    arguments={{a=1,long_name=\"two\"\nlist=[1,2,\n  3]}}\n  name= \"n-${{count.index}}\"\n}}\n"
        )
    };
    (0..files).map(|file| (format!("f{file}.tf"), (0..20).map(|at| block(file, at)).collect())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(files: &[ConfigFile]) -> String {
        files.iter().map(|(path, text)| format!("-- {path}\n{text}")).collect()
    }

    #[test]
    fn a_shape_has_as_many_objects_as_its_size() {
        let count = |files: &[ConfigFile], word: &str| text(files).matches(word).count();
        assert_eq!(count(&flat(50), "resource \""), 50);
        assert_eq!(count(&flat(50), ".output"), 40);
        assert_eq!(count(&modules(200), "module \"m"), 20);
        assert_eq!(count(&modules(200), "resource \""), IN_MODULE);
        assert_eq!(count(&modules(200), "before = module"), 15);
        assert_eq!(count(&locals(70), "  v") - count(&locals(70), "  value"), 70);
        assert_eq!(count(&locals(70), "merge(local.v"), 60);
        assert!(text(&foreach(3000)).contains("range(2)") && text(&foreach(3000)).contains("number < 1500"));
        assert_eq!(unformatted(3).len(), 3);
    }

    #[test]
    fn small_shapes_are_complete() {
        assert_eq!(
            text(&locals(2)),
            "-- main.tf\nlocals {\n  v0 = { first = 0, even = [for x in range(20) : x * 0 if x % 2 == 0] }\n  \
             v1 = merge(local.v0, { k1 = upper(\"v1\"), twice = 1 * 2 })\n}\n\noutput \"last\" {\n  value = local.v1\n}\n"
        );
        assert_eq!(text(&flat(1)), "-- main.tf\nresource \"terraform_data\" \"r0\" {\n  input = \"value 0\"\n}\n\n");
    }
}
