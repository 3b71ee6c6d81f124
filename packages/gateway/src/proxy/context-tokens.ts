import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { type Clock, KeyRing, type Secret } from '@gatehouse/kit'
import type { Caller } from '../model/caller.ts'

/** Lifetime of a context token, in seconds. */
const contextLifetimeSeconds = 60
/** A token is reused for the same caller and request until this age, in seconds. */
const reuseSeconds = 20
/** Tokens for longer targets, in characters, are not reused: few of them would displace many others. */
const maxReusedTarget = 1_024
/** How many characters of tokens, with what they are found by, are kept for all callers together. */
const maxCharacters = 16 * 1024 * 1024

/** The request that a context token is bound to, as the upstream receives it. */
interface BoundRequest {
  readonly upstream: string
  readonly method: string
  /** The path with its query. */
  readonly target: string
}

/** Issues context tokens. */
export interface ContextTokens {
  /** A signed token that names the caller, for one upstream, method and path. */
  issue(caller: Caller, request: BoundRequest): string
  /** The public keys upstreams verify with (RFC 7517). */
  keys(): Record<string, unknown>[]
}

/**
 * Short-lived context tokens: an EdDSA JWT (`typ` `gatehouse-context+jwt`) whose `aud` is the upstream's name and whose
 * `req` is the SHA-256 (base64url) of method, space, path and query. An upstream that verifies them need not trust its
 * network. Gateways with the same secret sign with the same key; without one, each has its own.
 * Of several secrets the first signs; the keys of all are published, so that gateways with another order are trusted too.
 */
export function createContextTokens(issuer: string, clock: Clock, secret?: Secret | KeyRing): ContextTokens {
  const keys = secret === undefined ? [generateKeyPairSync('ed25519').privateKey] : keysFrom(KeyRing.of(secret))
  const jwks = keys.map(publicJwk)
  const [key, kid] = [keys[0] as KeyObject, jwks[0]?.kid]
  const header = encodePart({ alg: 'EdDSA', typ: 'gatehouse-context+jwt', kid })
  const issued = new IssuedTokens()
  return {
    keys: () => jwks,
    issue(caller, request) {
      const at = Math.floor(clock.now() / 1000)
      const name = issued.nameOf(caller, request)
      const known = issued.find(name, at)
      if (known !== undefined) return known
      const signed = `${header}.${encodePart(claimsOf(issuer, caller, request, at))}`
      const token = `${signed}.${sign(null, Buffer.from(signed), key).toString('base64url')}`
      issued.add(name, token, at)
      return token
    },
  }
}

interface IssuedToken {
  readonly token: string
  /** In Unix seconds. */
  readonly at: number
}

/** Tokens that may be reused, of all callers, within bounded memory: a full generation replaces the one before. */
class IssuedTokens {
  readonly #numbers = new WeakMap<Caller, number>()
  #callers = 0
  #young = new Map<string, IssuedToken>()
  #old = new Map<string, IssuedToken>()
  #youngCharacters = 0

  /** What a token is found by; undefined for one that is not reused. */
  nameOf(caller: Caller, { upstream, method, target }: BoundRequest): string | undefined {
    return target.length > maxReusedTarget ? undefined : `${this.#numberOf(caller)} ${upstream} ${method} ${target}`
  }

  find(name: string | undefined, at: number): string | undefined {
    if (name === undefined) return undefined
    const known = this.#young.get(name) ?? this.#old.get(name)
    return known && known.at <= at && at - known.at < reuseSeconds ? known.token : undefined
  }

  add(name: string | undefined, token: string, at: number): void {
    if (name === undefined) return
    const characters = name.length + token.length
    if (this.#youngCharacters + characters > maxCharacters / 2) {
      this.#old = this.#young
      this.#young = new Map()
      this.#youngCharacters = 0
    }
    this.#young.set(name, { token, at })
    this.#youngCharacters += characters
  }

  #numberOf(caller: Caller): number {
    const known = this.#numbers.get(caller)
    if (known !== undefined) return known
    this.#numbers.set(caller, ++this.#callers)
    return this.#callers
  }
}

function claimsOf(iss: string, caller: Caller, { upstream, method, target }: BoundRequest, at: number) {
  const { subject, kind, clientId, keyId, scopes, roles, expiresAt } = caller
  const end = expiresAt === undefined ? Number.POSITIVE_INFINITY : Math.ceil(expiresAt / 1000)
  return {
    iss,
    aud: upstream,
    sub: subject,
    kind,
    ...(clientId === undefined ? {} : { client_id: clientId }),
    ...(keyId === undefined ? {} : { key_id: keyId }),
    scope: [...scopes].join(' '),
    roles,
    req: createHash('sha256').update(`${method} ${target}`).digest('base64url'),
    iat: at,
    exp: Math.max(at + 1, Math.min(at + contextLifetimeSeconds, end)),
  }
}

const encodePart = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** An Ed25519 private key in PKCS #8 (RFC 8410 §7) is this and its 32 bytes. */
const pkcs8Head = Buffer.from('302e020100300506032b657004220420', 'hex')

function keysFrom(ring: KeyRing): KeyObject[] {
  return ring
    .derive('gatehouse', 'context token')
    .map((seed) => createPrivateKey({ key: Buffer.concat([pkcs8Head, seed]), format: 'der', type: 'pkcs8' }))
}

function publicJwk(key: KeyObject) {
  const jwk = createPublicKey(key).export({ format: 'jwk' })
  const digest = createHash('sha256').update(jwk.x ?? '')
  return { ...jwk, kid: digest.digest('base64url').slice(0, 16), alg: 'EdDSA', use: 'sig' }
}
