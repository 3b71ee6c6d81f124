import { readFileSync } from 'node:fs'
import { addFormats, suggestionFor, validationFault } from '@gatehouse/kit'
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
  reportSyntax(file, text)
  if (document.errors.length > 0 || refuseAliases(file)) return undefined
  const unset = replaceVariables(file, environment)
  const value: unknown = document.toJS({ maxAliasCount: 0 }) ?? {}
  const valid = addFormats(new Ajv({ allErrors: true, strict: false, verbose: true, discriminator: true })).compile(
    schema,
  )
  if (!valid(value))
    for (const [offset, expected] of describeAll(file, valid.errors ?? []))
      if (!unset.has(offset)) faultAt(file, offset, expected)
  if (unset.size > 0 || (valid.errors ?? []).length > 0) return undefined
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

/** Of faults in the syntax only the first: the others follow from it. */
function reportSyntax(file: YamlFile, text: string): void {
  const { errors } = file.document
  for (const { code, pos } of errors)
    if (code === 'DUPLICATE_KEY') faultAt(file, pos[0], `${keyAt(text, pos[0])} is declared twice`)
  const [first] = errors.filter(({ code }) => code !== 'DUPLICATE_KEY')
  if (first === undefined) return
  const [offset] = first.pos
  const name = /^\$(\{[^}]*\})/.exec(text.slice(Math.max(0, offset - 1), offset + maxVariableLength))?.[1]
  faultAt(
    file,
    offset,
    name === undefined ? first.message : `a variable between { } or [ ] is written in quotes: "$${name}"`,
  )
}

/** Of a variable with its fallback, as far as it is shown. */
const maxVariableLength = 200

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

/** Replaces the variables of all strings; the answer has the offsets of those whose variable is not set. */
function replaceVariables(file: YamlFile, environment: Environment): ReadonlySet<number> {
  const unset = new Set<number>()
  visit(file.document, {
    Scalar(_key, node: Scalar) {
      if (typeof node.value !== 'string') return
      node.value = node.value.replace(variable, (_match, name: string, fallback: string | undefined) => {
        const value = environment[name] || fallback
        if (value !== undefined) return value
        const offset = node.range?.[0] ?? 0
        unset.add(offset)
        faultAt(file, offset, `the environment variable ${name} is not set`)
        return ''
      })
    },
  })
  return unset
}

/** An alias can lead to itself, and a few of them can make a value of any size. */
function refuseAliases(file: YamlFile): boolean {
  let found = false
  visit(file.document, {
    Alias(_key, node) {
      found = true
      faultAt(file, node.range?.[0] ?? 0, 'aliases (*) are not supported: write the value here')
    },
  })
  return found
}

/** The name of the member that begins at an offset. */
function keyAt(text: string, offset: number): string {
  return text.slice(offset).split(':', 1)[0]?.trim() ?? ''
}

/** Keywords whose fault only says that there are faults within. */
const summaries = ['anyOf', 'oneOf', 'if', 'propertyNames']

type Described = [offset: number, expected: string]

/** A failed `anyOf` reports each of its branches too: in one fault, where they are about the same value. */
function describeAll(file: YamlFile, errors: readonly ErrorObject[]): Described[] {
  const choices = errors
    .filter(({ keyword }) => keyword === 'anyOf')
    .map((choice) => [choice, branchesOf(choice, errors)] as const)
  const combined = choices.filter(([choice, branches]) =>
    branches.every(
      ({ instancePath, keyword }) => instancePath === choice.instancePath && keyword !== 'additionalProperties',
    ),
  )
  const covered = new Set(combined.flat(2))
  const others = errors.filter((error) => !covered.has(error))
  const detailed = others.filter(({ keyword }) => !summaries.includes(keyword))
  return [
    ...combined.map(([choice, branches]) => describeChoice(file, choice, branches)),
    ...(detailed.length > 0 || combined.length > 0 ? detailed : others).map((error) => describe(file, error)),
  ]
}

function branchesOf({ schemaPath, instancePath }: ErrorObject, errors: readonly ErrorObject[]): ErrorObject[] {
  return errors.filter(
    (error) => error.schemaPath.startsWith(`${schemaPath}/`) && error.instancePath.startsWith(instancePath),
  )
}

function describeChoice(file: YamlFile, choice: ErrorObject, branches: readonly ErrorObject[]): Described {
  const [offset] = describe(file, choice)
  const literals = new Set(branches.filter(({ keyword }) => keyword === 'const').map(schemaOf))
  const named = branches.filter((branch) => branch.keyword !== 'type' || !literals.has(schemaOf(branch)))
  const expected = named.flatMap((branch) =>
    wordsFor(branch)
      .replace(/^must be /, '')
      .split(' or '),
  )
  const last = expected.pop()
  const place = placeOf(pathOf(choice))
  return [offset, `${place} must be ${expected.length > 0 ? `${expected.join(', ')} or ` : ''}${last}`]
}

/** The schema that an error comes from: a literal reports its type besides its value. */
const schemaOf = ({ schemaPath }: ErrorObject): string => schemaPath.slice(0, schemaPath.lastIndexOf('/'))

const pathOf = ({ instancePath }: ErrorObject): string[] => instancePath.split('/').slice(1).map(unescapePointer)

const placeOf = (path: readonly string[]): string => path.join('.') || 'the file'

function describe(file: YamlFile, error: ErrorObject): Described {
  const path = pathOf(error)
  const place = placeOf(path)
  if (error.keyword === 'additionalProperties') {
    const name = String(error.params.additionalProperty)
    return [keyOffset(file, path, name), `${[...path, name].join('.')} is not known here${knownInstead(name, error)}`]
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

/** The member that may be meant, and all that there are. */
function knownInstead(name: string, error: ErrorObject): string {
  const known = Object.keys(error.parentSchema?.properties ?? {})
  const suggestion = suggestionFor(name, known)
  return `${suggestion}${suggestion ? ' Known' : '; known'} are ${known.join(', ') || 'none'}`
}

const unescapePointer = (part: string): string => part.replaceAll('~1', '/').replaceAll('~0', '~')

/** Of the value, or of the nearest one around it when it is left out. */
function valueOffset(file: YamlFile, path: ReadonlyArray<string | number>): number {
  const node = file.document.getIn(path, true)
  if (isNode(node)) return node.range?.[0] ?? 0
  return path.length > 0 ? valueOffset(file, path.slice(0, -1)) : 0
}

function keyOffset(file: YamlFile, path: readonly string[], name: string): number {
  const map = path.length === 0 ? file.document.contents : file.document.getIn(path, true)
  if (!isMap(map)) return valueOffset(file, path)
  const key = map.items
    .map((pair) => pair.key)
    .find((candidate) => isScalar(candidate) && String(candidate.value) === name)
  return isScalar(key) ? (key.range?.[0] ?? 0) : 0
}
