-- Version 1 of the tables of layout = "resources". {s} is the quoted name of the schema.
--
-- Functions that clients call to write take the version of the client first, and fail for a client of another version. A migration
-- that changes the parameters of such a function leaves one with the previous parameters, which calls yuba_check only.

CREATE TABLE {s}.yuba_workspaces (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    state_table text NOT NULL,
    name text NOT NULL,
    lineage text,
    serial numeric(20) NOT NULL DEFAULT 0,
    revision bigint NOT NULL DEFAULT 0,
    pruned bigint NOT NULL DEFAULT 0,
    pruned_at timestamptz,
    UNIQUE (state_table, name)
);

CREATE TABLE {s}.yuba_runs (
    id text PRIMARY KEY,
    workspace bigint NOT NULL REFERENCES {s}.yuba_workspaces ON DELETE CASCADE,
    process integer NOT NULL,
    -- The advisory lock that the session of the run holds. It is visible to every role.
    session_key bigint NOT NULL,
    operation text NOT NULL,
    who text NOT NULL,
    info text NOT NULL,
    version text NOT NULL,
    source_commit text NOT NULL DEFAULT '',
    commits bigint NOT NULL DEFAULT 0,
    started timestamptz NOT NULL DEFAULT clock_timestamp(),
    ended timestamptz,
    outcome text,
    reported boolean NOT NULL DEFAULT false
);
CREATE INDEX yuba_runs_open ON {s}.yuba_runs (workspace) WHERE NOT reported;

CREATE TABLE {s}.yuba_locks (
    workspace bigint NOT NULL REFERENCES {s}.yuba_workspaces ON DELETE CASCADE,
    run text NOT NULL REFERENCES {s}.yuba_runs ON DELETE CASCADE,
    config text NOT NULL,
    resource text,
    address text,
    exclusive boolean NOT NULL
);
CREATE INDEX yuba_locks_config ON {s}.yuba_locks (workspace, config);
CREATE INDEX yuba_locks_run ON {s}.yuba_locks (run);

CREATE TABLE {s}.yuba_commits (
    workspace bigint NOT NULL REFERENCES {s}.yuba_workspaces ON DELETE CASCADE,
    revision bigint NOT NULL,
    serial numeric(20) NOT NULL,
    lineage text,
    run text NOT NULL,
    committed timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (workspace, revision)
);

CREATE TABLE {s}.yuba_objects (
    workspace bigint NOT NULL REFERENCES {s}.yuba_workspaces ON DELETE CASCADE,
    address text NOT NULL,
    deposed text NOT NULL,
    resource text NOT NULL,
    config text NOT NULL,
    module text NOT NULL,
    mode text NOT NULL,
    type text NOT NULL,
    name text NOT NULL,
    instance_key json,
    provider text NOT NULL,
    provider_key json,
    status text NOT NULL CHECK (status IN ('ready', 'tainted', 'empty')),
    dependencies json NOT NULL,
    object json NOT NULL,
    version bigint NOT NULL,
    run text NOT NULL,
    PRIMARY KEY (workspace, address, deposed)
);
CREATE INDEX yuba_objects_version ON {s}.yuba_objects (workspace, version);

CREATE TABLE {s}.yuba_history (
    LIKE {s}.yuba_objects,
    ended bigint NOT NULL,
    ended_run text NOT NULL,
    FOREIGN KEY (workspace) REFERENCES {s}.yuba_workspaces ON DELETE CASCADE
);
CREATE INDEX yuba_history_ended ON {s}.yuba_history (workspace, ended);
CREATE INDEX yuba_history_address ON {s}.yuba_history (workspace, address);

CREATE TABLE {s}.yuba_outputs (
    workspace bigint NOT NULL REFERENCES {s}.yuba_workspaces ON DELETE CASCADE,
    name text NOT NULL,
    value json NOT NULL,
    type json NOT NULL,
    sensitive boolean NOT NULL,
    deprecated text NOT NULL,
    version bigint NOT NULL,
    run text NOT NULL,
    PRIMARY KEY (workspace, name)
);

CREATE TABLE {s}.yuba_output_history (
    LIKE {s}.yuba_outputs,
    ended bigint NOT NULL,
    ended_run text NOT NULL,
    FOREIGN KEY (workspace) REFERENCES {s}.yuba_workspaces ON DELETE CASCADE
);
CREATE INDEX yuba_output_history_ended ON {s}.yuba_output_history (workspace, ended);

CREATE TABLE {s}.yuba_checks (
    workspace bigint NOT NULL REFERENCES {s}.yuba_workspaces ON DELETE CASCADE,
    config text NOT NULL,
    position integer NOT NULL,
    result json NOT NULL,
    version bigint NOT NULL,
    run text NOT NULL,
    PRIMARY KEY (workspace, config)
);

