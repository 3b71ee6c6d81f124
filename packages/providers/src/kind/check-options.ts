import type { TSchema } from 'typebox'
import { Value } from 'typebox/value'

/**
 * Options that fit a JSON Schema.
 * @throws RangeError naming every option that does not, and what was expected
 */
export function checkOptions<Options>(schema: TSchema, value: unknown): Options {
  if (Value.Check(schema, value)) return value as Options
  const faults = Value.Errors(schema, value).flatMap(({ keyword, instancePath, message, params }) => {
    // an unknown option is listed by the keyword that names it, not once more by its own schema
    if (keyword === 'boolean') return []
    const names = 'additionalProperties' in params ? ` (${params.additionalProperties})` : ''
    return [`${instancePath.slice(1).replaceAll('/', '.') || 'options'} ${message}${names}`]
  })
  throw new RangeError(faults.join('; '))
}
