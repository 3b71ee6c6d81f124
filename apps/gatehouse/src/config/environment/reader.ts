import { Secret } from '@gatehouse/kit'
import { isRange } from '../address-range.ts'
import type { Faults } from '../faults.ts'
import { parseRedisAddress, redisAddressExpected } from './redis-address.ts'

/** The variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>

const named = (protocols: readonly string[]): string => protocols.map((protocol) => `${protocol}//`).join(' or ')

/** The usual cause where the protocol is right: a password as it was generated. */
function unreadable(text: string, protocols: readonly string[]): string {
  if (!protocols.some((protocol) => text.startsWith(`${protocol}//`))) return ''
  return '; this one cannot be read: write special characters of the user and the password percent-encoded, such as %2F for /'
}

const httpProtocols = ['http:', 'https:']

/** Reads variables of the environment; what is wrong with one is added to the faults, and answered with a default. */
export class EnvironmentReader {
  readonly #environment: Environment
  readonly #faults: Faults

  constructor(environment: Environment, faults: Faults) {
    this.#environment = environment
    this.#faults = faults
  }

  /** An empty variable counts as one that isn't set: that is how compose files and CI pass "nothing". */
  text(name: string): string | undefined {
    return this.#environment[name]?.trim() || undefined
  }

  integer(name: string, fallback: number, min: number, max: number): number {
    const text = this.text(name)
    if (text === undefined) return fallback
    const value = Number(text)
    if (/^\d+$/.test(text) && value >= min && value <= max) return value
    this.#faults.add(name, `must be a whole number from ${min} to ${max}, not ${JSON.stringify(text)}`)
    return fallback
  }

  oneOf(name: string, values: readonly string[], fallback: string): string {
    const text = this.text(name) ?? fallback
    if (values.includes(text)) return text
    this.#faults.add(name, `must be one of ${values.join(', ')}, not ${JSON.stringify(text)}`)
    return fallback
  }

  /** A URL without a trailing slash. */
  url(name: string): string | undefined {
    const text = this.text(name)
    if (text === undefined) return undefined
    const url = URL.parse(text)
    const plain =
      url !== null &&
      httpProtocols.includes(url.protocol) &&
      url.search === '' &&
      url.hash === '' &&
      url.username === '' &&
      url.password === ''
    if (plain) return url.href.replace(/\/+$/, '')
    this.#faults.add(
      name,
      `must be an http:// or https:// URL without user, query and fragment, not ${JSON.stringify(text)}`,
    )
    return undefined
  }

  someOf(...names: readonly string[]): boolean {
    return names.some((name) => this.text(name) !== undefined)
  }

  /** Values separated by commas. */
  list(name: string): readonly string[] | undefined {
    return this.text(name)
      ?.split(',')
      .map((value) => value.trim())
      .filter((value) => value !== '')
  }

  /** A URL that may carry a password; it is not shown when it is wrong. */
  secretUrl(name: string, protocols: readonly string[]): Secret | undefined {
    const text = this.text(name)
    if (text === undefined) return undefined
    if (protocols.includes(URL.parse(text)?.protocol ?? '')) return new Secret(text)
    this.#faults.add(name, `must be a URL with ${named(protocols)}${unreadable(text, protocols)}`)
    return undefined
  }

  /** One or more of these with commas between. */
  secretUrls(name: string, protocols: readonly string[]): Secret | undefined {
    const text = this.text(name)
    if (text === undefined) return undefined
    if (text.split(',').every((each) => protocols.includes(URL.parse(each.trim())?.protocol ?? '')))
      return new Secret(text)
    const expected = `must be a URL with ${named(protocols)}, or several with commas between`
    this.#faults.add(name, `${expected}${unreadable(text, protocols)}`)
    return undefined
  }

  redisUrl(name: string): Secret | undefined {
    const text = this.text(name)
    if (text === undefined) return undefined
    if (parseRedisAddress(text)) return new Secret(text)
    this.#faults.add(name, redisAddressExpected)
    return undefined
  }

  /** Ranges of addresses, separated by commas; `none` for a list without any. */
  ranges(name: string): readonly string[] | undefined {
    const text = this.text(name)
    if (text === undefined) return undefined
    const ranges = text === 'none' ? [] : text.split(',').map((range) => range.trim())
    for (const range of ranges.filter((each) => !isRange(each)))
      this.#faults.add(name, `must be none, or addresses or ranges such as 10.0.0.0/8, not ${JSON.stringify(range)}`)
    return ranges
  }

  secret(name: string): Secret | undefined {
    const text = this.text(name)
    return text === undefined ? undefined : new Secret(text)
  }

  fault(name: string, text: string): void {
    this.#faults.add(name, text)
  }
}
