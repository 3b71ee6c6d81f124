import assert from 'node:assert/strict'
import { test } from 'node:test'
import { splitStatements } from '../../src/database/statements.ts'

test('statements end at semicolons outside of strings, names, comments and functions', () => {
  const sql = `-- a first; comment
    CREATE TABLE "a;b" (name text DEFAULT 'it''s; so', n integer CHECK (n - 1 > 0)); /* no; */
    CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $body$ BEGIN PERFORM $1; SELECT '$$;'; END $body$;
    SELECT 1 -- the last; without an end
  `
  assert.deepEqual(splitStatements(sql), [
    `CREATE TABLE "a;b" (name text DEFAULT 'it''s; so', n integer CHECK (n - 1 > 0))`,
    "CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $body$ BEGIN PERFORM $1; SELECT '$$;'; END $body$",
    'SELECT 1',
  ])
  assert.deepEqual(splitStatements(' ;; -- nothing\n'), [])
})
