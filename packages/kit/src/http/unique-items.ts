import type { Ajv, ErrorObject } from 'ajv'

/**
 * Has a validator compare the items of a set by a hash. Its own keyword compares each with each wherever the schema of
 * the items names no type, and reading all errors of a body no bound on their number stops it: a body of 250 kB would
 * hold up everybody for ten seconds.
 */
export function compareItemsByHash(ajv: Ajv): Ajv {
  const validate: Validate = (isSet, items) => {
    const repeated = isSet ? findRepeated(items) : undefined
    validate.errors = [{ keyword, message: 'must NOT have duplicate items', params: repeated ?? {} }]
    return repeated === undefined
  }
  return ajv.removeKeyword(keyword).addKeyword({ keyword, type: 'array', schemaType: 'boolean', validate })
}

const keyword = 'uniqueItems'

interface Validate {
  (isSet: boolean, items: readonly unknown[]): boolean
  errors?: Partial<ErrorObject>[]
}

/** The places of the first item that is there again, the later one first, as Ajv names them. */
function findRepeated(items: readonly unknown[]): { i: number; j: number } | undefined {
  const places = new Map<string, number>()
  for (const [i, item] of items.entries()) {
    const text = JSON.stringify(item, sorted)
    const j = places.get(text)
    if (j !== undefined) return { i, j }
    places.set(text, i)
  }
  return undefined
}

/** Objects are the same in whatever order their members are written. */
function sorted(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}
