import { readFileSync } from 'node:fs'
import { addFormats, validationFault } from '@gatehouse/kit'
import { Ajv, type ErrorObject } from 'ajv'
import type { TSchema } from 'typebox'
import { type Document, isMap, isNode, isScalar, LineCounter, parseDocument, type Scalar, visit } from 'yaml'
import type { Faults } from './faults.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** A file's value, and where in the file a part of it stands. */
export interface ReadFile {
  readonly value: unknown
  /** Adds a fault at the part under `path`: names of members and indexes in lists. */
  fault(path: ReadonlyArray<string | number>, expected: string): void
}

/**
 * Reads a YAML file against `schema`, with `${NAME}` and `${NAME:-fallback}` in its strings replaced from the
 * environment. Every fault is added with its line and what was expected; the answer is undefined when there was one.
 */
export function readYamlFile(
  path: string,
  schema: TSchema,
  environment: Environment,
  faults: Faults,
): ReadFile | undefined {
  const text = readText(path, faults)
  if (text === undefined) return undefined
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const file: YamlFile = { path, document, lines, faults }
  for (const { pos, message } of document.errors) faultAt(file, pos[0], message)
  if (document.errors.length > 0) return undefined
  const replaced = replaceVariables(file, environment)
  const value: unknown = document.toJS({ maxAliasCount: 0 }) ?? {}
  const valid = addFormats(new Ajv({ allErrors: true, strict: false, verbose: true, discriminator: true })).compile(
    schema,
  )
  if (!valid(value)) for (const error of meaningful(valid.errors ?? [])) faultAt(file, ...describe(file, error))
  if (!replaced || (valid.errors ?? []).length > 0) return undefined
  return {
    value,
    fault: (place, expected) => faultAt(file, valueOffset(file, place), `${place.join('.')} ${expected}`),
  }
}

interface YamlFile {
  readonly path: string
  readonly document: Document
  readonly lines: LineCounter
  readonly faults: Faults
}

function readText(path: string, faults: Faults): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    faults.add('GATEHOUSE_CONFIG', `names ${path}, which can't be read: ${(error as Error).message}`)
    return undefined
  }
}

function faultAt(file: YamlFile, offset: number, expected: string): void {
  file.faults.add(`${file.path}:${file.lines.linePos(offset).line}`, expected)
}

const variable = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g

function replaceVariables(file: YamlFile, environment: Environment): boolean {
  let complete = true
  visit(file.document, {
    Scalar(_key, node: Scalar) {
      if (typeof node.value !== 'string') return
      node.value = node.value.replace(variable, (_match, name: string, fallback: string | undefined) => {
        const value = environment[name] || fallback
        if (value !== undefined) return value
        complete = false
        faultAt(file, node.range?.[0] ?? 0, `the environment variable ${name} is not set`)
        return ''
      })
    },
  })
  return complete
}

/** Keywords whose fault only tells that there are faults within. */
const summaries = ['anyOf', 'oneOf', 'if', 'propertyNames']

/** A failed `anyOf` reports each of its branches too; the branch's faults say more than "must match a schema". */
function meaningful(errors: readonly ErrorObject[]): ErrorObject[] {
  const detailed = errors.filter(({ keyword }) => !summaries.includes(keyword))
  return detailed.length > 0 ? detailed : [...errors]
}

function describe(file: YamlFile, error: ErrorObject): [offset: number, expected: string] {
  const path = error.instancePath.split('/').slice(1).map(unescapePointer)
  const place = path.join('.') || 'the file'
  if (error.keyword === 'additionalProperties') {
    const name = String(error.params.additionalProperty)
    return [
      keyOffset(file, path, name),
      `${[...path, name].join('.')} is not known here; known are ${knownMembers(error)}`,
    ]
  }
  if (error.keyword === 'required') return [valueOffset(file, path), `${place} needs ${error.params.missingProperty}`]
  if (error.keyword === 'enum')
    return [valueOffset(file, path), `${place} must be one of ${error.params.allowedValues.join(', ')}`]
  if (error.keyword === 'discriminator') return [valueOffset(file, path), `${place}.${tagExpected(error)}`]
  if (error.keyword === 'const') return [valueOffset(file, path), `${place} must be ${error.params.allowedValue}`]
  if (error.propertyName !== undefined)
    return [keyOffset(file, path, error.propertyName), `${place}.${error.propertyName}: the name ${wordsFor(error)}`]
  return [valueOffset(file, path), `${place} ${wordsFor(error)}`]
}

/** Words that need no knowledge of the schema. */
function wordsFor(error: ErrorObject): string {
  return validationFault(error).detail
}

/** A member that tells kinds apart names none of them. */
function tagExpected({ params, parentSchema }: ErrorObject): string {
  const tag = String(params.tag)
  const kinds = (parentSchema as { oneOf: ReadonlyArray<{ properties: Record<string, { const: string }> }> }).oneOf
  return `${tag} must be one of ${kinds.map(({ properties }) => properties[tag]?.const).join(', ')}`
}

function knownMembers(error: ErrorObject): string {
  const { properties } = (error.parentSchema ?? {}) as { properties?: object }
  return Object.keys(properties ?? {}).join(', ') || 'none'
}

const unescapePointer = (part: string): string => part.replaceAll('~1', '/').replaceAll('~0', '~')

function valueOffset(file: YamlFile, path: ReadonlyArray<string | number>): number {
  const node = file.document.getIn(path, true)
  return isNode(node) ? (node.range?.[0] ?? 0) : 0
}

function keyOffset(file: YamlFile, path: readonly string[], name: string): number {
  const map = path.length === 0 ? file.document.contents : file.document.getIn(path, true)
  if (!isMap(map)) return valueOffset(file, path)
  const key = map.items
    .map((pair) => pair.key)
    .find((candidate) => isScalar(candidate) && String(candidate.value) === name)
  return isScalar(key) ? (key.range?.[0] ?? 0) : 0
}
