import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ApiOperation, Document, Schema } from '../client/document.ts'
import { inputForm } from '../client/operation-input.ts'
import { operationsText } from '../client/operation-table.ts'
import { typesText } from '../client/operation-types.ts'
import { typeOf } from '../client/schema-types.ts'

const names = new Map([['User', 'User']])
const closed = { open: false, names }
const open = { open: true, names }

test('a schema becomes the type of the values that it allows', () => {
  const table: readonly (readonly [Schema, string])[] = [
    [{}, 'unknown'],
    [{ type: 'integer' }, 'number'],
    [{ type: ['string', 'null'] }, 'string | null'],
    [{ const: 'queued' }, '"queued"'],
    [{ type: 'string', enum: ['a', 'b'] }, '"a" | "b"'],
    [{ type: 'array', items: { type: 'string' } }, 'readonly string[]'],
    [{ type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'null' }] } }, 'readonly (string | null)[]'],
    [{ type: 'array', items: { type: 'array', items: { type: 'null' } } }, 'readonly (readonly null[])[]'],
    [{ $ref: '#/components/schemas/User' }, 'User'],
    [{ type: 'object' }, 'Readonly<Record<string, unknown>>'],
    [{ type: 'object', additionalProperties: { type: 'number' } }, 'Readonly<Record<string, number>>'],
    [{ type: 'object', additionalProperties: false }, 'Nothing'],
    [
      { type: 'object', properties: { a: { type: 'string' }, 'b-c': { type: 'boolean' } }, required: ['a'] },
      '{\n  readonly a: string\n  readonly "b-c"?: boolean\n}',
    ],
    [
      {
        type: 'object',
        properties: { a: { type: 'null', description: 'Ends */ here.\nOn.' } },
        additionalProperties: true,
      },
      '{\n  /** Ends *\\/ here. On. */\n  readonly a?: null\n  readonly [member: string]: unknown\n}',
    ],
  ]
  for (const [schema, type] of table) assert.equal(typeOf(schema, closed), type)
  assert.throws(() => typeOf({ $ref: '#/components/schemas/Absent' }, closed), /Absent/)
})

test('an enumeration is open where newer servers answer, and closed where a client sends', () => {
  assert.equal(typeOf({ enum: ['a', 'b'] }, open), '"a" | "b" | OtherText')
  assert.equal(typeOf({ enum: ['a', 'b'] }, closed), '"a" | "b"')
  assert.equal(typeOf({ enum: ['a'] }, open), '"a"', 'it discriminates a union')
  assert.equal(typeOf({ enum: [1, 2] }, open), '1 | 2')
})

const post = (properties: Record<string, Schema>, more: Partial<Schema> = {}): ApiOperation => ({
  operationId: 'things.change',
  summary: 'Change',
  parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
  requestBody: { content: { 'application/json': { schema: { type: 'object', properties, ...more } } } },
  responses: { 200: { content: { 'application/json': { schema: { type: 'string' } } } } },
})
const placed = (operation: ApiOperation) => ({ method: 'POST', path: '/things/{id}', operation })

test('the members of a body stand beside parameters, unless one has the name of another', () => {
  const form = (operation: ApiOperation) => inputForm(placed(operation), {}).body
  assert.equal(form(post({ name: {} })), 'members')
  assert.equal(form(post({ id: {} })), 'value')
  assert.equal(form(post({ body: {} })), 'value')
  assert.equal(form(post({ name: {} }, { additionalProperties: true })), 'value')
  assert.equal(form(post({ name: {} }, { type: 'array' })), 'value')
})

test('the client has neither pages nor operations that authenticate clients', () => {
  const content = { 'text/html': { schema: { type: 'string' } } }
  const document: Document = {
    paths: {
      '/things/{id}': { post: { ...post({ name: {} }), security: [{ bearer: ['admin:things'] }, { apiKey: [] }] } },
      '/token': { post: { ...post({}), operationId: 'tokens.issue', security: [{ basic: [] }, {}] } },
      '/login': { get: { operationId: 'login.show', summary: 'Login', responses: { 200: { content } } } },
    },
    components: { schemas: {} },
  }
  const lines = operationsText(document)
    .split('\n')
    .filter((line) => line.startsWith('  "'))
  assert.deepEqual(lines, [
    '  "things.change": { method: "POST", path: "/things/{id}", scopes: ["admin:things"], body: "members" },',
  ])
  assert.match(
    typesText(document),
    /change\(input: Operations\["things\.change"\]\['input'\], options\?: CallOptions\)/,
  )
})
