import type { IncomingMessage } from 'node:http'
import { type Bearer, BearerError } from '@gatehouse/bearer'
import { Problem, tokenHash } from '@gatehouse/kit'
import type { Forwarded } from '../http/headers.ts'
import { addressText, countedAddress } from '../model/address.ts'
import type { Visit } from '../model/request-identity.ts'
import type { Addresses } from './addresses.ts'
import type { ApiKeys } from './api-keys.ts'
import { asProblem, callerFrom } from './authenticate.ts'
import type { Brake } from './bad-credential-limit.ts'

export interface IdentifyOptions {
  readonly bearer: Bearer
  readonly apiKeys: ApiKeys
  readonly addresses: Addresses
  readonly brake: Brake
  readonly realm: string
}

export interface Identify {
  /** Looks at the credentials, once; a refused one is remembered and the request counted by its address. */
  visit(raw: IncomingMessage): Promise<Visit>
  /** Looks at them again, for a connection that was let in: the brake on its address neither hides the answer nor counts it. */
  recheck(raw: IncomingMessage): Promise<Visit>
  /** For routes where credentials don't count. */
  anonymous(raw: IncomingMessage): Visit
  /** What upstreams are told of the way a request came. */
  forwarded(raw: IncomingMessage): Forwarded
}

/** Finds out who makes a request. */
export function createIdentify({ bearer, apiKeys, addresses, brake, realm }: IdentifyOptions): Identify {
  const anonymous = (raw: IncomingMessage): Visit => ({
    identifier: { kind: 'ip', id: countedAddress(addresses.clientOf(raw)) },
  })

  async function withToken(raw: IncomingMessage, verifying: () => void): Promise<Visit> {
    const caller = callerFrom(await bearer.authenticate(raw.headers.authorization, { verifying }))
    return { caller, identifier: { kind: caller.kind === 'user' ? 'user' : 'client', id: bounded(caller.subject) } }
  }

  async function withKey(key: string, resolving: () => void): Promise<Visit> {
    const { caller, hash } = await apiKeys.callerOf(key, resolving)
    return { caller, identifier: { kind: 'key', id: hash } }
  }

  async function look(raw: IncomingMessage, brakeHere: Brake | undefined): Promise<Visit> {
    const { authorization, 'x-api-key': key } = raw.headers
    let looked = false
    const looking = () => {
      brakeHere?.check(anonymous(raw).identifier)
      looked = true
    }
    try {
      if (authorization !== undefined && isBearer(authorization)) return await withToken(raw, looking)
      if (typeof key === 'string') return await withKey(key, looking)
      return anonymous(raw)
    } catch (error) {
      if (!(error instanceof BearerError || error instanceof Problem)) throw error
      const nobody = anonymous(raw)
      if (looked) brakeHere?.refused(nobody.identifier, error)
      return { ...nobody, refusal: asProblem(error, realm) }
    }
  }

  return {
    anonymous,
    visit: (raw) => look(raw, brake),
    recheck: (raw) => look(raw, undefined),
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

const longestSubject = 255

const isBearer = (authorization: string) => /^bearer(?:\s|$)/i.test(authorization)

function bounded(subject: string): string {
  return subject.length <= longestSubject && subject.isWellFormed() ? subject : `sha256:${tokenHash(subject)}`
}

function oneWord(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' && /^[\w.:[\]-]{1,255}$/.test(value) ? value : undefined
}
