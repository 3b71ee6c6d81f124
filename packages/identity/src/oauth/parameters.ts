import { parse } from 'node:querystring'
import { OAuthError } from './error.ts'

/** A decoded form or query; a repeated parameter is a list. */
export type Form = Readonly<Record<string, string | readonly string[]>>

/** Parameters that may be repeated (RFC 8707 §2). */
const repeatable = new Set(['resource'])
const maxParameters = 100

/** Decodes an `application/x-www-form-urlencoded` body. */
export function parseForm(text: string): Form {
  return parse(text, '&', '=', { maxKeys: 0 }) as Form
}

/** The parameters of an OAuth request. An empty one counts as absent, and none is repeated (RFC 6749 §3.1, §3.2). */
export class Parameters {
  readonly #form: Form

  /** @throws OAuthError `invalid_request` naming the repeated parameters */
  constructor(form: Form) {
    const repeated = Object.keys(form).filter((name) => Array.isArray(form[name]) && !repeatable.has(name))
    if (repeated.length > 0) throw new OAuthError('invalid_request', `repeated: ${repeated.slice(0, 10).join(', ')}`)
    if (Object.keys(form).length > maxParameters) {
      throw new OAuthError('invalid_request', `more than ${maxParameters} parameters`)
    }
    this.#form = form
  }

  get(name: string): string | undefined {
    const value = this.#form[name]
    return typeof value === 'string' && value !== '' ? value : undefined
  }

  /** @throws OAuthError `invalid_request` when it is missing */
  getRequired(name: string): string {
    const value = this.get(name)
    if (value === undefined) throw new OAuthError('invalid_request', `the parameter ${name} is missing`)
    return value
  }

  /** Every value of a parameter that may repeat. */
  getAll(name: string): string[] {
    const value = this.#form[name]
    if (value === undefined || value === '') return []
    return typeof value === 'string' ? [value] : value.filter((one) => one !== '')
  }

  /** All parameters, as they were sent. */
  get form(): Form {
    return this.#form
  }
}
