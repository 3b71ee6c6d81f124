import { randomToken, Secret, seal, tokenHash, unseal } from '@gatehouse/kit'
import type { MacKey } from '../keys/mac-key.ts'

/** What a refresh token says. */
export interface RefreshToken {
  /**
   * Whether its signature holds. One that was signed with an encryption key that is gone is still ours if its hash is one
   * that is kept; whatever else has no signature is made up, and must end nothing.
   */
  readonly isSigned: boolean
  readonly grantId: string
  readonly generation: number
  readonly hash: string
}

const form = /^rt_([0-9a-f]{32})\.([0-9a-z]{1,7})\.([\w-]{43})\.([\w-]{43})$/

/**
 * Makes a refresh token. It names its grant and its generation and is signed, so that a token from long ago is still
 * known as one of ours without being kept, and a made-up one is told apart and can end nothing.
 */
export function createRefreshToken(mac: MacKey, grantId: string, generation: number): string {
  const body = `rt_${grantId.replaceAll('-', '')}.${generation.toString(36)}.${randomToken()}`
  return `${body}.${mac.sign(body)}`
}

/** Reads a refresh token; undefined for anything that has not its form. */
export function readRefreshToken(mac: MacKey, token: string): RefreshToken | undefined {
  const [, grant, generation, , signature] = form.exec(token) ?? []
  if (grant === undefined || generation === undefined || signature === undefined) return undefined
  const grantId = grant.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  const isSigned = mac.verify(token.slice(0, token.lastIndexOf('.')), signature)
  return { isSigned, grantId, generation: Number.parseInt(generation, 36), hash: tokenHash(token) }
}

/** Whether this server made the token: it is signed, or the family keeps its hash. */
export function isGenuine(
  { isSigned, hash }: RefreshToken,
  family: { readonly currentHash: string; readonly previousHash: string | undefined },
): boolean {
  return isSigned || hash === family.currentHash || hash === family.previousHash
}

const purpose = 'successor of a refresh token'

/** The successor, readable only to who holds the token before it. */
export function sealSuccessor(successor: string, predecessor: string): string {
  return seal(successor, new Secret(predecessor), purpose)
}

export function unsealSuccessor(sealed: string, predecessor: string): string {
  return unseal(sealed, new Secret(predecessor), purpose)
}
