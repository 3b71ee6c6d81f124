/**
 * The value with its schemas as precise as the server's checks: our `date-time` begins with 1970 and ends with 9999, and
 * an enumeration of texts says that it is one, which generators of typed clients need.
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
  return inner
}

const years = '^(19[7-9]\\d|[2-9]\\d{3})-'

const isTexts = (values: unknown) => Array.isArray(values) && values.every((value) => typeof value === 'string')
