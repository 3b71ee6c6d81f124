import type { ApiDocument } from './document.ts'

type Schema = Readonly<Record<string, unknown>>

/**
 * A document whose schemas of a title stand once, among its components, and are referred to from wherever they are used. Of
 * two that differ under one title the second stays where it is.
 */
export function withComponents(document: ApiDocument): ApiDocument {
  const schemas = new Map<string, { readonly schema: unknown; readonly text: string }>()

  const referred = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(referred)
    if (typeof value !== 'object' || value === null) return value
    const inner = Object.fromEntries(Object.entries(value).map(([name, member]) => [name, referred(member)]))
    return isTitled(value as Schema) ? reference(String(inner.title), inner) : inner
  }

  const reference = (title: string, schema: unknown): unknown => {
    const text = JSON.stringify(schema)
    const known = schemas.get(title)
    if (known === undefined) schemas.set(title, { schema, text })
    return known === undefined || known.text === text ? { $ref: `#/components/schemas/${title}` } : schema
  }

  const paths = referred(document.paths ?? {}) as NonNullable<ApiDocument['paths']>
  const named = Object.fromEntries(
    [...schemas].sort(([a], [b]) => (a < b ? -1 : 1)).map(([title, { schema }]) => [title, schema]),
  )
  const { components } = document
  return { ...document, paths, components: { ...components, schemas: { ...components?.schemas, ...named } } }
}

/** An object that has a name of its own; what a member of an object may be called is none. */
function isTitled({ type, title, properties }: Schema): boolean {
  return type === 'object' && typeof title === 'string' && typeof properties === 'object'
}
