/*
 * Inputs as large as a door lets through, of the kinds that take some programs time growing with the square of their
 * length, or worse: repeated texts, lists of equal items, deep nesting. For every place of a documented body.
 */
import type { ApiDocument } from '../../src/docs/document.ts'

/** A JSON Schema as a document writes it. */
interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly examples?: readonly unknown[]
  readonly minimum?: number
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: unknown
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
}

/** Where in a body something may be: the names of members, and `0` for the first item of a list. */
interface Place {
  readonly path: readonly string[]
  readonly kind: 'text' | 'list' | 'members'
  readonly schema: Schema
}

const units = ['a', ' ', '-', '%aa', '.', 'a@', '{{a}}', '<a ', '[', ',a', '1', '\u{1f600}', '"', '<!--', '+1', '\t']

/** Texts of so many bytes, each of one unit that is repeated, or of marks that Unicode wants in another order. */
export function largeTexts(bytes: number): string[] {
  const marks = Math.floor(bytes / 4)
  const repeated = units.map((unit) => unit.repeat(Math.floor(bytes / Buffer.byteLength(unit))))
  return [...repeated, `a${'\u0315'.repeat(marks)}${'\u0316'.repeat(marks)}`]
}

const bodyBytes = 200_000
const maxDepth = 4
const texts = largeTexts(bodyBytes)
const lists: readonly unknown[][] = [
  Array(100_000).fill(0),
  Array.from({ length: 40_000 }, (_, n) => n),
  Array.from({ length: 25_000 }, (_, n) => `t${n}`),
  Array(60_000).fill({}),
]
const members = Object.fromEntries(Array.from({ length: 15_000 }, (_, n) => [`k${n}`, 'a']))
const nested = { a: '@nested@' }
const nestedJson = `${'['.repeat(80_000)}${']'.repeat(80_000)}`

/** Bodies that fit a schema but for one place, which holds something large. */
export function* largeBodies(document: ApiDocument, schema: Schema): Generator<{ what: string; json: string }> {
  const base = exampleOf(document, schema)
  const seen = new Set<string>()
  for (const { path, kind, schema: at } of placesIn(document, schema)) {
    const what = `${kind} at /${path.join('/')}`
    if (seen.has(what)) continue
    seen.add(what)
    for (const value of valuesFor(document, kind, at)) {
      const json = JSON.stringify(withValue(base, path, value))
      yield { what, json: value === nested ? json.replace('"@nested@"', nestedJson) : json }
    }
  }
}

function valuesFor(document: ApiDocument, kind: Place['kind'], { items }: Schema): readonly unknown[] {
  if (kind === 'text') return texts
  if (kind === 'members') return [members, nested]
  const item = exampleOf(document, items ?? {})
  return [...lists, Array(Math.floor(bodyBytes / (JSON.stringify(item).length + 1))).fill(item)]
}

function* placesIn(document: ApiDocument, of: Schema, path: readonly string[] = []): Generator<Place> {
  const schema = resolve(document, of)
  if (path.length > maxDepth) return
  for (const one of alternativesOf(schema)) yield* placesIn(document, one, path)
  const types = [schema.type].flat()
  if (types.includes('string') || schema.enum) yield { path, kind: 'text', schema }
  if (types.includes('array')) {
    yield { path, kind: 'list', schema }
    yield* placesIn(document, schema.items ?? {}, [...path, '0'])
  }
  if (!types.includes('object')) return
  if (schema.additionalProperties !== false) yield { path, kind: 'members', schema }
  for (const [name, member] of Object.entries(schema.properties ?? {}))
    yield* placesIn(document, member, [...path, name])
}

const alternativesOf = ({ anyOf, oneOf, allOf }: Schema): readonly Schema[] => anyOf ?? oneOf ?? allOf ?? []

function resolve(document: ApiDocument, schema: Schema): Schema {
  if (schema.$ref === undefined) return schema
  const names = schema.$ref.slice('#/'.length).split('/')
  const found = names.reduce<unknown>((node, name) => (node as Record<string, unknown>)[name], document)
  return resolve(document, found as Schema)
}

/** A value that fits, as far as the schema says. */
function exampleOf(document: ApiDocument, of: Schema): unknown {
  const schema = resolve(document, of)
  const { examples, enum: values, const: only, properties = {}, required = [] } = schema
  const [first] = examples ?? values ?? (only === undefined ? [] : [only])
  if (first !== undefined) return first
  const [alternative] = alternativesOf(schema)
  if (alternative) return exampleOf(document, alternative)
  const [type] = [schema.type].flat()
  if (type === 'object')
    return Object.fromEntries(required.map((name) => [name, exampleOf(document, properties[name] ?? {})]))
  if (type === 'array') return [exampleOf(document, schema.items ?? {})]
  if (type === 'integer' || type === 'number') return schema.minimum ?? 1
  if (type === 'boolean') return true
  if (schema.format === 'date-time') return '2030-01-01T00:00:00Z'
  return schema.format === 'uri' ? 'https://a.example/' : 'abcdef'
}

/** A copy of a body with another value at a place. */
function withValue(body: unknown, [name, ...rest]: readonly string[], value: unknown): unknown {
  if (name === undefined) return value
  if (name === '0') return [withValue(Array.isArray(body) ? body[0] : undefined, rest, value)]
  const before = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>
  return { ...before, [name]: withValue(before[name], rest, value) }
}
