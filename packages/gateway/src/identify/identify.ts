import type { IncomingMessage } from 'node:http'
import { type Bearer, BearerError } from '@gatehouse/bearer'
import { Problem, tokenHash } from '@gatehouse/kit'
import type { Forwarded } from '../http/headers.ts'
import { addressText, countedAddress } from '../model/address.ts'
import type { RequestIdentity } from '../model/request-identity.ts'
import type { Addresses } from './addresses.ts'
import type { ApiKeys } from './api-keys.ts'
import { toCaller, toProblem } from './authenticate.ts'
import type { BadCredentialLimit } from './bad-credential-limit.ts'

export interface IdentifyOptions {
  readonly bearer: Bearer
  readonly apiKeys: ApiKeys
  readonly addresses: Addresses
  readonly badCredentialLimit: BadCredentialLimit
  readonly realm: string
}

export interface Identify {
  /** Looks at the credentials, once; a refused one is remembered and the request counted by its address. */
  resolve(raw: IncomingMessage): Promise<RequestIdentity>
  /** Looks at them again, for a connection that was let in: the brake on its address neither hides the answer nor counts it. */
  recheck(raw: IncomingMessage): Promise<RequestIdentity>
  /** For routes where credentials don't count. */
  anonymous(raw: IncomingMessage): RequestIdentity
  /** What upstreams are told of the way a request came. */
  forwarded(raw: IncomingMessage): Forwarded
}

/** Finds out who makes a request. */
export function createIdentify({ bearer, apiKeys, addresses, badCredentialLimit, realm }: IdentifyOptions): Identify {
  const anonymous = (raw: IncomingMessage): RequestIdentity => ({
    identifier: { kind: 'ip', id: countedAddress(addresses.clientOf(raw)) },
  })

  async function withToken(raw: IncomingMessage, beforeVerify: () => void): Promise<RequestIdentity> {
    const caller = toCaller(await bearer.authenticate(raw.headers.authorization, { beforeVerify }))
    return { caller, identifier: { kind: caller.kind === 'user' ? 'user' : 'client', id: limitLength(caller.subject) } }
  }

  async function withKey(key: string, resolving: () => void): Promise<RequestIdentity> {
    const { caller, hash } = await apiKeys.callerOf(key, resolving)
    return { caller, identifier: { kind: 'key', id: hash } }
  }

  async function identify(raw: IncomingMessage, limit: BadCredentialLimit | undefined): Promise<RequestIdentity> {
    const { authorization, 'x-api-key': key } = raw.headers
    let verified = false
    const beforeVerify = () => {
      limit?.check(anonymous(raw).identifier)
      verified = true
    }
    try {
      if (authorization !== undefined && isBearer(authorization)) return await withToken(raw, beforeVerify)
      if (typeof key === 'string') return await withKey(key, beforeVerify)
      return anonymous(raw)
    } catch (error) {
      if (!(error instanceof BearerError || error instanceof Problem)) throw error
      const anonymousIdentity = anonymous(raw)
      if (verified) limit?.recordFailure(anonymousIdentity.identifier, error)
      return { ...anonymousIdentity, refusal: toProblem(error, realm) }
    }
  }

  return {
    anonymous,
    resolve: (raw) => identify(raw, badCredentialLimit),
    recheck: (raw) => identify(raw, undefined),
    forwarded(raw) {
      const trusted = addresses.trusts(raw)
      const { headers } = raw
      return {
        peer: addressText(addresses.peerOf(raw)),
        chain: addresses.chainOf(raw),
        proto: (trusted && oneWord(headers['x-forwarded-proto'])) || ('encrypted' in raw.socket ? 'https' : 'http'),
        host: (trusted && oneWord(headers['x-forwarded-host'])) || (headers.host ?? ''),
      }
    },
  }
}

const maxSubjectLength = 255

const isBearer = (authorization: string) => /^bearer(?:\s|$)/i.test(authorization)

function limitLength(subject: string): string {
  return subject.length <= maxSubjectLength && subject.isWellFormed() ? subject : `sha256:${tokenHash(subject)}`
}

function oneWord(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' && /^[\w.:[\]-]{1,255}$/.test(value) ? value : undefined
}