CREATE TABLE {s}.yuba_check_history (
    LIKE {s}.yuba_checks,
    ended bigint NOT NULL,
    ended_run text NOT NULL,
    FOREIGN KEY (workspace) REFERENCES {s}.yuba_workspaces ON DELETE CASCADE
);
CREATE INDEX yuba_check_history_ended ON {s}.yuba_check_history (workspace, ended);

CREATE TABLE {s}.yuba_operations (
    workspace bigint NOT NULL REFERENCES {s}.yuba_workspaces ON DELETE CASCADE,
    run text NOT NULL REFERENCES {s}.yuba_runs ON DELETE CASCADE,
    number bigint NOT NULL,
    address text NOT NULL,
    action text NOT NULL,
    started timestamptz NOT NULL DEFAULT clock_timestamp(),
    finished timestamptz,
    result text CHECK (result IN ('finished', 'failed')),
    PRIMARY KEY (run, number)
);
CREATE INDEX yuba_operations_address ON {s}.yuba_operations (workspace, address);

-- States of layout = "state" that a workspace of this layout has replaced.
CREATE TABLE {s}.yuba_replaced_states (
    state_table text NOT NULL,
    name text NOT NULL,
    data text,
    replaced timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Fails for a client of another version. A migration locks the table of versions, so it waits for this transaction.
CREATE FUNCTION {s}.yuba_check(p_version integer) RETURNS void LANGUAGE plpgsql AS $f$
DECLARE
    present integer;
BEGIN
    -- The first statement waits for a migration, the second one sees its result.
    PERFORM FROM {s}.yuba_schema;
    SELECT max(v.version) INTO present FROM {s}.yuba_schema v;
    IF present IS DISTINCT FROM p_version THEN
        RAISE EXCEPTION 'the tables have version %, and this client supports version %', present, p_version
            USING ERRCODE = 'YB006';
    END IF;
END
$f$;

-- Whether the session of a run still exists. Sessions of other roles hide their details, but not their locks.
CREATE FUNCTION {s}.yuba_alive(p_process integer, p_key bigint) RETURNS boolean LANGUAGE sql STABLE AS $f$
    SELECT EXISTS (SELECT FROM pg_locks k
                   WHERE k.locktype = 'advisory' AND k.mode = 'ExclusiveLock' AND k.granted AND k.pid = p_process
                       AND k.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
                       AND k.objsubid = 1 AND k.classid = ((p_key >> 32) & 4294967295)::oid
                       AND k.objid = (p_key & 4294967295)::oid)
$f$;

-- Registers a run of this session, or moves a run to this session. False if the run has ended.
CREATE FUNCTION {s}.yuba_begin(p_version integer, p_run text, p_workspace bigint, p_operation text, p_who text, p_info text,
                               p_client text, p_commit text) RETURNS boolean LANGUAGE plpgsql AS $f$
DECLARE
    key bigint := hashtextextended(p_run || ' ' || pg_backend_pid() || ' ' || clock_timestamp(), 0);
BEGIN
    PERFORM {s}.yuba_check(p_version);
    -- Another run that takes over the locks of an absent one holds this row.
    PERFORM FROM {s}.yuba_workspaces w WHERE w.id = p_workspace FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the workspace was deleted' USING ERRCODE = 'YB005';
    END IF;
    PERFORM pg_advisory_lock(key);
    INSERT INTO {s}.yuba_runs (id, workspace, process, session_key, operation, who, info, version, source_commit)
        VALUES (p_run, p_workspace, pg_backend_pid(), key, p_operation, p_who, p_info, p_client, p_commit)
        ON CONFLICT (id) DO UPDATE SET process = excluded.process, session_key = excluded.session_key, reported = false
            WHERE yuba_runs.ended IS NULL;
    RETURN FOUND;
END
$f$;

-- Locks that exclude these locks of a run. Runs whose sessions are gone lose all of their locks if one of them is among these.
CREATE FUNCTION {s}.yuba_conflicts(p_workspace bigint, p_run text, p_config text[], p_resource text[], p_address text[],
                                   p_exclusive boolean[])
RETURNS TABLE (run text, address text) LANGUAGE plpgsql AS $f$
#variable_conflict use_column
DECLARE
    is_whole boolean := '' = ANY (p_config);
    runs text[];
    addresses text[];
    absent text[];
BEGIN
    IF is_whole THEN
        SELECT array_agg(l.run), array_agg(coalesce(l.address, l.resource, l.config)) INTO runs, addresses
            FROM {s}.yuba_locks l WHERE l.workspace = p_workspace AND l.run <> p_run;
    ELSE
        SELECT array_agg(c.run), array_agg(c.address) INTO runs, addresses FROM (
            SELECT l.run, ''::text FROM {s}.yuba_locks l
                WHERE l.workspace = p_workspace AND l.run <> p_run AND l.config = ''
            UNION
            SELECT l.run, coalesce(l.address, w.address, l.resource, w.resource, l.config)
                FROM {s}.yuba_locks l
                JOIN unnest(p_config, p_resource, p_address, p_exclusive) w (config, resource, address, exclusive)
                    ON w.config = l.config
                WHERE l.workspace = p_workspace AND l.run <> p_run AND (l.exclusive OR w.exclusive)
                    AND (l.resource IS NULL OR w.resource IS NULL OR l.resource = w.resource)
                    AND (l.address IS NULL OR w.address IS NULL OR l.address = w.address)) c (run, address);
    END IF;
    IF runs IS NULL THEN
        RETURN;
    END IF;
    SELECT array_agg(r.id) INTO absent FROM {s}.yuba_runs r
        WHERE r.id = ANY (runs) AND (r.ended IS NOT NULL OR NOT {s}.yuba_alive(r.process, r.session_key));
    IF absent IS NOT NULL THEN
        UPDATE {s}.yuba_runs r SET ended = clock_timestamp(), outcome = 'lost' WHERE r.id = ANY (absent) AND r.ended IS NULL;
        DELETE FROM {s}.yuba_locks l WHERE l.run = ANY (absent);
    END IF;
    RETURN QUERY SELECT DISTINCT c.run, c.address FROM unnest(runs, addresses) c (run, address)
        WHERE absent IS NULL OR c.run <> ALL (absent);
END
$f$;

-- Takes all these locks for a run, or none. Rows: either 'held' with runs and addresses that exclude it; or 'taken', and 'stale' with
-- addresses that have changed after revision p_since, or 'pruned' if that is no longer known. With p_mode 'plan', a run whose request
-- is refused loses the locks that it has, so that no run waits for another one that waits. With 'rows', it keeps its locks, and takes
-- none of stale rows.
CREATE FUNCTION {s}.yuba_lock(p_version integer, p_workspace bigint, p_run text, p_since bigint, p_mode text, p_config text[],
                              p_resource text[], p_address text[], p_exclusive boolean[])
RETURNS TABLE (outcome text, run text, address text) LANGUAGE plpgsql AS $f$
#variable_conflict use_column
DECLARE
    ws {s}.yuba_workspaces;
    is_whole boolean := '' = ANY (p_config);
    is_stale boolean := false;
BEGIN
    PERFORM {s}.yuba_check(p_version);
    SELECT * INTO ws FROM {s}.yuba_workspaces w WHERE w.id = p_workspace FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the workspace was deleted' USING ERRCODE = 'YB005';
    END IF;
    IF NOT EXISTS (SELECT FROM {s}.yuba_runs r WHERE r.id = p_run AND r.ended IS NULL) THEN
        RAISE EXCEPTION 'the run no longer holds its locks' USING ERRCODE = 'YB001';
    END IF;
    IF NOT EXISTS (SELECT FROM {s}.yuba_runs r WHERE r.id = p_run AND r.process = pg_backend_pid()) THEN
        RAISE EXCEPTION 'the run is not one of this session' USING ERRCODE = 'YB002';
    END IF;
    RETURN QUERY SELECT 'held'::text, c.run, c.address
        FROM {s}.yuba_conflicts(p_workspace, p_run, p_config, p_resource, p_address, p_exclusive) c;
    IF FOUND THEN
        IF p_mode = 'plan' THEN
            DELETE FROM {s}.yuba_locks l WHERE l.run = p_run;
        END IF;
        RETURN;
    END IF;
    IF p_since IS NOT NULL AND ws.pruned > p_since THEN
        RETURN QUERY SELECT 'pruned'::text, ''::text, ''::text;
        is_stale := true;
    ELSIF p_since IS NOT NULL THEN
        RETURN QUERY
            SELECT DISTINCT 'stale'::text, o.run, o.address FROM (
                SELECT c.config, c.resource, c.address, c.run FROM {s}.yuba_objects c
                    WHERE c.workspace = p_workspace AND c.version > p_since
                UNION ALL
                SELECT c.config, c.resource, c.address, c.ended_run FROM {s}.yuba_history c
                    WHERE c.workspace = p_workspace AND c.ended > p_since
                UNION ALL
                SELECT 'output.' || c.name, NULL, 'output.' || c.name, c.run FROM {s}.yuba_outputs c
                    WHERE c.workspace = p_workspace AND c.version > p_since
                UNION ALL
                SELECT 'output.' || c.name, NULL, 'output.' || c.name, c.ended_run FROM {s}.yuba_output_history c
                    WHERE c.workspace = p_workspace AND c.ended > p_since
            ) o JOIN unnest(p_config, p_resource, p_address) w (config, resource, address)
                ON (w.config = o.config OR is_whole)
                AND (w.resource IS NULL OR w.resource = o.resource)
                AND (w.address IS NULL OR w.address = o.address)
            WHERE o.run <> p_run;
        is_stale := FOUND;
    END IF;
    IF is_stale AND p_mode = 'rows' THEN
        RETURN;
    END IF;
    INSERT INTO {s}.yuba_locks (workspace, run, config, resource, address, exclusive)
        SELECT p_workspace, p_run, w.config, w.resource, w.address, w.exclusive
        FROM unnest(p_config, p_resource, p_address, p_exclusive) w (config, resource, address, exclusive)
        WHERE NOT EXISTS (SELECT FROM {s}.yuba_locks l
            WHERE l.workspace = p_workspace AND l.run = p_run AND l.config = w.config AND (l.exclusive OR NOT w.exclusive)
                AND l.resource IS NOT DISTINCT FROM w.resource AND l.address IS NOT DISTINCT FROM w.address);
    RETURN QUERY SELECT 'taken'::text, p_run, ''::text;
END
$f$;

-- Waits until the session of a run ends it or is gone, for at most these milliseconds.
CREATE FUNCTION {s}.yuba_wait(p_run text, p_milliseconds integer) RETURNS void LANGUAGE plpgsql AS $f$
DECLARE
    key bigint;
BEGIN
    SELECT r.session_key INTO key FROM {s}.yuba_runs r WHERE r.id = p_run AND r.ended IS NULL;
    IF FOUND THEN
        PERFORM set_config('lock_timeout', p_milliseconds::text, true);
        PERFORM pg_advisory_xact_lock_shared(key);
    END IF;
EXCEPTION WHEN lock_not_available OR deadlock_detected OR query_canceled THEN
    NULL;
END
$f$;

-- Writes rows in one transaction, each only if it is as it was in revision p_since or was written by this run. With p_expected, only
-- if the whole state is still of that revision.
CREATE FUNCTION {s}.yuba_commit(
    p_version integer, p_workspace bigint, p_run text, p_number bigint, p_since bigint, p_expected bigint, p_locked boolean, p_lineage text,
    p_serial text,
    o_op text[], o_address text[], o_deposed text[], o_resource text[], o_config text[], o_module text[], o_mode text[],
    o_type text[], o_name text[], o_key text[], o_provider text[], o_provider_key text[], o_status text[],
    o_dependencies text[], o_object text[],
    t_op text[], t_name text[], t_value text[], t_type text[], t_sensitive boolean[], t_deprecated text[],
    c_op text[], c_config text[], c_position integer[], c_result text[],
    b_number bigint[], b_address text[], b_action text[], f_number bigint[], f_result text[])
RETURNS TABLE (revision bigint, serial text) LANGUAGE plpgsql AS $f$
#variable_conflict use_column
DECLARE
    ws {s}.yuba_workspaces;
    r {s}.yuba_runs;
    rev bigint;
    removed bigint;
    updated bigint;
    added bigint;
    bad text;
    w_config text[];
    w_resource text[];
    w_address text[];
BEGIN
    PERFORM {s}.yuba_check(p_version);
    IF p_lineage IS NULL AND p_serial IS NULL AND cardinality(o_op) + cardinality(t_op) + cardinality(c_op) = 0 THEN
        -- Operations that begin are news for people: a crash of the server may take back the last ones.
        PERFORM set_config('synchronous_commit', 'off', true);
        SELECT * INTO ws FROM {s}.yuba_workspaces w WHERE w.id = p_workspace;
        rev := ws.revision;
    ELSE
        SELECT * INTO ws FROM {s}.yuba_workspaces w WHERE w.id = p_workspace FOR UPDATE;
        rev := ws.revision + 1;
    END IF;
    IF ws.id IS NULL THEN
        RAISE EXCEPTION 'the workspace was deleted' USING ERRCODE = 'YB005';
    END IF;
    SELECT * INTO r FROM {s}.yuba_runs q WHERE q.id = p_run;
    IF r.id IS NULL OR r.ended IS NOT NULL THEN
        RAISE EXCEPTION 'the run no longer holds its locks' USING ERRCODE = 'YB001';
    END IF;
    IF r.process <> pg_backend_pid() THEN
        RAISE EXCEPTION 'the run belongs to another session' USING ERRCODE = 'YB002';
    END IF;
    IF r.commits >= p_number THEN
        -- The response of this commit was lost.
        RETURN QUERY SELECT ws.revision, ws.serial::text;
        RETURN;
    END IF;
    UPDATE {s}.yuba_runs q SET commits = p_number WHERE q.id = p_run;
    IF p_expected IS NOT NULL AND ws.revision <> p_expected THEN
        RAISE EXCEPTION 'the state has changed since it was read' USING ERRCODE = 'YB004';
    END IF;
    IF p_locked AND NOT EXISTS (SELECT FROM {s}.yuba_locks l
                                WHERE l.workspace = p_workspace AND l.run = p_run AND l.config = '') THEN
        SELECT array_agg(w.config), array_agg(w.resource), array_agg(w.address) INTO w_config, w_resource, w_address
            FROM (SELECT DISTINCT * FROM unnest(o_config, o_resource, o_address)
                  UNION ALL SELECT 'output.' || n, NULL, NULL FROM unnest(t_name) n) w (config, resource, address)
            WHERE NOT EXISTS (SELECT FROM {s}.yuba_locks l
                WHERE l.workspace = p_workspace AND l.run = p_run AND l.exclusive AND l.config = w.config
                    AND (l.resource IS NULL OR l.resource = w.resource) AND (l.address IS NULL OR l.address = w.address));
        IF w_config IS NOT NULL THEN
            SELECT string_agg(format('%s (%s)', c.address, q.who), ', ') INTO bad FROM (
                SELECT * FROM {s}.yuba_conflicts(p_workspace, p_run, w_config, w_resource, w_address,
                                                 array_fill(true, ARRAY[cardinality(w_config)])) LIMIT 5) c
                JOIN {s}.yuba_runs q ON q.id = c.run;
            IF bad IS NOT NULL THEN
                RAISE EXCEPTION 'another run has locked %', bad USING ERRCODE = 'YB003';
            END IF;
            INSERT INTO {s}.yuba_locks (workspace, run, config, resource, address, exclusive)
                SELECT p_workspace, p_run, w.config, w.resource, w.address, true
                FROM unnest(w_config, w_resource, w_address) w (config, resource, address);
        END IF;
    END IF;
    IF cardinality(o_op) > 0 THEN
        INSERT INTO {s}.yuba_history
            SELECT o.*, rev, p_run FROM {s}.yuba_objects o
            JOIN unnest(o_op, o_address, o_deposed) c (op, address, deposed)
                ON o.address = c.address AND o.deposed = c.deposed
            WHERE o.workspace = p_workspace AND c.op <> 'insert';
        DELETE FROM {s}.yuba_objects o USING unnest(o_op, o_address, o_deposed) c (op, address, deposed)
            WHERE o.workspace = p_workspace AND c.op = 'delete' AND o.address = c.address AND o.deposed = c.deposed
                AND (o.version <= p_since OR o.run = p_run);
        GET DIAGNOSTICS removed = ROW_COUNT;
        UPDATE {s}.yuba_objects o
            SET provider = c.provider, provider_key = c.provider_key::json, status = c.status,
                dependencies = c.dependencies::json, object = c.object::json, version = rev, run = p_run
            FROM unnest(o_op, o_address, o_deposed, o_provider, o_provider_key, o_status, o_dependencies, o_object)
                c (op, address, deposed, provider, provider_key, status, dependencies, object)
            WHERE o.workspace = p_workspace AND c.op = 'update' AND o.address = c.address AND o.deposed = c.deposed
                AND (o.version <= p_since OR o.run = p_run);
        GET DIAGNOSTICS updated = ROW_COUNT;
        INSERT INTO {s}.yuba_objects
            SELECT p_workspace, c.address, c.deposed, c.resource, c.config, c.module, c.mode, c.type, c.name, c.key::json,
                   c.provider, c.provider_key::json, c.status, c.dependencies::json, c.object::json, rev, p_run
            FROM unnest(o_op, o_address, o_deposed, o_resource, o_config, o_module, o_mode, o_type, o_name, o_key, o_provider,
                        o_provider_key, o_status, o_dependencies, o_object)
                c (op, address, deposed, resource, config, module, mode, type, name, key, provider,
                   provider_key, status, dependencies, object)
            WHERE c.op = 'insert' ON CONFLICT DO NOTHING;
        GET DIAGNOSTICS added = ROW_COUNT;
        IF added + updated + removed <> cardinality(o_op) THEN
            SELECT string_agg(x.address, ', ') INTO bad FROM (
                SELECT c.address FROM unnest(o_op, o_address, o_deposed) c (op, address, deposed)
                LEFT JOIN {s}.yuba_objects o ON o.workspace = p_workspace AND o.address = c.address AND o.deposed = c.deposed
                WHERE (c.op <> 'delete' AND (o.version IS NULL OR o.version <> rev)) OR (c.op = 'delete' AND o.version IS NOT NULL)
                LIMIT 5) x;
            RAISE EXCEPTION 'another run has changed %', coalesce(bad, 'removed objects') USING ERRCODE = 'YB004';
        END IF;
    END IF;
    IF cardinality(t_op) > 0 THEN
        INSERT INTO {s}.yuba_output_history
            SELECT o.*, rev, p_run FROM {s}.yuba_outputs o JOIN unnest(t_op, t_name) c (op, name) ON o.name = c.name
            WHERE o.workspace = p_workspace AND c.op <> 'insert';
        DELETE FROM {s}.yuba_outputs o USING unnest(t_op, t_name) c (op, name)
            WHERE o.workspace = p_workspace AND c.op = 'delete' AND o.name = c.name
                AND (o.version <= p_since OR o.run = p_run);
        GET DIAGNOSTICS removed = ROW_COUNT;
        INSERT INTO {s}.yuba_outputs AS o
            SELECT p_workspace, c.name, c.value::json, c.type::json, c.sensitive, c.deprecated, rev, p_run
            FROM unnest(t_op, t_name, t_value, t_type, t_sensitive, t_deprecated)
                c (op, name, value, type, sensitive, deprecated)
            WHERE c.op <> 'delete'
            ON CONFLICT (workspace, name) DO UPDATE
            SET value = excluded.value, type = excluded.type, sensitive = excluded.sensitive,
                deprecated = excluded.deprecated, version = rev, run = p_run
            WHERE o.version <= p_since OR o.run = p_run;
        GET DIAGNOSTICS updated = ROW_COUNT;
        IF updated + removed <> cardinality(t_op) THEN
            RAISE EXCEPTION 'another run has changed an output' USING ERRCODE = 'YB004';
        END IF;
    END IF;
    IF cardinality(c_op) > 0 THEN
        -- Results of checks are computed again by every run: the last one counts.
        INSERT INTO {s}.yuba_check_history
            SELECT k.*, rev, p_run FROM {s}.yuba_checks k JOIN unnest(c_config) c (config) ON k.config = c.config
            WHERE k.workspace = p_workspace;
        DELETE FROM {s}.yuba_checks k USING unnest(c_op, c_config) c (op, config)
            WHERE k.workspace = p_workspace AND c.op = 'delete' AND k.config = c.config;
        INSERT INTO {s}.yuba_checks (workspace, config, position, result, version, run)
            SELECT p_workspace, c.config, c.position, c.result::json, rev, p_run
            FROM unnest(c_op, c_config, c_position, c_result) c (op, config, position, result)
            WHERE c.op <> 'delete'
            ON CONFLICT (workspace, config) DO UPDATE
            SET position = excluded.position, result = excluded.result, version = rev, run = p_run;
    END IF;
    INSERT INTO {s}.yuba_operations (workspace, run, number, address, action)
        SELECT p_workspace, p_run, b.number, b.address, b.action
        FROM unnest(b_number, b_address, b_action) b (number, address, action)
        ON CONFLICT DO NOTHING;
    UPDATE {s}.yuba_operations o SET finished = clock_timestamp(), result = f.result
        FROM unnest(f_number, f_result) f (number, result) WHERE o.run = p_run AND o.number = f.number;
    IF rev > ws.revision THEN
        UPDATE {s}.yuba_workspaces w
            -- Of two runs that begin a state at the same time, the first one names it.
            SET revision = rev,
                lineage = CASE WHEN p_expected IS NULL THEN coalesce(w.lineage, p_lineage) ELSE coalesce(p_lineage, w.lineage) END,
                serial = CASE WHEN p_serial IS NULL OR (p_expected IS NULL AND w.lineage IS NOT NULL)
                              THEN least(w.serial + 1, 18446744073709551615) ELSE p_serial::numeric END
            WHERE w.id = p_workspace
            RETURNING * INTO ws;
        INSERT INTO {s}.yuba_commits (workspace, revision, serial, lineage, run)
            VALUES (p_workspace, rev, ws.serial, ws.lineage, p_run);
    END IF;
    RETURN QUERY SELECT ws.revision, ws.serial::text;
END
$f$;

-- Ends a run and frees its locks. True if it was not ended before.
CREATE FUNCTION {s}.yuba_end(p_run text, p_outcome text) RETURNS boolean LANGUAGE plpgsql AS $f$
DECLARE
    r {s}.yuba_runs;
BEGIN
    PERFORM FROM {s}.yuba_workspaces w WHERE w.id = (SELECT workspace FROM {s}.yuba_runs WHERE id = p_run) FOR UPDATE;
    UPDATE {s}.yuba_runs q SET ended = clock_timestamp(), outcome = p_outcome, reported = true
        WHERE q.id = p_run AND q.ended IS NULL RETURNING * INTO r;
    DELETE FROM {s}.yuba_locks WHERE run = p_run;
    IF r.process = pg_backend_pid() THEN
        PERFORM pg_advisory_unlock(r.session_key);
    END IF;
    RETURN r.id IS NOT NULL;
END
$f$;

-- Ends a run whose session is gone, and frees its locks. The server process of a session that still exists, or null.
CREATE FUNCTION {s}.yuba_force(p_run text) RETURNS integer LANGUAGE plpgsql AS $f$
DECLARE
    r {s}.yuba_runs;
BEGIN
    PERFORM FROM {s}.yuba_workspaces w WHERE w.id = (SELECT workspace FROM {s}.yuba_runs WHERE id = p_run) FOR UPDATE;
    SELECT * INTO r FROM {s}.yuba_runs q WHERE q.id = p_run AND q.ended IS NULL;
    IF {s}.yuba_alive(r.process, r.session_key) THEN
        RETURN r.process;
    END IF;
    UPDATE {s}.yuba_runs q SET ended = clock_timestamp(), outcome = 'forced' WHERE q.id = p_run AND q.ended IS NULL;
    DELETE FROM {s}.yuba_locks l WHERE l.run = p_run;
    RETURN NULL;
END
$f$;

-- Removes a workspace with its history. Holders of locks in it prevent that: their names, or null.
CREATE FUNCTION {s}.yuba_delete(p_version integer, p_workspace bigint) RETURNS text LANGUAGE plpgsql AS $f$
DECLARE
    holders text;
BEGIN
    PERFORM {s}.yuba_check(p_version);
    -- A run that takes locks holds this row.
    PERFORM FROM {s}.yuba_workspaces w WHERE w.id = p_workspace FOR UPDATE;
    SELECT string_agg(DISTINCT r.who, ', ') INTO holders FROM {s}.yuba_locks l JOIN {s}.yuba_runs r ON r.id = l.run
        WHERE l.workspace = p_workspace AND {s}.yuba_alive(r.process, r.session_key);
    IF holders IS NULL THEN
        DELETE FROM {s}.yuba_workspaces w WHERE w.id = p_workspace;
    END IF;
    RETURN holders;
END
$f$;

-- Refuses to change the row that marks a workspace of this layout in the table of layout = "state".
CREATE FUNCTION {s}.yuba_guard() RETURNS trigger LANGUAGE plpgsql AS $f$
BEGIN
    IF OLD.data LIKE '{"version":5,"yuba\_layout":"resources"%'
        AND current_setting('yuba.layout', true) IS DISTINCT FROM 'resources' THEN
        RAISE EXCEPTION 'workspace "%" is stored with layout = "resources" of the backend "pg" of Yuba', OLD.name
            USING HINT = 'Set layout = "resources" in the backend block and run yuba init.';
    END IF;
    IF TG_OP = 'DELETE' THEN
        RETURN OLD;
    END IF;
    RETURN NEW;
END
$f$;

-- For people.
CREATE VIEW {s}.resources AS
    SELECT w.name AS workspace, w.state_table, o.address, nullif(o.deposed, '') AS deposed, o.module, o.mode, o.type, o.name,
           o.instance_key, o.provider, o.status, o.dependencies, o.object -> 'attributes' AS attributes,
           (o.object ->> 'schema_version')::bigint AS schema_version, o.version, c.committed AS changed, r.who AS changed_by,
           nullif(r.source_commit, '') AS source_commit
    FROM {s}.yuba_objects o
    JOIN {s}.yuba_workspaces w ON w.id = o.workspace
    LEFT JOIN {s}.yuba_commits c ON c.workspace = o.workspace AND c.revision = o.version
    LEFT JOIN {s}.yuba_runs r ON r.id = o.run
    WHERE o.status <> 'empty';

CREATE VIEW {s}.outputs AS
    SELECT w.name AS workspace, w.state_table, o.name, CASE WHEN NOT o.sensitive THEN o.value END AS value, o.type, o.sensitive,
           o.version, c.committed AS changed, r.who AS changed_by
    FROM {s}.yuba_outputs o
    JOIN {s}.yuba_workspaces w ON w.id = o.workspace
    LEFT JOIN {s}.yuba_commits c ON c.workspace = o.workspace AND c.revision = o.version
    LEFT JOIN {s}.yuba_runs r ON r.id = o.run;

CREATE VIEW {s}.operations AS
    SELECT w.name AS workspace, w.state_table, o.address, o.action, o.started, o.finished, o.finished - o.started AS duration,
           CASE WHEN o.result IS NOT NULL THEN o.result
                WHEN r.ended IS NULL AND {s}.yuba_alive(r.process, r.session_key) THEN 'running'
                ELSE 'unknown' END AS result,
           r.id AS run, r.operation, r.who, nullif(r.source_commit, '') AS source_commit, r.started AS run_started,
           r.ended AS run_ended, r.outcome AS run_outcome
    FROM {s}.yuba_operations o
    JOIN {s}.yuba_runs r ON r.id = o.run
    JOIN {s}.yuba_workspaces w ON w.id = o.workspace;

CREATE VIEW {s}.locks AS
    SELECT w.name AS workspace, w.state_table, CASE WHEN l.config = '' THEN 'the whole state' ELSE
           coalesce(l.address, l.resource, l.config) END AS address, l.exclusive, r.id AS run, r.operation, r.who, r.info,
           nullif(r.source_commit, '') AS source_commit, r.started, {s}.yuba_alive(r.process, r.session_key) AS alive
    FROM {s}.yuba_locks l
    JOIN {s}.yuba_runs r ON r.id = l.run
    JOIN {s}.yuba_workspaces w ON w.id = l.workspace;

CREATE VIEW {s}.history AS
    SELECT w.name AS workspace, w.state_table, v.address, nullif(v.deposed, '') AS deposed, v.status,
           v.object -> 'attributes' AS attributes, v.version, b.committed AS since, r.who AS changed_by,
           nullif(r.source_commit, '') AS source_commit, r.operation, e.committed AS until, q.who AS ended_by
    FROM (SELECT o.*, NULL::bigint AS ended, NULL::text AS ended_run FROM {s}.yuba_objects o
          UNION ALL SELECT h.* FROM {s}.yuba_history h) v
    JOIN {s}.yuba_workspaces w ON w.id = v.workspace
    LEFT JOIN {s}.yuba_commits b ON b.workspace = v.workspace AND b.revision = v.version
    LEFT JOIN {s}.yuba_commits e ON e.workspace = v.workspace AND e.revision = v.ended
    LEFT JOIN {s}.yuba_runs r ON r.id = v.run
    LEFT JOIN {s}.yuba_runs q ON q.id = v.ended_run
    WHERE v.status <> 'empty';

-- Removes earlier versions of rows that were replaced longer ago than this, and operations, runs and replaced states of that time, of
-- one workspace or of all. The number of versions that were removed.
CREATE FUNCTION {s}.yuba_prune(p_age interval, p_workspace bigint DEFAULT NULL) RETURNS bigint LANGUAGE plpgsql AS $f$
DECLARE
    ws record;
    removed bigint;
    total bigint := 0;
BEGIN
    FOR ws IN
        SELECT w.id, w.state_table, w.name, (SELECT max(c.revision) FROM {s}.yuba_commits c
                      WHERE c.workspace = w.id AND c.committed < clock_timestamp() - p_age) AS horizon
        FROM {s}.yuba_workspaces w WHERE p_workspace IS NULL OR w.id = p_workspace
    LOOP
        PERFORM FROM {s}.yuba_workspaces w WHERE w.id = ws.id FOR UPDATE;
        UPDATE {s}.yuba_runs r SET ended = clock_timestamp(), outcome = 'lost'
            WHERE r.workspace = ws.id AND r.ended IS NULL AND r.started < clock_timestamp() - p_age
                AND NOT {s}.yuba_alive(r.process, r.session_key);
        DELETE FROM {s}.yuba_locks l USING {s}.yuba_runs r WHERE l.workspace = ws.id AND r.id = l.run AND r.ended IS NOT NULL;
        DELETE FROM {s}.yuba_replaced_states d
            WHERE d.state_table = ws.state_table AND d.name = ws.name AND d.replaced < clock_timestamp() - p_age;
        CONTINUE WHEN ws.horizon IS NULL;
        UPDATE {s}.yuba_workspaces w SET pruned = greatest(w.pruned, ws.horizon) WHERE w.id = ws.id;
        DELETE FROM {s}.yuba_history h WHERE h.workspace = ws.id AND h.ended <= ws.horizon;
        GET DIAGNOSTICS removed = ROW_COUNT;
        total := total + removed;
        DELETE FROM {s}.yuba_output_history h WHERE h.workspace = ws.id AND h.ended <= ws.horizon;
        GET DIAGNOSTICS removed = ROW_COUNT;
        total := total + removed;
        DELETE FROM {s}.yuba_check_history h WHERE h.workspace = ws.id AND h.ended <= ws.horizon;
        GET DIAGNOSTICS removed = ROW_COUNT;
        total := total + removed;
        DELETE FROM {s}.yuba_commits c WHERE c.workspace = ws.id AND c.revision < ws.horizon
            AND NOT EXISTS (SELECT FROM {s}.yuba_objects o WHERE o.workspace = ws.id AND o.version = c.revision)
            AND NOT EXISTS (SELECT FROM {s}.yuba_outputs o WHERE o.workspace = ws.id AND o.version = c.revision)
            AND NOT EXISTS (SELECT FROM {s}.yuba_history h WHERE h.workspace = ws.id AND h.version = c.revision);
        DELETE FROM {s}.yuba_runs r WHERE r.workspace = ws.id AND r.ended < clock_timestamp() - p_age
            AND r.id NOT IN (SELECT o.run FROM {s}.yuba_objects o WHERE o.workspace = ws.id)
            AND r.id NOT IN (SELECT o.run FROM {s}.yuba_outputs o WHERE o.workspace = ws.id)
            AND r.id NOT IN (SELECT h.run FROM {s}.yuba_history h WHERE h.workspace = ws.id);
    END LOOP;
    RETURN total;
END
$f$;

-- Prunes a workspace if that has not happened for a day.
CREATE FUNCTION {s}.yuba_retain(p_version integer, p_workspace bigint, p_days integer) RETURNS void LANGUAGE plpgsql AS $f$
BEGIN
    PERFORM {s}.yuba_check(p_version);
    UPDATE {s}.yuba_workspaces w SET pruned_at = clock_timestamp()
        WHERE w.id = p_workspace AND coalesce(w.pruned_at < clock_timestamp() - interval '1 day', true);
    IF FOUND THEN
        PERFORM {s}.yuba_prune(make_interval(days => p_days), p_workspace);
    END IF;
END
$f$;

CREATE TABLE {s}.yuba_schema (version integer NOT NULL, changed timestamptz NOT NULL DEFAULT clock_timestamp());
INSERT INTO {s}.yuba_schema (version) VALUES (1);
