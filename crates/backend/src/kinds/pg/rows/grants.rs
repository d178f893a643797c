//! Roles with the permissions that commands need, as SQL for an administrator.

use std::fmt::Write as _;

use super::{Rows, TABLES};
use crate::kinds::pg::layout::quoted;

/// Views for people.
const VIEWS: &[&str] = &["resources", "outputs", "operations", "locks", "history"];

/// Functions of the schema.
const FUNCTIONS: &[&str] = &[
    "yuba_alive",
    "yuba_begin",
    "yuba_check",
    "yuba_commit",
    "yuba_conflicts",
    "yuba_delete",
    "yuba_end",
    "yuba_force",
    "yuba_guard",
    "yuba_lock",
    "yuba_prune",
    "yuba_retain",
    "yuba_wait",
];

/// Tables to which rows are added, and from which they are only removed when they are old.
const APPENDED: &[&str] =
    &["yuba_check_history", "yuba_commits", "yuba_history", "yuba_output_history", "yuba_replaced_states"];

/// The table that only a migration changes.
const VERSIONS: &str = "yuba_schema";

impl Rows {
    /// Statements that create four roles, whose names begin with `prefix`, and grant what each needs.
    pub(super) fn grants(&self, prefix: &str) -> String {
        let schema = &self.schema;
        let role = |name: &str| quoted(&format!("{prefix}_{name}"));
        let (reader, planner, applier, owner) = (role("reader"), role("planner"), role("applier"), role("owner"));
        let states = &self.pg.layout.table;
        let listed = |names: &mut dyn Iterator<Item = &&str>| {
            names.map(|name| format!("{schema}.{name}")).collect::<Vec<_>>().join(",\n  ")
        };
        let changed = listed(&mut TABLES.iter().filter(|name| **name != VERSIONS && !APPENDED.contains(name)));
        let mut sql = format!(
            "-- Roles for the states in the schema {schema}. Review these statements, then run them as a superuser. Run them again after a\n\
             -- new version of Yuba has migrated the tables. The roles cannot log in: grant them to roles that can.\n\
             BEGIN;\n"
        );
        for role in [&reader, &planner, &applier, &owner] {
            let _ = writeln!(sql, "DO $$ BEGIN CREATE ROLE {role}; EXCEPTION WHEN duplicate_object THEN NULL; END $$;");
        }
        let _ = write!(
            sql,
            "\n-- Reads the views. Outputs that are sensitive have no value there.\n\
             GRANT USAGE ON SCHEMA {schema} TO {reader};\n\
             GRANT SELECT ON\n  {}\n  TO {reader};\n\
             \n-- Plans, and runs all other commands that change nothing.\n\
             GRANT {reader} TO {planner};\n\
             GRANT SELECT ON\n  {},\n  {states}\n  TO {planner};\n\
             \n-- Applies, and runs all other commands that change states.\n\
             GRANT {planner} TO {applier};\n\
             GRANT INSERT, UPDATE, DELETE ON\n  {changed},\n  {states}\n  TO {applier};\n\
             GRANT INSERT, DELETE ON\n  {}\n  TO {applier};\n\
             GRANT USAGE ON SEQUENCE public.global_states_id_seq TO {applier};\n\
             \n-- Creates and migrates the tables with `yuba init`.\n\
             GRANT {applier} TO {owner};\n\
             ALTER SCHEMA {schema} OWNER TO {owner};\n",
            listed(&mut VIEWS.iter()),
            listed(&mut TABLES.iter()),
            listed(&mut APPENDED.iter()),
        );
        for table in TABLES {
            let _ = writeln!(sql, "ALTER TABLE {schema}.{table} OWNER TO {owner};");
        }
        let _ = writeln!(sql, "ALTER TABLE {states} OWNER TO {owner};");
        for view in VIEWS {
            let _ = writeln!(sql, "ALTER VIEW {schema}.{view} OWNER TO {owner};");
        }
        for function in FUNCTIONS {
            let _ = writeln!(sql, "ALTER FUNCTION {schema}.{function} OWNER TO {owner};");
        }
        sql.push_str("COMMIT;\n");
        sql
    }
}
