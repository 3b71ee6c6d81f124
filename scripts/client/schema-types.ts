import type { Document, Schema } from './document.ts'

/** How the types of schemas are written. */
export interface TypeStyle {
  /** Whether members of an enumeration that are not known yet are allowed for, as in answers of newer servers. */
  readonly open: boolean
  /** The names of schemas that have a type of their own. */
  readonly names: ReadonlyMap<string, string>
}

/** The TypeScript type of a schema. */
export function typeOf(schema: Schema, style: TypeStyle): string {
  const { $ref, const: constant, enum: values, anyOf, oneOf, allOf } = schema
  if ($ref !== undefined) return referenceType($ref, style)
  if (constant !== undefined) return JSON.stringify(constant)
  if (values !== undefined) return enumType(values, style)
  const alternatives = anyOf ?? oneOf
  if (alternatives !== undefined) return union(alternatives.map((one) => typeOf(one, style)))
  if (allOf !== undefined) return allOf.map((one) => typeOf(one, style)).join(' & ')
  const types = [schema.type ?? []].flat()
  return types.length === 0 ? 'unknown' : union(types.map((type) => plainType(type, schema, style)))
}

function plainType(type: string, schema: Schema, style: TypeStyle): string {
  if (type === 'integer' || type === 'number') return 'number'
  if (type === 'array') return `readonly ${bracketed(typeOf(schema.items ?? {}, style))}[]`
  if (type === 'object') return objectType(schema, style)
  return type
}

function objectType({ properties, required = [], additionalProperties, patternProperties }: Schema, style: TypeStyle) {
  const values = Object.values(patternProperties ?? {})
  if (typeof additionalProperties === 'object') values.push(additionalProperties)
  const others = values.length > 0 ? union(values.map((one) => typeOf(one, style))) : 'unknown'
  const hasOthers = values.length > 0 || additionalProperties === true
  const members = Object.entries(properties ?? {})
  if (members.length === 0) return additionalProperties === false ? 'Nothing' : `Readonly<Record<string, ${others}>>`
  const lines = members.map(([name, schema]) =>
    memberOf({
      name,
      type: typeOf(schema, style),
      isRequired: required.includes(name),
      description: schema.description,
    }),
  )
  // Members of any name include those that are known, so nothing narrower can be said of them.
  return block([...lines, ...(hasOthers ? ['readonly [member: string]: unknown'] : [])])
}

/** A member of an object type. */
export interface Member {
  readonly name: string
  readonly type: string
  readonly isRequired: boolean
  readonly description?: string | undefined
}

/** The lines of a member, with its description before it. */
export function memberOf({ name, type, isRequired, description }: Member): string {
  const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)
  return `${commentOf(description)}readonly ${key}${isRequired ? '' : '?'}: ${type}`
}

/** Lines in braces. */
export function block(lines: readonly string[]): string {
  return `{\n${lines.map((line) => line.replace(/^/gm, '  ')).join('\n')}\n}`
}

/** A doc comment of one line, nothing for nothing. */
export function commentOf(description: string | undefined): string {
  if (!description) return ''
  return `/** ${description.replaceAll('*/', '*\\/').replace(/\s*\n\s*/g, ' ')} */\n`
}

function referenceType($ref: string, { names }: TypeStyle): string {
  const name = $ref.replace('#/components/schemas/', '')
  const type = names.get(name)
  if (type === undefined) throw new Error(`${$ref} is no schema of the document`)
  return type
}

/** An enumeration of texts stays open where newer servers may answer more. One value is a constant. */
function enumType(values: readonly unknown[], { open }: TypeStyle): string {
  const known = values.map((value) => JSON.stringify(value))
  return open && values.length > 1 && values.every((value) => typeof value === 'string')
    ? union([...known, 'OtherText'])
    : union(known)
}

function union(types: readonly string[]): string {
  return [...new Set(types)].map((type) => (type.includes('=>') ? `(${type})` : type)).join(' | ')
}

const bracketed = (type: string) => (/^[\w'"<>, ]+$/.test(type) && !type.startsWith('readonly ') ? type : `(${type})`)

/** The names of the schemas that these schemas refer to, themselves or through others. */
export function referredSchemas(roots: readonly unknown[], { components }: Document): ReadonlySet<string> {
  const found = new Set<string>()
  const follow = (value: unknown): void => {
    for (const [, name = ''] of JSON.stringify(value ?? {}).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      if (found.has(name)) continue
      found.add(name)
      follow(components.schemas[name])
    }
  }
  for (const root of roots) follow(root)
  return found
}
