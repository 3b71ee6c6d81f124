/**
 * The value with its schemas as precise as the server's checks: our `date-time` begins with 1970 and ends with 9999, an
 * enumeration of texts says that it is one, and a union says which member tells its variants apart, which generators of
 * typed clients need.
 */
export function precise<Value>(value: Value): Value {
  return describeEnum(value) as Value
}

function describeEnum(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(describeEnum)
  if (typeof value !== 'object' || value === null) return value
  const inner = Object.fromEntries(Object.entries(value).map(([name, member]) => [name, describeEnum(member)]))
  const { type, format, pattern, enum: values } = inner
  if (type === 'string' && format === 'date-time' && pattern === undefined) return { ...inner, pattern: years }
  if (type === undefined && isTexts(values)) return { type: 'string', ...inner }
  return describeUnion(inner)
}

const years = '^(19[7-9]\\d|[2-9]\\d{3})-'

const isTexts = (values: unknown) => Array.isArray(values) && values.every((value) => typeof value === 'string')

interface Variant {
  readonly title?: string
  readonly properties?: Readonly<Record<string, { readonly const?: unknown; readonly enum?: readonly unknown[] }>>
}

/** A union of titled objects that one member of theirs tells apart, as OpenAPI says it. */
function describeUnion({ anyOf, ...schema }: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  if (!Array.isArray(anyOf)) return anyOf === undefined ? schema : { ...schema, anyOf }
  const variants: readonly Variant[] = anyOf
  const [first] = variants
  const propertyName = Object.keys(first?.properties ?? {}).find((name) => discriminates(name, variants))
  if (propertyName === undefined) return { ...schema, anyOf }
  const mapping = Object.fromEntries(
    variants.map((variant) => [onlyValueOf(variant, propertyName), `#/components/schemas/${variant.title}`]),
  )
  return { ...schema, oneOf: anyOf, discriminator: { propertyName, mapping } }
}

/** The one value that a member of a variant may have. */
function onlyValueOf({ properties }: Variant, name: string): unknown {
  const { const: value, enum: values = [] } = properties?.[name] ?? {}
  return value ?? (values.length === 1 ? values[0] : undefined)
}

function discriminates(name: string, variants: readonly Variant[]): boolean {
  const values = variants.map((variant) => (variant.title === undefined ? undefined : onlyValueOf(variant, name)))
  return values.every((value) => typeof value === 'string') && new Set(values).size === values.length
}
