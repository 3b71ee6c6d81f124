import { addFormats, StartError, validationFault } from '@gatehouse/kit'
import { Ajv } from 'ajv'
import type { Static, TSchema } from 'typebox'

/** What was typed, once it is as the API would take it. @throws StartError with a line for every fault */
export function validateInput<Schema extends TSchema>(schema: Schema, typed: object): Static<Schema> {
  return createValidator(schema)(typed)
}

/** The same for many inputs of one schema. */
export function createValidator<Schema extends TSchema>(schema: Schema): (typed: object) => Static<Schema> {
  const valid = addFormats(new Ajv({ allErrors: true, strict: false, verbose: true })).compile(schema)
  return (typed) => {
    if (valid(typed)) return typed as Static<Schema>
    const faults = (valid.errors ?? []).map((error) => {
      const { pointer, detail } = validationFault(error)
      return `${pointer.slice(1).replaceAll('/', '.')} ${detail}`
    })
    throw new StartError(faults.join('\n'))
  }
}
